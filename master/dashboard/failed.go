package dashboard

import (
	"context"
	"net/http"

	"henro/store"
)

// failedShown is how many URLs of one cause are shown.
const failedShown = 200

// failedPages are URLs whose latest visit failed, by the word of its cause: of store.MaxErrors causes at most.
type failedPages map[string]*failedURLs

// failedURLs are those of one cause.
type failedURLs struct {
	Count uint64
	Pages []store.Page // at most failedShown of them
}

// More is how many are not shown.
func (u *failedURLs) More() uint64 { return u.Count - uint64(len(u.Pages)) }

// findFailed reads all pages.
func (d *Dashboard) findFailed(ctx context.Context) (*failedPages, error) {
	all := failedPages{}
	for _, disk := range d.crawl.Reading().State.Partitions {
		if err := disk.Pages.Each(func(page store.Page, _ store.Place) error {
			cause := page.Cause()
			if cause.IsZero() {
				return ctx.Err()
			}
			urls := all[cause.Word]
			if urls == nil {
				if len(all) >= store.MaxErrors {
					return ctx.Err()
				}
				urls = &failedURLs{}
				all[cause.Word] = urls
			}
			if urls.Count++; len(urls.Pages) < failedShown {
				urls.Pages = append(urls.Pages, page)
			}
			return ctx.Err()
		}); err != nil {
			return nil, err
		}
	}
	return &all, nil
}

// failedView shows the URLs of one cause.
type failedView struct {
	Cause string
	Found *surveyed[failedPages]
	URLs  *failedURLs
}

func (d *Dashboard) failed(r *http.Request, _ *page) (any, error) {
	v := &failedView{Cause: r.URL.Query().Get("cause"), Found: d.failures.await(r.Context())}
	v.Cause = v.Cause[:min(len(v.Cause), hostsNameLength)]
	if v.URLs = new(failedURLs); v.Found != nil && v.Found.View != nil {
		if urls := (*v.Found.View)[v.Cause]; urls != nil {
			v.URLs = urls
		}
	}
	return v, nil
}
