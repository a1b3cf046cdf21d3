package dashboard

import (
	"net/http"
	"path/filepath"

	"henro/master/watchlist"
	"henro/store/report/changes"
)

// changesShown is how many of the latest changes a page shows.
const changesShown = 50

// changed shows what henro feed, henro watch or slaves have found lately, with ?beside=true what went beside what came,
// or with ?noise=true what was held for noise here.
func (d *Dashboard) changed(r *http.Request, _ *page) (_ any, err error) {
	v := struct {
		Changes              []changes.Change
		Noise, Teach, Beside bool
	}{nil, r.FormValue("noise") == "true", d.crawl.Options().Watched != nil, r.FormValue("beside") == "true"}
	if v.Noise {
		v.Changes, err = changes.RecentNoise(filepath.Join(d.crawl.Options().Dir, changes.Folder), changesShown)
	} else {
		v.Changes = d.crawl.Changes(r.Context())
	}
	return v, err
}

// watched shows the list that is watched.
func (d *Dashboard) watched(r *http.Request, _ *page) (any, error) {
	return watchlist.Show(d.crawl.Options().Watched, d.crawl.Reading(), r), nil
}
