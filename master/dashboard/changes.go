package dashboard

import (
	"net/http"
	"path/filepath"

	"henro/master/watchlist"
	"henro/master/week"
	"henro/store/report/changes"
)

// changesShown is how many of the latest changes a page shows.
const changesShown = 50

// changed shows what henro feed, henro watch or slaves have found lately, with ?beside=true what went beside what came,
// or with ?noise=true what was held for noise here.
func (d *Dashboard) changed(r *http.Request, _ *page) (_ any, err error) {
	o, latest, noise := d.crawl.Options(), d.crawl.Changes().Get(r.Context()), r.FormValue("noise") == "true"
	if latest = latest[:min(len(latest), changesShown)]; noise {
		latest, err = changes.RecentNoise(filepath.Join(o.Dir, changes.Folder), changesShown)
	}
	return map[string]any{"Changes": latest, "Noise": noise, "Teach": o.Watched != nil,
		"Beside": r.FormValue("beside") == "true"}, err
}

// week shows at which hours of the week pages changed.
func (d *Dashboard) week(r *http.Request, p *page) (any, error) {
	v := week.Show(r, d.crawl.Changes().Each, p.Now)
	v.Teach = d.crawl.Options().Watched != nil
	return v, nil
}

// watched shows the list that is watched.
func (d *Dashboard) watched(r *http.Request, _ *page) (any, error) {
	return watchlist.Show(d.crawl.Options().Watched, d.crawl.Reading(), r), nil
}
