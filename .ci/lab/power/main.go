// Command power cuts the power of a crawl: it records what henro crawl writes to its folder, and what it asks the
// system to flush, and makes the folders that a loss of power at any moment could have left.
//
//	power [-cuts N] [-resumes N] [-seed N] [-dir DIR]
//
// The recording is strace's: every open, write, truncation, rename and fsync of the process, with its bytes (bbolt
// maps its file for reading only). What was not flushed when the power fails is on disk, or is not, or is in part:
//
//	none    nothing that was not flushed
//	all     everything, as after kill -9
//	torn    of each file some of the writes since its last flush, each cut into sectors of 512 bytes of which some are
//	        missing; of each folder the first few of the names made, renamed and removed since its last flush
//
// A name is safe once its folder is flushed, whatever happened to its file. Cuts are before and after every flush.
// Of each folder left, henro check finds nothing lost, and the state holds every page that was stored before the
// cut; some are crawled on, to exactly the pages that the web has.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"henro/slave/fakeweb"
	"henro/store"
)

type options struct {
	cuts, resumes int
	seed          uint64
	dir           string
}

func main() {
	o := options{}
	flag.IntVar(&o.cuts, "cuts", 120, "folders to look at; 0: before and after every flush, in every way")
	flag.IntVar(&o.resumes, "resumes", 6, "of these, crawled on")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of all randomness")
	flag.StringVar(&o.dir, "dir", "", "keep everything here; default: a temporary folder, removed unless a cut fails")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "power:", err)
		os.Exit(1)
	}
}

// lab is one recording and its web.
type lab struct {
	*options
	bin       string
	rnd       *rand.Rand
	web       *fakeweb.Web
	listening *fakeweb.Listening
	want      map[string]bool // pages
	failed    int
	indexes   int // folders in which an index was missing
}

const depth = 6

func run(ctx context.Context, o *options) (err error) {
	temporary := o.dir == ""
	if temporary {
		if o.dir, err = os.MkdirTemp("", "henro-power"); err != nil {
			return err
		}
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	l := &lab{options: o, bin: filepath.Join(o.dir, "bin", "henro"), rnd: rand.New(rand.NewPCG(o.seed, 0))}
	build := exec.CommandContext(ctx, "go", "build", "-o", l.bin, "./cmd/henro")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if err := l.serve(ctx); err != nil {
		return err
	}
	defer l.web.Close()
	trace := filepath.Join(o.dir, "trace")
	if err := l.record(ctx, trace); err != nil {
		return err
	}
	events, err := readTrace(trace, filepath.Join(o.dir, "live"))
	if err != nil {
		return err
	}
	if err := l.cut(ctx, events); err != nil {
		return err
	}
	if l.failed > 0 {
		return fmt.Errorf("%d cuts failed; everything is left in %s; repeat with -seed %d", l.failed, o.dir, o.seed)
	}
	if temporary {
		return os.RemoveAll(o.dir)
	}
	return nil
}

func (l *lab) serve(ctx context.Context) (err error) {
	l.web, err = fakeweb.New(fakeweb.Options{Seed: l.seed, Hosts: 6, Domains: 3, Pages: 12, Degree: 6, CrossShare: 0.2,
		RedirectShare: 0.1, PageBytes: 32 << 10})
	if err != nil {
		return err
	}
	if l.listening, err = l.web.Listen(context.WithoutCancel(ctx), fakeweb.ListenOptions{}); err != nil {
		return err
	}
	truth, err := l.web.Reachable(fakeweb.Crawl{Seeds: l.listening.Seeds(), Depth: depth})
	if err != nil {
		return err
	}
	l.want = map[string]bool{}
	for url := range truth.Fetched {
		l.want[url] = true
	}
	return nil
}

// command is the crawl of a folder. Files of the archive are small, so that several are finished.
func (l *lab) command(ctx context.Context, dir string, before ...string) *exec.Cmd {
	arguments := append(
		before,
		l.bin,
		"crawl",
		"--progress",
		"off",
		"--listen-http",
		"off",
		"--allow-private",
		"--delay",
		"30ms",
		"--connections",
		"8",
		"--depth",
		fmt.Sprint(depth),
		"--partitions",
		"2",
		"--warc-size",
		"1MiB",
		"--warc-compression",
		"none",
		"--requisites",
		"off",
		"--dir",
		dir,
	)
	for _, line := range l.listening.Resolve() {
		arguments = append(arguments, "--resolve", line)
	}
	return exec.CommandContext(ctx, arguments[0], append(arguments[1:], l.listening.Seeds()...)...)
}

// traced are the calls that change what is on disk.
const traced = "openat,write,pwrite64,writev,pwritev,pwritev2,lseek,fsync,fdatasync,sync_file_range,ftruncate," +
	"truncate,fallocate,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat," +
	"copy_file_range,sendfile"

func (l *lab) record(ctx context.Context, trace string) error {
	dir := filepath.Join(l.dir, "live")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	cmd := l.command(
		ctx,
		filepath.Join(dir, "crawl"),
		"strace",
		"-f",
		"-y",
		"-xx",
		"-s",
		"16777216",
		"-e",
		"signal=none",
		"-e",
		"trace="+traced,
		"-o",
		trace,
	)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("record: %w: %s", err, said)
	}
	return l.complete(filepath.Join(dir, "crawl"))
}

