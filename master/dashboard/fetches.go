package dashboard

import (
	"net/http"
	"path/filepath"

	"henro/master"
)

// fetchesShown is how many of the latest visits are shown.
const fetchesShown = 100

// fetchesView is the end of the fetch log.
type fetchesView struct {
	Fetches []master.Fetch // the latest first
	Failed  bool           // only those that failed
	File    string         // that has them all
}

func (d *Dashboard) fetches(r *http.Request, _ *page) (any, error) {
	v := &fetchesView{Failed: r.URL.Query().Get("only") == "failed",
		File: filepath.Join(d.crawl.Options().Dir, "logs", "fetch.jsonl")}
	var err error
	v.Fetches, err = d.crawl.Fetches(r.Context(), master.FetchesAsked{Most: fetchesShown, Failed: v.Failed})
	return v, err
}
