// Proof takes a proven archive apart in every way it can think of, and looks whether henro check finds it: see
// proof.sh, which makes the archives.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"henro/store/archive/warc"
	"henro/store/proof"
)

var (
	henro   = flag.String("henro", "henro", "the program")
	count   = flag.Int("count", 10_000, "mutations of the archive")
	proofs  = flag.Int("proofs", 1_000, "mutations of proofs")
	copies  = flag.Int("copies", 200, "copies that nobody touched")
	sample  = flag.Int("sample", 50, "mutations, copies and proofs that the built program judges too")
	seed    = flag.Uint64("seed", 1, "of what is drawn")
	dated   = flag.Bool("stamped", false, "prove: the proofs have timestamps")
	early   = flag.String("early", "", "a checkpoint of the archive that was kept while it still grew")
	failed  = 0
	scratch string
)

func main() {
	flag.Parse()
	var err error
	if scratch, err = os.MkdirTemp("", "proof"); err == nil {
		err = run(flag.Arg(0), flag.Args()[1:])
		os.RemoveAll(scratch)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(min(failed, 1))
}

func run(what string, arguments []string) error {
	switch what {
	case "mutate":
		return mutateAll(arguments[0])
	case "untouched":
		return untouched(arguments)
	case "prove":
		return prove(arguments[0], arguments[1])
	case "authority":
		return authority(arguments[0], arguments[1])
	}
	return fmt.Errorf("%q: want mutate, untouched, prove or authority", what)
}

// holds is the verdict of the labs.
func holds(ok bool, format string, values ...any) {
	word := "ok   "
	if !ok {
		word, failed = "FAIL ", failed+1
	}
	fmt.Printf(word+" "+format+"\n", values...)
}

// code is with what a command of henro ends.
func code(arguments ...string) (int, []byte) {
	c := exec.Command(*henro, arguments...)
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		return -1, []byte(err.Error())
	}
	return c.ProcessState.ExitCode(), out
}

// logFaults are those that henro check says of the log of a crawl.
func logFaults(dir string, since *proof.Checkpoint) (faults []string, err error) {
	archive := filepath.Join(dir, "warc")
	_, err = proof.Check(proof.Disk(proof.Path(archive)), proof.Folder(archive), since, func(uint64, uint64) {},
		func(format string, values ...any) { faults = append(faults, fmt.Sprintf(format, values...)) })
	return faults, err
}

// logOf is the folder of the log of a crawl, and its newest checkpoint.
func logOf(dir string) (log string, newest *proof.Checkpoint, err error) {
	from := proof.Path(filepath.Join(dir, "warc"))
	names, err := proof.Logs(proof.Disk(from))
	if err != nil || len(names) != 1 {
		return "", nil, fmt.Errorf("%s: want one log: %q %v", from, names, err)
	}
	log = filepath.Join(from, names[0])
	newest, err = proof.ReadCheckpoint(filepath.Join(log, "checkpoint"))
	return log, newest, err
}

// leavesOf are the leaves of a log, in order.
func leavesOf(log string) (leaves []proof.Leaf, err error) {
	var names []string
	err = filepath.WalkDir(filepath.Join(log, "tile", "10", "data"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path) // NNN comes before NNN.p/W of a later tile
		}
		return err
	})
	for _, name := range names {
		text, bad := os.ReadFile(name)
		for line := range bytes.Lines(text) {
			leaf, unread := proof.ParseLeaf(line)
			leaves = append(leaves, leaf)
			bad = orElse(bad, unread)
		}
		err = orElse(err, bad)
	}
	return leaves, err
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func copyTree(to, from string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

// authority stamps over HTTP: openssl ts does it, with the configuration in a folder.
func authority(listen, dir string) error {
	return http.ListenAndServe(listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
		file, bad := os.CreateTemp(dir, "query")
		if err := orElse(err, bad); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer os.Remove(file.Name())
		_, err = file.Write(query)
		err = orElse(err, file.Close())
		c := exec.Command("openssl", "ts", "-reply", "-config", "ts.cnf", "-queryfile", file.Name())
		c.Dir, c.Stderr = dir, os.Stderr
		answer, bad := c.Output()
		if err = orElse(err, bad); err != nil || len(query) == 0 {
			http.Error(w, "openssl ts does not answer", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/timestamp-reply")
		_, _ = w.Write(answer)
	}))
}

// isFile reports whether a file is one of the archive or its log, and so is proved.
func isFile(path string) bool {
	if _, ok := warc.CutSuffix(path); ok {
		return true
	}
	return strings.Contains(filepath.ToSlash(path), "/proof/henro-") && filepath.Ext(path) != ".tsr"
}