// pages are those of a state that have a response.
func pages(dir string) (map[string]bool, error) {
	o := store.DefaultOptions()
	o.Partitions, o.ReadOnly = 0, true
	state, err := store.OpenState(filepath.Join(dir, "state"), o)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	found := map[string]bool{}
	for _, p := range state.Partitions {
		if err := p.EachPage(func(page store.Page, _ store.Place) error {
			if page.Status != 0 {
				found[page.URL] = true
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// complete reports how a finished crawl differs from what the web has.
func (l *lab) complete(dir string) error {
	got, err := pages(dir)
	if err != nil {
		return err
	}
	if !maps.Equal(got, l.want) {
		return fmt.Errorf("%d pages, want %d", len(got), len(l.want))
	}
	return nil
}

// ways are how much of what was not flushed is on disk.
var ways = []string{"none", "all", "torn"}

// image is one folder to make.
type image struct {
	at  int // events that have happened
	way string
}

// cut replays the recording and looks at the folders that are left.
func (l *lab) cut(ctx context.Context, events []event) error {
	var images []image
	flushes := 0
	for i := range events {
		if events[i].what != flushed {
			continue
		}
		flushes++
		for _, way := range ways {
			images = append(images, image{i, way}, image{i + 1, way})
		}
	}
	possible := len(images)
	if l.cuts > 0 && l.cuts < len(images) {
		l.rnd.Shuffle(len(images), func(i, j int) { images[i], images[j] = images[j], images[i] })
		images = images[:l.cuts]
	}
	slices.SortStableFunc(images, func(a, b image) int { return a.at - b.at })
	every := 1
	if l.resumes > 0 {
		every = max(1, len(images)/l.resumes)
	}
	fmt.Printf("seed %d: %d events, %d flushes, %d of %d cuts\n", l.seed, len(events), flushes, len(images), possible)
	disk := newFolder()
	safe := map[string]bool{} // pages stored, as of the last cut
	done := 0
	resumed := 0
	for n, im := range images {
		for ; done < im.at; done++ {
			if err := disk.happen(&events[done]); err != nil {
				return fmt.Errorf("event %d: %w", done, err)
			}
		}
		dir := filepath.Join(l.dir, "cut")
		resume := l.resumes > 0 && n%every == every/2
		if resume {
			resumed++
		}
		if err := l.look(ctx, disk, im, dir, safe, resume); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l.failed++
			kept := filepath.Join(l.dir, fmt.Sprintf("failed-%d-%s", im.at, im.way))
			fmt.Printf("FAIL  %s after event %d (%s): %v; left in %s\n", im.way, im.at,
				events[im.at-1].String(), err, kept)
			if err := errors.Join(os.RemoveAll(kept), os.Rename(dir, kept)); err != nil {
				return err
			}
		}
	}
	if len(safe) == 0 && l.failed == 0 {
		return errors.New("no cut left a page that was stored for certain: nothing was shown")
	}
	fmt.Printf(
		"cuts %d, of these with an index to make again %d, crawled on %d, failures %d\n",
		len(images),
		l.indexes,
		resumed,
		l.failed,
	)
	return nil
}

// look judges one folder. Safe are the pages that were on disk for certain at an earlier cut.
func (l *lab) look(ctx context.Context, disk *node, im image, dir string, safe map[string]bool, resume bool) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	crawl := filepath.Join(dir, "crawl")
	if err := disk.put(dir, im.way, l.rnd); err != nil {
		return err
	}
	got := map[string]bool{}
	if _, err := os.Stat(filepath.Join(crawl, "state")); err == nil {
		if got, err = pages(crawl); err != nil {
			return fmt.Errorf("the state does not open: %w", err)
		}
		if err := l.check(ctx, crawl); err != nil {
			return err
		}
	}
	for url := range safe {
		if !got[url] {
			return fmt.Errorf("%s was stored and is not there; %d of %d are", url, len(got), len(safe))
		}
	}
	if im.way == "none" {
		maps.Copy(safe, got)
	}
	if !resume {
		return nil
	}
	if said, err := l.command(ctx, crawl).CombinedOutput(); err != nil {
		return fmt.Errorf("crawled on: %w\n%s", err, tail(said))
	}
	if err := errors.Join(l.check(ctx, crawl), l.complete(crawl)); err != nil {
		return fmt.Errorf("crawled on: %w", err)
	}
	return nil
}

// check lets henro check look at a folder. An index is made of its WARC file, and may be missing: then it is made
// again.
func (l *lab) check(ctx context.Context, crawl string) error {
	said, err := exec.CommandContext(ctx, l.bin, "check", crawl).CombinedOutput()
	if err == nil {
		return nil
	}
	for line := range strings.Lines(string(said)) {
		if strings.HasPrefix(line, "damaged: ") && !strings.HasSuffix(line, ": it has no index\n") {
			return fmt.Errorf("henro check: %w\n%s", err, said)
		}
	}
	l.indexes++
	for _, arguments := range [][]string{{"check", "--mend", crawl}, {"check", crawl}} {
		if said, err := exec.CommandContext(ctx, l.bin, arguments...).CombinedOutput(); err != nil {
			return fmt.Errorf("henro %s: %w\n%s", strings.Join(arguments[:len(arguments)-1], " "), err, said)
		}
	}
	return nil
}

func tail(said []byte) []byte { return said[max(0, len(said)-2000):] }

// readTrace reads what strace wrote of the files below a folder.
func readTrace(name, root string) (events []event, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := parser{root: root, begun: map[string]string{}, at: map[string]int64{}, appends: map[string]bool{}}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 256<<20)
	for lines.Scan() {
		if err := p.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("%s: %w: %.200q", name, err, bytes.TrimSpace(lines.Bytes()))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(p.events) == 0 {
		return nil, fmt.Errorf("%s: nothing was recorded", name)
	}
	return p.events, nil
}
