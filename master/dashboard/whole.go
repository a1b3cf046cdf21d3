package dashboard

import (
	"context"
	"errors"
	"net/http"

	"henro/actors/reading"
)

const (
	lackingShown = 100
	lackedShown  = 20 // requisites of one page
)

// wholeView is how many pages are whole, and some that are not.
type wholeView struct {
	reading.Wholeness
	Lacking []reading.PageMissing
	More    uint64 // pages that are not shown
}

// countWhole counts the pages that are whole and keeps the first that are not.
func (d *Dashboard) countWhole(ctx context.Context) (*wholeView, error) {
	v := &wholeView{}
	whole, err := d.crawl.FindMissing("", func(p *reading.PageMissing) error {
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

func (d *Dashboard) missing(r *http.Request, _ *page) (any, error) {
	return struct{ Whole *surveyed[wholeView] }{d.whole.await(r.Context())}, nil
}
