package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"henro/.ci/lab/process"
	"henro/.ci/lab/tab"
	"henro/cmd/config"
	"henro/cmd/qa"
	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
)

// shown are the captures that are opened, of each kind, no two of them the same.
const shown = 300

// replay measures how long it takes to open captures, drawn at random, of an archive in the bucket and of the same
// archive in a folder: by a plain client, which asks for the capture alone, and in Chromium, until a page with its
// banner and its frame is loaded. At first without, then with what earlier captures have brought near.
func (l *lab) replay(captures int) error {
	if err := os.Mkdir(l.path("folder"), 0o755); errors.Is(err, fs.ErrExist) { // of an earlier run with -dir
		if l.at, err = process.FreePort(); err == nil {
			err = errors.Join(l.environment(), l.startStore())
		}
		if err != nil {
			return err
		}
	} else if err := errors.Join(err, l.prepare(captures)); err != nil {
		return err
	}
	fmt.Println("| archive | ready after | opened by | p50, ms | p95, ms | most, ms |\n|---|---|---|---|---|---|")
	for _, from := range []string{archive, l.path("folder")} {
		if err := l.open(from, captures); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	return nil
}

// prepare makes the archive, in both places.
func (l *lab) prepare(captures int) error {
	began := time.Now()
	err := l.fill(captures, func(file string) error {
		for _, from := range []string{file, cdxj.Path(file)} {
			if err := os.Link(from, filepath.Join(l.path("folder"), filepath.Base(from))); err != nil {
				return err
			}
		}
		return nil
	}, func(int, int) {})
	if err != nil {
		return err
	}
	where, err := config.FindBucket(archive)
	if err != nil {
		return err
	}
	keeper, err := bucket.NewKeeper(where)
	if err != nil {
		return err
	}
	for _, err = keeper.Pass(l.ctx); errors.Is(err, bucket.ErrHeld); _, err = keeper.Pass(l.ctx) {
		if err := l.wait(time.Second); err != nil { // until the one of fill is done
			return err
		}
	}
	fmt.Printf("%d captures were made and sent in %v\n\n", captures, time.Since(began).Round(time.Second))
	return err
}

// open starts a replay and opens captures.
func (l *lab) open(from string, captures int) error {
	at, err := process.FreePort()
	if err != nil {
		return err
	}
	began := time.Now()
	p, err := l.group.Start("replay", l.bin+"/henro", "replay", "--listen", at, from)
	if err == nil {
		err = p.AwaitWord(l.ctx, "WARC files: http")
	}
	if err != nil {
		return err
	}
	ready := time.Since(began).Round(10 * time.Millisecond)
	tabs, end, err := chromium(l.ctx)
	if err != nil {
		return err
	}
	defer end()
	row := func(by string, open func(i int) error) error {
		var took []time.Duration
		for range shown {
			i := l.rnd.IntN(captures)
			began := time.Now()
			if err := open(i); err != nil {
				return fmt.Errorf("capture %d, %s: %w", i, by, err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		ms := func(of float64) float64 { return took[int(of*float64(shown-1))].Seconds() * 1e3 }
		_, isBucket := strings.CutPrefix(from, bucket.Scheme)
		fmt.Printf("| %s | %v | %s | %.1f | %.1f | %.1f |\n", map[bool]string{true: l.store, false: "folder"}[isBucket],
			ready, by, ms(.5), ms(.95), ms(1))
		return nil
	}
	return errors.Join(
		row("client", func(i int) error { return fetched("http://"+at, i) }),
		row("Chromium", func(i int) error { return loaded(tabs, "http://"+at, i) }),
		kill(p))
}

func kill(p *process.Process) error {
	_, err := p.Kill()
	return err
}

// address is where a capture is shown, in a form of it.
func address(at, form string, i int) string {
	when, uri := made(i)
	return at + "/web/" + cdxj.Stamp(when) + form + "/" + uri
}

// fetched reads a capture.
func fetched(at string, i int) error {
	answer, err := http.Get(address(at, "mp_", i))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || !bytes.Contains(text, fmt.Appendf(nil, "Page %d<", i))) {
		err = fmt.Errorf("%s: %.200s", answer.Status, text)
	}
	return err
}

// loaded opens a capture in a browser.
func loaded(tabs context.Context, at string, i int) error {
	tabs, cancel := context.WithTimeout(tabs, 20*time.Second)
	defer cancel()
	var title string
	err := chromedp.Do(tabs, chromedp.Navigate(address(at, "", i)), tab.Evaluate("document.title", &title))
	if err == nil && !strings.Contains(title, fmt.Sprintf("/%d.html", i)) {
		err = fmt.Errorf("the title is %q", title)
	}
	return err
}

// chromium starts a browser with one tab.
func chromium(ctx context.Context) (context.Context, func(), error) {
	path, err := qa.FindBrowser()
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	return ctx, func() { closeTab(); end() }, chromedp.Do(ctx)
}
