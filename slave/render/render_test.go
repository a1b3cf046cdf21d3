package render

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"henro/messages/weburl"
	"henro/slave/browser"
)

// none is a browser of tests that show nothing.
type none struct{}

func (none) Render(context.Context, browser.Page, browser.Source) (*browser.Rendering, error) {
	return nil, errors.New("nothing is shown here")
}
func (none) Close() error { return nil }

func quiet(dir string) *Renderer {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return New(none{}, dir, logrus.NewEntry(log))
}

// What is on its way to the archive is waited for until it is synced, until it failed, or as long as a sync may take.
func TestReadWaitsForWhatIsComing(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		end   func(*Renderer, string)
	}{
		"synced": {time.Second, func(r *Renderer, url string) { r.Archived(url, time.Now(), "x.warc.gz", 0) }},
		"failed": {2 * time.Second, func(r *Renderer, url string) { r.Archived(url, time.Time{}, "", 0) }},
		"lost":   {maxSync, func(*Renderer, string) {}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, url := quiet(t.TempDir()), weburl.MustParse("http://a.example/x")
				defer r.Close()
				r.Coming(url.String())
				time.AfterFunc(c.after, func() { c.end(r, url.String()) })
				begun := time.Now()
				_, err := r.Read(t.Context(), url)
				if took := time.Since(begun); !errors.Is(err, ErrAbsent) || took != c.after {
					t.Errorf("%v after %v, want %v", err, took, c.after)
				}
			})
		})
	}
}

// A page is shown again once something has come of what it lacked.
func TestAPageLacksUntilSomethingComes(t *testing.T) {
	r := quiet(t.TempDir())
	defer r.Close()
	const page = "http://a.example/"
	if r.Lacks(page) {
		t.Error("a page that was never shown lacks something")
	}
	r.lacked(page, []string{page + "1", page + "2"})
	if !r.Lacks(page) {
		t.Error("nothing has come, and it would be shown")
	}
	r.Archived(page+"2", time.Now(), "x.warc.gz", 0)
	if r.Lacks(page) {
		t.Error("something has come, and it is not shown")
	}
	r.lacked(page, nil)
	if len(r.waiting) > 0 {
		t.Error("a page that lacks nothing is remembered")
	}
}

// The latest capture counts, whatever comes in which order.
func TestTheLatestCaptureIsFound(t *testing.T) {
	r, now := quiet(t.TempDir()), time.Unix(1_000_000, 0)
	defer r.Close()
	r.Archived("http://a.example/", now, "b.warc.gz", 7)
	r.Archived("http://a.example/", now.Add(-time.Hour), "a.warc.gz", 3)
	r.Archived("http://a.example/feed?t=1764200000", now, "c.warc.gz", 9)
	if e, known := r.find("http://a.example/feed?t=1764200999"); !known || e.Offset != 9 {
		t.Errorf("of a URL that is asked for under another time: %v %+v", known, e)
	}
	if e, known := r.find("http://a.example/"); !known || e.Filename != "b.warc.gz" || e.Offset != 7 {
		t.Errorf("%v %+v", known, e)
	}
}
