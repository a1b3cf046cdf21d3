package henro_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"henro"
	"henro/cmd/fakeweb"
)

func TestAMistakeSaysWhatToDoAndTouchesNothing(t *testing.T) {
	for want, o := range map[string]henro.Options{
		`did you mean "depth"`: {Seeds: []string{"https://example.org/"}, Settings: map[string]any{"dept": 2}},
		"setting depth":        {Seeds: []string{"https://example.org/"}, Settings: map[string]any{"depth": "deep"}},
		"give --contact":       {Seeds: []string{"https://example.org/"}},
		"has no scheme":        {Seeds: []string{"example.org"}, Contact: "you@example.org"},
		"add --allow-private":  {Seeds: []string{"http://127.0.0.1/"}, Contact: "you@example.org"},
		"nothing to crawl":     {Contact: "you@example.org"},
		"--progress": {Seeds: []string{"https://example.org/"}, Contact: "you@example.org",
			Settings: map[string]any{"progress": "on"}},
	} {
		o.Dir = filepath.Join(t.TempDir(), "crawl")
		_, err := henro.Crawl(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the directory was made", want)
		}
	}
}

// A crawl in a program is the crawl of the command: the truth of a fakeweb, interrupted, resumed, and nothing left
// running.
func TestACrawlIsInterruptedAndResumed(t *testing.T) {
	before := goleak.IgnoreCurrent()
	web, err := fakeweb.New(fakeweb.Options{Seed: 5, Hosts: 4, Domains: 2, Pages: 30, CrossShare: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	listening, err := web.Listen(t.Context(), fakeweb.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var log bytes.Buffer
	o := henro.Options{Dir: dir, Seeds: listening.Seeds(), Log: &log, Settings: map[string]any{"depth": -1,
		"delay": "10ms", "allow-private": "127.0.0.0/8", "resolve": listening.Resolve(), "requisites": "off"}}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() { // while it is under way, however fast this machine is
		for len(web.Log()) < 20 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		interrupt()
	}()
	if summary, err := henro.Crawl(ctx, o); !errors.Is(err, context.Canceled) || summary == nil {
		t.Fatalf("interrupted: %+v, %v", summary, err)
	}
	o.Seeds = nil
	summary, err := henro.Crawl(t.Context(), o)
	if err != nil || summary.End != "finished" {
		t.Fatalf("resumed: %+v, %v", summary, err)
	}
	said, want := fmt.Sprint(summary), fmt.Sprintf("%d pages, 0 requisites and ", summary.Pages)
	if !strings.HasPrefix(said, want) || !strings.HasSuffix(said, ": finished") {
		t.Errorf("the summary reads %q", said)
	}
	truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1})
	if err != nil {
		t.Fatal(err)
	}
	results, err := henro.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	visited := map[string]bool{}
	for page, err := range results.Pages() {
		if err != nil {
			t.Fatal(err)
		}
		if page.Status != 0 {
			visited[page.URL] = true
		}
	}
	if len(visited) != len(truth.Fetched) || summary.Pages == 0 {
		t.Errorf("%d URLs were visited, want %d: %+v", len(visited), len(truth.Fetched), summary)
	}
	for range results.Pages() {
		break // early
	}
	if _, err := results.Body("http://nowhere.test/", 1); !errors.Is(err, henro.ErrNotArchived) {
		t.Errorf("a URL without a capture: %v", err)
	}
	if err := errors.Join(results.Close(), listening.Close()); err != nil {
		t.Fatal(err)
	}
	web.Close()
	if log.Len() > 0 {
		t.Errorf("the log says %s", &log)
	}
	// Once a dead letter has come, protoactor counts them for ten seconds, whatever ends meanwhile.
	for until := time.Now().Add(20 * time.Second); ; {
		left := goleak.Find(before, // which lumberjack starts for each file and never ends
			goleak.IgnoreTopFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun"))
		if left == nil {
			return
		} else if time.Now().After(until) {
			t.Fatal(left)
		}
	}
}

// The merged index has every capture of every round whenever no crawl runs.
func TestTheMergedIndexIsTrueAfterEachRound(t *testing.T) {
	web, err := fakeweb.New(fakeweb.Options{Seed: 5, Pages: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	listening, err := web.Listen(t.Context(), fakeweb.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Close()
	dir := t.TempDir()
	lines := func() int {
		index, err := os.ReadFile(filepath.Join(dir, "warc", "index.cdxj"))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(index, []byte("\n"))
	}
	crawl := func(again bool) {
		t.Helper()
		summary, err := henro.Crawl(t.Context(), henro.Options{Dir: dir, Seeds: listening.Seeds(), Log: io.Discard,
			Settings: map[string]any{"depth": -1, "delay": "0s", "allow-private": "127.0.0.0/8",
				"resolve": listening.Resolve(), "requisites": "off", "again": again}})
		if err != nil || summary.End != "finished" {
			t.Fatalf("%+v, %v", summary, err)
		}
	}
	crawl(true)
	first := lines()
	if first < 5 {
		t.Fatalf("%d captures in the index of the first round", first)
	}
	crawl(true)
	if n := lines(); n < first+5 {
		t.Errorf("the second round leaves %d captures in the index, %d before", n, first)
	}
	before := lines()
	crawl(false) // the crawl goes on, and is not one of revisits
	if n := lines(); n <= before {
		t.Errorf("a crawl that is no round leaves %d captures in the index, %d before", n, before)
	}
}

func TestWhereNoCrawlIsNoneIsOpened(t *testing.T) {
	if r, err := henro.Open(t.TempDir()); !errors.Is(err, henro.ErrNoCrawl) {
		t.Errorf("opened %v, %v", r, err)
	}
}

var _ io.Closer = (*henro.Results)(nil)
