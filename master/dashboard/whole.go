package dashboard

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"henro/master"
)

// wholeness counts the pages that are whole and keeps the first that are not. The whole state is read for it: while
// somebody looks, and seldom enough to cost a fiftieth of a processor.
type wholeness struct {
	crawl  Crawl
	latest atomic.Pointer[wholeView] // nil: never counted
	wanted chan struct{}             // holds one when it is to be counted anew
}

const (
	wholeFreshFor = 10 * time.Second
	wholeEffort   = 50 // a count is left alone for so many times the time that it took
	lackingShown  = 100
	lackedShown   = 20 // requisites of one page
)

// wholeView is how many pages are whole, and some that are not.
type wholeView struct {
	master.Wholeness
	Lacking []master.PageMissing
	More    uint64 // pages that are not shown
	Failed  string // why it was not counted; empty: it was
}

func newWholeness(crawl Crawl) *wholeness {
	return &wholeness{crawl: crawl, wanted: make(chan struct{}, 1)}
}

// run counts when it is wanted, until the context ends.
func (w *wholeness) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wanted:
			view, err := w.count(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				view = &wholeView{Wholeness: master.Wholeness{At: time.Now()}, Failed: err.Error()}
			}
			w.latest.Store(view)
		}
	}
}

func (w *wholeness) count(ctx context.Context) (*wholeView, error) {
	v := &wholeView{}
	whole, err := master.FindMissing(w.crawl.State(), settingsOf(w.crawl), "", w.crawl.Options().Dir,
		func(p *master.PageMissing) error {
			if len(v.Lacking) < lackingShown {
				p.More += max(0, len(p.Missing)-lackedShown)
				p.Missing = p.Missing[:min(len(p.Missing), lackedShown)]
				v.Lacking = append(v.Lacking, *p)
			}
			return ctx.Err()
		})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	v.Wholeness, v.More = *whole, whole.Pages-whole.Whole-uint64(len(v.Lacking))
	return v, nil
}

// look returns the last count and has it made anew if it is old; nil: it is being counted for the first time.
func (w *wholeness) look() *wholeView {
	v := w.latest.Load()
	if v == nil || time.Since(v.At) > max(wholeFreshFor, time.Duration(wholeEffort*v.Seconds*float64(time.Second))) {
		select {
		case w.wanted <- struct{}{}:
		default: // it is being counted, or will be
		}
	}
	return v
}

func (d *Dashboard) missing(*http.Request, *page) (any, error) {
	return struct{ Whole *wholeView }{d.whole.look()}, nil
}
