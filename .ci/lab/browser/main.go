// Command browser looks at the dashboard of a crawl of a fakeweb in headless Chromium, and fails when anything is not
// as it should be:
//
//   - figures move, by the stream of events alone;
//   - a host is found by typing a part of its name, and opened, by keyboard; so is the life of one of its pages;
//   - two seconds after somebody has pressed pause, no request begins any more, by the access log of the web;
//   - two seconds after a host was excluded, it is not asked any more (that it is again once it is let in takes a day:
//     cmd/henro tests it);
//   - a seed that is typed into the form is crawled;
//   - every page can be read without a script;
//   - Tab leads to every control of every page, in their order, each shows that it has the focus, and Enter on an hour
//     of the week leads to its changes;
//   - axe-core finds nothing that keeps anybody from using a page, in English and Japanese, light and dark;
//   - of three slaves in processes of their own, one that is drained by its button gives its hosts to the others, by
//     the words of all three, visits nothing more by its own count, and is lent hosts again once it is put back to
//     work;
//   - the mailboxes of that master and its slaves are recorded, and the page of the recording leads from a message to
//     its cause on another node;
//   - the replay has the versions of a page on a line of time, for everybody, and Enter on one shows it;
//   - the console says nothing, and every request of the browser goes to the dashboard.
//
// Nothing here is judged by how fast the machine is: what must come to be is waited for with patience, and what must
// not happen within two seconds has as much longer as the machine stood still meanwhile.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"henro/.ci/lab/process"
)

func main() {
	t := &trial{}
	flag.StringVar(&t.bin, "bin", "", "where henro, henro-master and henro-slave are")
	flag.StringVar(&t.dir, "dir", "", "where everything is put")
	flag.StringVar(&t.axe, "axe", "", "axe.min.js; empty: whether everybody can use the pages is not judged")
	flag.StringVar(&t.pictures, "screenshots", "", "where pictures are put; empty: none")
	flag.StringVar(&t.screens, "screens", "", "where pictures of all pages are put, in all forms; empty: none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := t.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}

// trial is a web, a crawl of it, and a browser.
type trial struct {
	bin, dir, axe, pictures, screens string

	group  *process.Group
	stalls stalls
	base   string   // of the dashboard
	seeds  []string // of the web
	crawls []string // arguments of every crawl of it
	log    string   // the access log of the web
	late   string   // a seed that the crawl is not started with

	changed time.Time // when a page changed, as a feed says
}

func (t *trial) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	go t.stalls.watch(ctx)
	t.group = &process.Group{Dir: t.dir}
	defer t.group.End()
	if err := t.start(ctx); err != nil {
		return err
	}
	b, err := open(ctx, t)
	if err != nil {
		return err
	}
	defer b.close()
	for _, step := range []struct {
		says string
		do   func() error
	}{
		{"figures move", b.figuresMove},
		{"a host is found and opened by keyboard, and a page of it", b.findHost},
		{"hosts are sorted, and a cause leads to its hosts and URLs", b.drillDown},
		{"the visits of a host are moved", b.revisit},
		{"pause stops fetching within 2 s", b.pause},
		{"an excluded host is left alone", b.exclude},
		{"an added seed is crawled", b.addSeed},
		{"pages can be read without a script", b.withoutScript},
		{"everybody can use every page", b.accessible},
		{"every control is reached by keyboard", b.walk},
		{"a page's versions on a line of time, in the replay", b.versions},
		{"pictures", b.screenshots},
		{"a drained slave gives its hosts to the others", b.drain},
		{"the console is silent, and nothing leaves the machine", b.quiet},
	} {
		began := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.says, err)
		}
		fmt.Printf("%-60s %4.1f s\n", step.says, time.Since(began).Seconds())
	}
	return nil
}

