// Command living crawls sites whose pages scripts make, and lets Chromium judge what is archived of them: each page is
// opened live and in henro replay, and words, pixels and requests are compared. The servers' own log says how the crawl
// behaved.
//
//	living -dir DIR -henro PROGRAM -sites FOLDER [-browser off,auto] [-pages 20] [-delay 50ms] [-kill] [NAME…]
//
// FOLDER is what make.mjs made. It prints a row for each site and each way of crawling, and writes a report with
// pictures of each into DIR. The exit code is 1 if a crawl misbehaved, or missed a bar while -bars is on.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"henro/cmd/qa"
)

// atPages is henro's exit code of a crawl that was stopped at --pages.
const atPages = 16

type lab struct {
	dir, henro, sites, browser string
	path                       string // of Chromium
	port                       int
	delay, limit, soaks        time.Duration
	bars, kill                 bool
	slaves                     int // of a crawl; 0: henro crawl, all in one
	some                       int // pages of a site that --browser all is to visit; 0: all
	options                    qa.Options
	all                        []*Site
	web                        *Web
	seen                       map[*Site][]*view // live
	failed                     bool
}

// bounded reports that a crawl visits some of the pages alone: its pace is judged, and not what it lacks.
func (l *lab) bounded(way string) bool { return way == "all" && l.some > 0 }

func main() {
	l := lab{seen: map[*Site][]*view{}, options: qa.DefaultOptions()}
	flag.StringVar(&l.dir, "dir", "", "for what is written")
	flag.StringVar(&l.henro, "henro", "", "the program")
	flag.StringVar(&l.sites, "sites", "", "what make.mjs made")
	flag.StringVar(&l.browser, "browser", "off", "ways of crawling, as in henro crawl --browser, with commas between")
	flag.IntVar(&l.options.Pages, "pages", 20, "of a site that are compared; 0: none, only the crawl is judged")
	flag.IntVar(&l.port, "port", 8480, "of the sites, which make.mjs was told too")
	flag.DurationVar(&l.delay, "delay", 50*time.Millisecond, "of the crawl: --delay")
	flag.DurationVar(&l.limit, "limit", 10*time.Minute, "of one crawl")
	flag.BoolVar(&l.kill, "kill", false, "kill -9 Chromium and henro in the middle, and go on")
	flag.IntVar(&l.some, "some", 0, "pages that a crawl with --browser all visits at most; 0: all")
	flag.IntVar(&l.slaves, "slaves", 0, "crawl with henro-master, and so many of henro-slave, which are beside henro")
	flag.DurationVar(&l.soaks, "soak", 0, "crawl one site for so long, and judge memory alone")
	bars := flag.String("bars", "on", "off: what is missed is printed, and no failure")
	flag.Parse()
	l.bars = *bars != "off"
	if err := l.run(context.Background(), flag.Args()); err != nil {
		fmt.Println("FAIL ", err)
		os.Exit(1)
	}
}

func (l *lab) say(ok, bar bool, format string, values ...any) {
	word := "ok   "
	switch {
	case ok:
	case bar && !l.bars:
		word = "miss "
	default:
		word, l.failed = "FAIL ", true
	}
	fmt.Println(word, fmt.Sprintf(format, values...))
}

