// Command release makes what is published of a version: static programs for six platforms as archives, packages for
// Debian, Red Hat and Alpine, an OCI image, a bill of materials, the licences of all modules, and checksums. Two runs
// on one commit are equal bit for bit, wherever the tree lies.
//
//	CGO_ENABLED=0 go run -C .ci/release -trimpath . -version v1.2.3 dist
//
// It is built as the programs are, so that with an empty cache the standard library is compiled once. A path that is
// not absolute is one of the root of the tree.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// programs are what is published.
var programs = []string{"henro", "henro-master", "henro-slave"}

type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

func (p platform) exe(program string) string {
	if p.os == "windows" {
		return program + ".exe"
	}
	return program
}

var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"}}

// release is a version that is being made.
type release struct {
	version string    // as the programs say it, v1.2.3 or v1.2.3-4-gabcdef
	at      time.Time // of the commit, which all files bear
	root    string    // of the tree
	out     string    // what is published
	work    string    // what is not

	read map[string]module // by path: those whose licences were read
	here platform          // this machine, for which the programs are built first
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	version := flag.String("version", "", "version, v1.2.3; default: of the tag, by git describe")
	only := flag.String("only", "", "these platforms only, such as linux-amd64,windows-amd64; default: all six")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("which directory? For example: release -version v1.2.3 dist")
	}
	wanted := platforms
	if *only != "" {
		names := strings.Split(*only, ",")
		wanted = slices.DeleteFunc(slices.Clone(platforms), func(p platform) bool {
			return !slices.Contains(names, p.String())
		})
		if len(wanted) != len(names) {
			log.Fatalf("-only %s: known are %v", *only, platforms)
		}
	}
	r, err := begin(*version, flag.Arg(0))
	if err == nil {
		err = r.make(wanted)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func begin(version, out string) (*release, error) {
	here, err := os.Getwd() // go run -C leads to .ci/release
	if err != nil {
		return nil, err
	}
	root := filepath.Dir(filepath.Dir(here))
	if _, err := os.Stat(filepath.Join(root, "cmd", "henro")); err != nil {
		return nil, fmt.Errorf("run it by go run -C .ci/release: %w", err)
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(root, out)
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: name another directory or remove it", out)
	}
	r := &release{version: version, root: root, out: out, work: filepath.Join(out, "work"),
		read: map[string]module{}, here: platform{runtime.GOOS, runtime.GOARCH}}
	if r.version == "" {
		if r.version, err = output("git", "describe", "--tags", "--always", "--dirty"); err != nil {
			return nil, fmt.Errorf("which version? Name it by -version v1.2.3: %w", err)
		}
		if !strings.HasPrefix(r.version, "v") { // no tag yet
			r.version = "v0.0.0-" + r.version
		}
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		if epoch, err = output("git", "log", "-1", "--format=%ct"); err != nil {
			return nil, fmt.Errorf("when was it made? Set SOURCE_DATE_EPOCH: %w", err)
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH is seconds since 1970, not %q", epoch)
	}
	r.at = time.Unix(seconds, 0).UTC()
	return r, os.MkdirAll(r.work, 0o755)
}

// step makes a part of a release, and shows which and how long it took.
func step(what string, do func() error) error {
	fmt.Printf("%s ... ", what)
	began := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Printf("%.1f s\n", time.Since(began).Seconds())
	return nil
}

func (r *release) make(wanted []platform) error {
	if err := step("programs of this machine, man pages and completions", r.documents); err != nil {
		return err
	}
	var linux []platform
	for _, p := range wanted {
		if p != r.here {
			if err := step("programs for "+p.String(), func() error { return r.build(p) }); err != nil {
				return err
			}
		}
		if err := step("licences and materials of "+p.String(), func() error { return r.describe(p) }); err != nil {
			return err
		}
		if err := step("archive for "+p.String(), func() error { return r.archive(p) }); err != nil {
			return err
		}
		if p.os == "linux" {
			linux = append(linux, p)
			if err := step("packages for "+p.String(), func() error { return r.packages(p) }); err != nil {
				return err
			}
		}
	}
	if len(linux) > 0 {
		if err := step("image", func() error { return r.image(linux) }); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(r.out, "VERSION"), []byte(r.version+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(r.work); err != nil {
		return err
	}
	return r.checksums()
}

// describe writes the licences and the bill of materials of a platform.
func (r *release) describe(p platform) error {
	modules, err := r.modules(p)
	if err != nil {
		return fmt.Errorf("modules: %w", err)
	}
	if err := r.licences(p, modules); err != nil {
		return fmt.Errorf("licences: %w", err)
	}
	return r.bom(p, modules)
}

// build makes the programs of a platform, and says every few seconds how far it is.
func (r *release) build(p platform) error {
	arguments := []string{"build", "-v", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid= -X main.version=" + r.version, "-o", r.built(p) + string(filepath.Separator)}
	all, err := r.golang(p, "list", "-deps").Output()
	if err != nil {
		return fmt.Errorf("list packages: %w", err)
	}
	cmd := r.golang(p, arguments...)
	names, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(names); s.Scan(); {
			lines <- s.Text()
		}
	}()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	count, latest := 0, "none"
	for open := true; open; {
		select {
		case line, more := <-lines:
			switch open = more; {
			case !more:
			case strings.Contains(line, " "): // the name of no package
				fmt.Fprintln(os.Stderr, line)
			default:
				count, latest = count+1, line
			}
		case <-tick.C:
			most := bytes.Count(all, []byte("\n"))
			fmt.Printf("\n  %d of at most %d packages compiled, the latest %s ... ", count, most, latest)
		}
	}
	return cmd.Wait()
}

// golang is a command of Go on the programs, for a platform.
func (r *release) golang(p platform, arguments ...string) *exec.Cmd {
	for _, program := range programs {
		arguments = append(arguments, "./cmd/"+program)
	}
	cmd := exec.Command("go", arguments...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+p.os, "GOARCH="+p.arch)
	cmd.Dir = r.root
	return cmd
}

// built is where the programs of a platform are.
func (r *release) built(p platform) string { return filepath.Join(r.work, p.String()) }

// documents writes man pages and completions, with programs of this machine.
func (r *release) documents() error {
	here := r.here
	if err := r.build(here); err != nil {
		return err
	}
	for _, program := range programs {
		path := filepath.Join(r.built(here), here.exe(program))
		cmd := exec.Command(path, "man", filepath.Join(r.work, "man"))
		cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix()))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s man: %w: %s", program, err, out)
		}
	}
	dir := filepath.Join(r.work, "completions")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		words, err := output(filepath.Join(r.built(here), here.exe("henro")), "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "henro."+shell), []byte(words+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// name is that of a published file, without its ending.
func (r *release) name(p platform) string {
	return fmt.Sprintf("henro-%s-%s", strings.TrimPrefix(r.version, "v"), p)
}

// checksums lists all published files with their SHA-256, as sha256sum -c reads it.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries {
		f, err := os.Open(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		sum := sha256.New()
		n, err := io.Copy(sum, f)
		f.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sum.Sum(nil), e.Name())
		fmt.Printf("%6.1f MB  %s\n", float64(n)/1e6, e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(lines.String()), 0o644)
}

func output(name string, arguments ...string) (string, error) {
	cmd := exec.Command(name, arguments...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
