package dashboard

import (
	"net/http"
	"path/filepath"

	"henro/store/report/changes"
)

// changesShown is how many of the latest changes a page shows.
const changesShown = 50

// changed shows what henro feed has found lately.
func (d *Dashboard) changed(*http.Request, *page) (any, error) {
	latest, err := changes.Recent(filepath.Join(d.crawl.Options().Dir, changes.Folder), changesShown)
	return struct{ Changes []changes.Change }{latest}, err
}
