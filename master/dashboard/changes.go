package dashboard

import (
	"net/http"
	"path/filepath"

	"henro/master/watchlist"
	"henro/store/report/changes"
)

// changesShown is how many of the latest changes a page shows.
const changesShown = 50

// changed shows what henro feed has found lately, or with ?noise=true what it held for noise.
func (d *Dashboard) changed(r *http.Request, _ *page) (any, error) {
	recent, noise := changes.Recent, r.FormValue("noise") == "true"
	if noise {
		recent = changes.RecentNoise
	}
	latest, err := recent(filepath.Join(d.crawl.Options().Dir, changes.Folder), changesShown)
	return struct {
		Changes      []changes.Change
		Noise, Teach bool
	}{latest, noise, d.crawl.Options().Watched != nil}, err
}

// watched shows the list that is watched.
func (d *Dashboard) watched(r *http.Request, _ *page) (any, error) {
	return watchlist.Show(d.crawl.Options().Watched, d.crawl.Reading(), r), nil
}
