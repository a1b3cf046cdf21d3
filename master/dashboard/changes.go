package dashboard

import (
	"net/http"

	"henro/master/watchlist"
	"henro/master/week"
)

// changed shows what henro feed, henro watch or slaves have found lately, with ?beside=true what went beside what came,
// or with ?noise=true what was held for noise.
func (d *Dashboard) changed(r *http.Request, _ *page) (any, error) {
	return d.crawl.Changes().Page(r, d.crawl.Options().Watched != nil), nil
}

// showWeek shows at which hours of the week pages changed.
func showWeek(d *Dashboard, r *http.Request, p *page) (any, error) {
	return week.Show(r, d.crawl.Changes().Each, d.crawl.Options().Watched != nil, p.Now), nil
}

// watched shows the list that is watched.
func (d *Dashboard) watched(r *http.Request, _ *page) (any, error) {
	return watchlist.Show(d.crawl.Options().Watched, d.crawl.Reading(), r), nil
}
