// Command power cuts the power of a crawl: it records what its programs write to their folders, and what they ask the
// system to flush, and makes the folders that a loss of power at any moment could have left.
//
//	power [-case crawl|gzip|cluster|all] [-cuts N] [-resumes N] [-seed N] [-dir DIR]
//
// The cases are henro crawl with records as they are and in gzip, and henro-master with henro-slave, whose machines
// lose power together or one of them alone.
//
// The recording is strace's: every open, write, truncation, rename and fsync of a process, with its bytes (bbolt maps
// its file for reading only). What was not flushed when the power fails is on disk, or is not, or is in part:
//
//	none    nothing that was not flushed
//	all     everything, as after kill -9
//	torn    of each file some of the writes since its last flush, each cut into sectors of 512 bytes of which some are
//	        missing; of each folder the first few of the names made, renamed and removed since its last flush
//	master  none of the master's, all of the slave's, whose machine goes on
//	slave   the other way round
//
// A name is safe once its folder is flushed, whatever happened to its file. Cuts are before and after every flush.
// Of each folder left, henro check finds nothing lost, and the state holds every page that was stored before the
// cut; some are crawled on, to exactly the pages that the web has.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"henro/cmd/fakeweb"
	"henro/store"
)

type options struct {
	cases         string
	cuts, resumes int
	seed          uint64
	dir           string
}

func main() {
	o := options{}
	flag.StringVar(&o.cases, "case", "all", "crawl, gzip, cluster or all")
	flag.IntVar(&o.cuts, "cuts", 40, "folders of each case to look at; 0: before and after every flush, in every way")
	flag.IntVar(&o.resumes, "resumes", 2, "of these, crawled on")
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
	name      string // of the case
	dir       string
	bin       string
	rnd       *rand.Rand
	web       *fakeweb.Web
	listening *fakeweb.Listening
	want      map[string]bool // pages
	ports     [3]int          // of a cluster: gossip of the master, actors of the master and of the slave
	failed    int
}

// cases are what may be recorded.
var cases = []string{"crawl", "gzip", "cluster"}

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
	bin := filepath.Join(o.dir, "bin")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin+"/", "./cmd/henro", "./cmd/henro-master",
		"./cmd/henro-slave")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	l := &lab{options: o, bin: bin}
	if err := l.serve(ctx); err != nil {
		return err
	}
	defer l.web.Close()
	if o.cases != "all" {
		if !slices.Contains(cases, o.cases) {
			return fmt.Errorf("case %s: want one of %s, or all", o.cases, strings.Join(cases, ", "))
		}
		cases = []string{o.cases}
	}
	failed := 0
	for _, l.name = range cases {
		l.dir, l.rnd = filepath.Join(o.dir, l.name), rand.New(rand.NewPCG(o.seed, 0))
		l.failed = 0
		events, err := l.record(ctx)
		if err == nil {
			err = l.cut(ctx, events)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		failed += l.failed
	}
	if failed > 0 {
		return fmt.Errorf("%d cuts failed; everything is left in %s; repeat with -seed %d", failed, o.dir, o.seed)
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
	for i := range l.ports {
		probe, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		l.ports[i] = probe.Addr().(*net.TCPAddr).Port
		if err := probe.Close(); err != nil {
			return err
		}
	}
	l.want = map[string]bool{}
	for url := range truth.Fetched {
		l.want[url] = true
	}
	return nil
}

// state is the folder whose state a crawl keeps, below the one that is cut.
func (l *lab) state() string {
	if l.name == "cluster" {
		return "master"
	}
	return "crawl"
}

// commands are the processes of a crawl below a folder; the last one ends by itself. Files of the archive are small, so
// that several are finished.
func (l *lab) commands(dir string) [][]string {
	said := func(program, folder string, more ...string) []string {
		return append([]string{filepath.Join(l.bin, program), "--dir", filepath.Join(dir, folder)}, more...)
	}
	archive := strings.Fields("--connections 8 --warc-size 1MiB")
	crawl := append(strings.Fields("--listen-http off --allow-private --delay 30ms --requisites off"),
		"--depth", fmt.Sprint(depth))
	for _, line := range l.listening.Resolve() {
		crawl = append(crawl, "--resolve", line)
	}
	crawl = append(crawl, l.listening.Seeds()...)
	if l.name != "cluster" {
		whole := slices.Concat([]string{filepath.Join(l.bin, "henro"), "crawl", "--progress", "off", "--dir",
			filepath.Join(dir, "crawl")}, archive, crawl)
		return [][]string{whole}
	}
	meet := func(name string, actors int, more string) []string {
		return append(strings.Fields(more), "--name", name, "--actors", fmt.Sprintf("127.0.0.1:%d", actors))
	}
	gossip := fmt.Sprintf("127.0.0.1:%d", l.ports[0])
	return [][]string{
		said("henro-slave", "slave", slices.Concat(archive, meet("slave", l.ports[2],
			"--listen-http off --gossip 127.0.0.1:0 --join "+gossip))...),
		said("henro-master", "master",
			slices.Concat(meet("master", l.ports[1], "--fetch-timeout 6s --gossip "+gossip), crawl)...),
	}
}

// run crawls below a folder until the end, each process below the command that before gives.
func (l *lab) run(ctx context.Context, dir string, before func(process int) []string) error {
	var running []*exec.Cmd
	var said bytes.Buffer
	all := l.commands(dir)
	for i, arguments := range all {
		if before != nil {
			arguments = append(before(i), arguments...)
		}
		cmd := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
		if i < len(all)-1 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // strace keeps a signal to itself
			if err := cmd.Start(); err != nil {
				return err
			}
			running = append(running, cmd)
			continue
		}
		cmd.Stdout, cmd.Stderr = &said, &said
		err := cmd.Run()
		for _, other := range running {
			late := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-other.Process.Pid, syscall.SIGKILL) })
			err = errors.Join(err, syscall.Kill(-other.Process.Pid, syscall.SIGTERM), other.Wait())
			late.Stop()
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, tail(said.Bytes()))
		}
	}
	return nil
}