// start serves a web and crawls all hosts of it but the last.
func (t *trial) start(ctx context.Context) (err error) {
	web := filepath.Join(t.dir, "web")
	if _, err := t.group.Start("web", filepath.Join(t.bin, "fakeweb"), "--hosts", "60", "--domains", "20",
		"--pages", "400", "--latency", "30ms", "--latency-spread", "0.6", "--not-found", "0.02", "--internal", "0.01",
		"--japanese", "0.3", "--changing", "0.3", "--crawl-delays", "0", "--folder", web); err != nil {
		return err
	}
	t.log = filepath.Join(web, "access.log")
	if err := until(ctx, func() bool {
		out, err := os.ReadFile(filepath.Join(t.dir, "web.log"))
		return err == nil && strings.Contains(string(out), "\nready")
	}); err != nil {
		return fmt.Errorf("the web: %w", err)
	}
	if t.seeds, err = lines(filepath.Join(web, "seeds.txt")); err != nil {
		return err
	}
	t.late = t.seeds[len(t.seeds)-1]
	resolve, err := lines(filepath.Join(web, "resolve.txt"))
	if err != nil {
		return err
	}
	address, err := process.FreePort()
	if err != nil {
		return err
	}
	t.base = "http://" + address
	t.crawls = []string{"--allow-private", "--delay", "400ms", "--depth", "-1", "--continuous", "--log-level", "info"}
	for _, r := range resolve {
		t.crawls = append(t.crawls, "--resolve", r)
	}
	arguments := append([]string{"crawl", "--dir", filepath.Join(t.dir, "crawl"), "--progress", "off", "--listen-http",
		address}, t.crawls...)
	_, err = t.group.Start("crawl", filepath.Join(t.bin, "henro"), append(arguments, t.seeds[:len(t.seeds)-1]...)...)
	if err != nil {
		return err
	}
	return until(ctx, func() bool {
		began, err := t.requests(time.Time{}, "")
		return err == nil && began > 300
	})
}

// requests counts what the web was asked for after a moment, of one host or of all.
func (t *trial) requests(after time.Time, host string) (count int, err error) {
	all, err := lines(t.log)
	for _, line := range all {
		fields := strings.Split(line, "\t")
		if len(fields) < 5 {
			continue // a line that is being written
		}
		began, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("access log: %w", err)
		}
		if began > after.UnixNano() && (host == "" || fields[3] == host) {
			count++
		}
	}
	return count, err
}

func lines(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		all = append(all, s.Text())
	}
	return all, s.Err()
}

var errLate = errors.New("it did not come to that in time")

// patience is how long anything is waited for: far longer than a machine with other work takes, since a wait costs
// nothing when all is well.
const patience = 2 * time.Minute

// until looks again and again whether something has come to be.
func until(ctx context.Context, is func() bool) error {
	deadline := time.Now().Add(patience)
	for !is() {
		if time.Now().After(deadline) {
			return errLate
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// stalls are the times in which this machine ran no process.
type stalls struct {
	mu  sync.Mutex
	all []stall
}

type stall struct {
	until time.Time
	took  time.Duration
}

// watch notes how late it is woken, until the context ends.
func (s *stalls) watch(ctx context.Context) {
	const every, ordinary = 20 * time.Millisecond, 500 * time.Millisecond
	for before := time.Now(); ctx.Err() == nil; {
		time.Sleep(every)
		now := time.Now()
		if took := now.Sub(before); took > ordinary {
			s.mu.Lock()
			s.all = append(s.all, stall{now, took})
			s.mu.Unlock()
		}
		before = now
	}
}

// since sums them up from a moment on.
func (s *stalls) since(at time.Time) (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		if one.until.After(at) {
			sum += one.took
		}
	}
	return sum
}

// silent reports whether nothing, or nothing of one host, is asked for from two seconds after a moment on, for three.
func (t *trial) silent(ctx context.Context, from time.Time, host string) error {
	for {
		// a machine that never runs anybody in time is judged all the same
		begin := from.Add(2*time.Second + min(t.stalls.since(from), 30*time.Second))
		if time.Since(begin) > 3*time.Second {
			later, err := t.requests(begin, host)
			if err == nil && later > 0 {
				err = fmt.Errorf("%d requests %s began in the 3 s from %.1f s after it", later, host,
					begin.Sub(from).Seconds())
			}
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