func (l *lab) run(ctx context.Context, names []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	text, err := os.ReadFile(filepath.Join(l.sites, "sites.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &l.all); err != nil {
		return fmt.Errorf("sites.json: %w", err)
	}
	log, err := os.Create(filepath.Join(l.dir, "access.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	l.web = &Web{log: log}
	if err := l.web.serve(l.sites, l.all, l.port); err != nil {
		return err
	}
	ways := strings.Split(l.browser, ",")
	if l.path, err = qa.FindBrowser(); err != nil {
		return err
	}
	var rows []*row
	for _, s := range l.all {
		if s.Of != "" || len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		for _, way := range ways {
			if l.soaks > 0 {
				if err := l.soak(ctx, s, way, l.soaks); err != nil {
					return err
				}
				continue
			}
			r, err := l.try(ctx, s, way)
			if err != nil {
				return fmt.Errorf("%s, --browser %s: %w", s.Name, way, err)
			}
			rows = append(rows, r)
			fmt.Printf("      %s\n", r)
			for _, line := range r.notes {
				fmt.Println("        ", line)
			}
		}
	}
	if l.soaks == 0 {
		l.table(rows, ways)
	}
	if l.failed {
		return errors.New("see above")
	}
	return nil
}

// resolve is where the names of the lab are, as --resolve has it.
func (l *lab) resolve() (entries []string) {
	for _, s := range l.all {
		entries = append(entries, fmt.Sprintf("%s:%d:%s", s.Host, l.port, s.address))
	}
	return entries
}

func (l *lab) root(s *Site) string { return fmt.Sprintf("http://%s:%d", s.Host, l.port) }

// command is a crawl of a site.
func (l *lab) command(ctx context.Context, s *Site, way, dir string) *exec.Cmd {
	arguments := []string{"crawl", "--dir", dir, "--depth", "-1", "--allow-private", "127.0.0.0/24",
		"--delay", l.delay.String(), "--exclude", excluded, "--listen-http", "off", "--dns", "127.0.0.1:9",
		"--progress", "off", "--log-level", "error", "--retries", "0", // else a crawl waits for the trap
		"--resolve", fmt.Sprintf("%s:%d:%s", trap, l.port, trapAt)}
	for _, entry := range l.resolve() {
		arguments = append(arguments, "--resolve", entry)
	}
	arguments = append(arguments, "--browser", way, "--browser-path", l.path)
	if l.bounded(way) {
		arguments = append(arguments, "--pages", strconv.Itoa(l.some))
	}
	cmd := exec.CommandContext(ctx, l.henro, append(arguments, l.root(s)+"/")...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	return cmd
}

// crawl makes one crawl of a site, and says how long it took and what the servers saw of it.
func (l *lab) crawl(ctx context.Context, s *Site, way, dir string) (time.Duration, Manners, error) {
	if err := os.RemoveAll(dir); err != nil {
		return 0, Manners{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	l.web.take()
	start := time.Now()
	command := func() *exec.Cmd { return l.command(ctx, s, way, dir) }
	var killed kills
	var out []byte
	var err error
	if l.kill {
		killed, out, err = l.killing(ctx, command, dir)
		fmt.Printf("      %s, --browser %s: %s\n", s.Name, way, &killed)
		if ctx.Err() == nil {
			l.say(killed.henro > 0 && (way == "off" || killed.chromium > 0), true,
				"%s, --browser %s: both were killed", s.Name, way)
		}
	} else if l.slaves > 0 {
		out, err = l.together(ctx, command(), dir)
	} else {
		out, err = command().CombinedOutput()
	}
	took := time.Since(start)
	if ctx.Err() != nil { // what it has is judged all the same
		l.say(false, true, "%s, --browser %s: the crawl is not over after %v", s.Name, way, l.limit)
		err = nil
	}
	var ended *exec.ExitError
	if l.bounded(way) && errors.As(err, &ended) && ended.ExitCode() == atPages {
		err = nil
	}
	if err != nil {
		return 0, Manners{}, fmt.Errorf("henro crawl: %w\n%s", err, out)
	}
	return took, judge(l.web.take(), l.delay, &killed), nil
}

// unplayed holds what is said of a page whose scripts tried what no archive can answer against what they tried, and
// looks for a word that they wrote.
func (l *lab) unplayed(ctx context.Context, s *Site, dir string) error {
	const want = "1 × WebSocket, 1 × stream of events, 2 × request with a body that is not kept, 1 × beacon"
	out, err := exec.CommandContext(ctx, l.henro, "page", l.root(s)+"/", "--dir", dir).Output()
	if err != nil {
		return fmt.Errorf("henro page: %w", err)
	}
	l.say(strings.Contains(string(out), want), false, "%s: henro page says what cannot be replayed", s.Name)
	if out, err := exec.CommandContext(ctx, l.henro, "search", "--index", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("henro search --index: %w: %s", err, out)
	}
	out, err = exec.CommandContext(ctx, l.henro, "search", dir, "quinces").Output()
	found := err == nil && strings.Contains(string(out), l.root(s)+"/ ")
	l.say(found, false, "%s: henro search finds what scripts write", s.Name)
	return nil
}

// visits are the pages that a crawl visited, and those that a browser rendered.
func (l *lab) visits(ctx context.Context, dir string) (pages, rendered int, err error) {
	ask := func(question string) (n int, err error) {
		out, err := exec.CommandContext(ctx, l.henro, "sql", dir, question, "--format", "csv").CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("henro sql: %w: %s", err, out)
		}
		lines := strings.Fields(string(out))
		if len(lines) != 2 {
			return 0, fmt.Errorf("henro sql: %s", out)
		}
		return strconv.Atoi(lines[1])
	}
	const visited = "SELECT count(*) AS n FROM pages WHERE role = 'page' AND status = 200"
	if pages, err = ask(visited); err != nil {
		return 0, 0, err
	}
	schema, err := exec.CommandContext(ctx, l.henro, "sql", dir, ".schema").Output()
	if err != nil || !strings.Contains(string(schema), "rendered") {
		return pages, 0, err
	}
	rendered, err = ask(visited + " AND rendered")
	return pages, rendered, err
}