// traced are the calls that change what is on disk.
const traced = "openat,write,pwrite64,writev,pwritev,pwritev2,lseek,fsync,fdatasync,sync_file_range,ftruncate," +
	"truncate,fallocate,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat," +
	"copy_file_range,sendfile"

// record crawls the web and returns what happened to the disk, in the order of time.
func (l *lab) record(ctx context.Context) ([]event, error) {
	live := filepath.Join(l.dir, "live")
	if err := os.MkdirAll(live, 0o755); err != nil {
		return nil, err
	}
	var traces []string
	if err := l.run(ctx, live, func(int) []string {
		traces = append(traces, filepath.Join(l.dir, fmt.Sprint("trace-", len(traces))))
		return append(strings.Fields("strace -f -y -xx -ttt -s 16777216 -e signal=none -e"), "trace="+traced, "-o",
			traces[len(traces)-1])
	}); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	var events []event
	for _, trace := range traces {
		some, err := readTrace(trace, live)
		if err != nil {
			return nil, err
		}
		events = append(events, some...)
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.when, b.when) })
	return events, l.complete(filepath.Join(live, l.state()))
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
		if err := p.Pages.Each(func(page store.Page, _ store.Place) error {
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
func (l *lab) ways() []string {
	if l.name == "cluster" {
		return []string{"none", "all", "torn", "master", "slave"} // the latter as the folders are called
	}
	return []string{"none", "all", "torn"}
}

// image is one folder to make.
type image struct {
	at  int // events that have happened
	way string
}

// cut replays the recording and looks at the folders that are left.
func (l *lab) cut(ctx context.Context, events []event) error {
	var images, sure []image // sure: what was flushed alone, eight times along the whole recording
	flushes := 0
	for i := range events {
		if events[i].what == flushed {
			flushes++
		}
	}
	n := 0
	for i := range events {
		if events[i].what != flushed {
			continue
		}
		if n++; n*8/flushes > (n-1)*8/flushes {
			sure = append(sure, image{i + 1, "none"})
		}
		for _, way := range l.ways() {
			images = append(images, image{i, way}, image{i + 1, way})
		}
	}
	possible := len(images)
	if l.cuts > 0 && l.cuts < len(images) {
		images = slices.DeleteFunc(images, func(im image) bool { return slices.Contains(sure, im) })
		l.rnd.Shuffle(len(images), func(i, j int) { images[i], images[j] = images[j], images[i] })
		images = append(sure, images...)[:l.cuts]
	}
	slices.SortStableFunc(images, func(a, b image) int { return a.at - b.at })
	fmt.Printf("%s, seed %d: %d events, %d flushes, %d of %d cuts\n", l.name, l.seed, len(events), flushes, len(images),
		possible)
	looked, err := l.lookAtAll(ctx, events, images)
	if err != nil {
		return err
	}
	safe := map[string]bool{} // pages stored, as of the last cut
	for _, im := range looked {
		err := im.err
		for url := range safe {
			if err == nil && !im.of.got[url] {
				err = fmt.Errorf("%s was stored and is not there; %d of %d are", url, len(im.of.got), len(safe))
			}
		}
		if im.way == "none" {
			maps.Copy(safe, im.of.got)
		}
		if err != nil {
			l.failed++
			fmt.Printf("FAIL  %s after event %d (%s): %v\n", im.way, im.at, events[im.at-1].String(), err)
		}
	}
	if len(safe) == 0 && l.failed == 0 {
		return errors.New("no cut left a page that was stored for certain: nothing was shown")
	}
	return nil
}

// look is a folder that was left by one or more cuts, and what was found there. It is kept if it is damaged.
type look struct {
	dir    string
	resume bool
	got    map[string]bool
	index  bool // one was missing, and made again
	err    error
}

// looked is a cut and what came of it.
type looked struct {
	image
	of  *look
	err error
}

// lookAtAll makes the folders that cuts leave, and looks at as many at once as there are processors. Most cuts leave
// what another has left, to the byte: such a folder is looked at once.
func (l *lab) lookAtAll(ctx context.Context, events []event, images []image) (all []looked, err error) {
	every := 1
	if l.resumes > 0 {
		every = max(1, len(images)/l.resumes)
	}
	disk, done, resumed := newFolder(), 0, 0
	known := map[[sha256.Size]byte]*look{}
	began, turns := time.Now(), make(chan struct{}, runtime.GOMAXPROCS(0))
	var looking sync.WaitGroup
	defer looking.Wait()
	for n, im := range images {
		for ; done < im.at; done++ {
			if err := disk.happen(&events[done]); err != nil {
				return nil, fmt.Errorf("event %d: %w", done, err)
			}
		}
		left := disk.cut(im.way, l.rnd)
		resume := l.resumes > 0 && n%every == every/2
		id := sum(left)
		of := known[id]
		if of == nil || resume {
			of = &look{dir: filepath.Join(l.dir, fmt.Sprintf("cut-%d-%d-%s", n, im.at, im.way)), resume: resume}
			known[id] = of
			select {
			case turns <- struct{}{}:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if err := write(of.dir, left); err != nil {
				return nil, err
			}
			run := func() { l.look(ctx, of); <-turns }
			if resume && l.name == "cluster" { // its ports are the same each time
				run()
			} else {
				looking.Go(run)
			}
		}
		all = append(all, looked{image: im, of: of})
	}
	looking.Wait()
	indexes := 0
	for _, of := range known {
		if of.index {
			indexes++
		}
		if of.resume {
			resumed++
		}
	}
	failures := 0
	for i := range all {
		all[i].err = all[i].of.err
		if all[i].err != nil {
			failures++
		}
	}
	fmt.Printf("cuts %d, different folders left %d, of these with an index to make again %d, crawled on %d, "+
		"failures %d, in %v\n", len(images), len(known), indexes, resumed, failures,
		time.Since(began).Round(time.Second))
	return all, ctx.Err()
}

// look judges one folder.
func (l *lab) look(ctx context.Context, of *look) {
	defer func() {
		if of.err == nil {
			of.err = os.RemoveAll(of.dir)
		}
	}()
	crawl := filepath.Join(of.dir, l.state())
	of.got = map[string]bool{}
	if l.name == "cluster" { // as henro nodes collect would bring them
		if err := os.Symlink("../slave/warc", filepath.Join(crawl, "warc")); err != nil && !os.IsNotExist(err) {
			of.err = err
			return
		}
	}
	if _, err := os.Stat(filepath.Join(crawl, "state")); err == nil {
		if of.got, err = pages(crawl); err != nil {
			of.err = fmt.Errorf("the state does not open: %w", err)
			return
		}
		if of.index, of.err = l.check(ctx, crawl); of.err != nil {
			return
		}
	}
	if !of.resume {
		return
	}
	err := l.run(ctx, of.dir, nil)
	if err == nil {
		_, err = l.check(ctx, crawl)
	}
	if err == nil {
		err = l.complete(crawl)
	}
	if err != nil {
		of.err = fmt.Errorf("crawled on: %w", err)
	}
}

// check lets henro check look at a folder. An index is made of its WARC file, and may be missing: then it is made
// again, which is reported.
func (l *lab) check(ctx context.Context, crawl string) (index bool, err error) {
	said, err := exec.CommandContext(ctx, filepath.Join(l.bin, "henro"), "check", crawl).CombinedOutput()
	if err == nil {
		return false, nil
	}
	for line := range strings.Lines(string(said)) {
		if strings.HasPrefix(line, "damaged: ") && !strings.HasSuffix(line, ": it has no index\n") {
			return false, fmt.Errorf("henro check: %w\n%s", err, said)
		}
	}
	for _, arguments := range [][]string{{"check", "--repair", crawl}, {"check", crawl}} {
		henro := exec.CommandContext(ctx, filepath.Join(l.bin, "henro"), arguments...)
		if said, err := henro.CombinedOutput(); err != nil {
			return true, fmt.Errorf("henro %s: %w\n%s", strings.Join(arguments[:len(arguments)-1], " "), err, said)
		}
	}
	return true, nil
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
