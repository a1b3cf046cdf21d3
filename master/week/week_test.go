package week

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"henro/store/report/changes"
)

// A change counts in the hour of the weekday that it had where the clock hangs, and one that is too old, to come or of
// another site does not. Who goes where a cell leads finds its changes.
func TestChangesAreCountedByWeekdayAndHour(t *testing.T) {
	now := time.Date(2026, 3, 18, 12, 0, 0, 0, time.FixedZone("", 9*3600)) // a Wednesday
	var all []changes.Change
	add := func(page string, at ...time.Time) {
		for _, at := range at {
			all = append(all, changes.Change{ID: changes.IDOf(page, at, ""), URL: page, At: at.UTC()})
		}
	}
	const site = "https://news.test"
	monday := time.Date(2026, 3, 16, 0, 30, 0, 0, now.Location())
	add(site+"/a", monday, monday.AddDate(0, 0, -7), monday.Add(29*time.Minute))
	add(site+"/b", monday, monday.Add(-time.Hour), now.AddDate(0, 0, -29), now.Add(time.Minute))
	add("https://other.test/", monday)
	for n := range 60 {
		add(fmt.Sprint("https://many.test/", n), now.Add(-time.Duration(n)*time.Second))
	}
	each := func(_ context.Context, fn func(*changes.Change) bool) {
		for i := range all {
			if !fn(&all[i]) {
				return
			}
		}
	}
	show := func(path string) *View { return Show(httptest.NewRequest("GET", path, nil), each, false, now) }

	v := show("/week?name=" + site)
	first, last := &v.Hours[0].Days[0], &v.Hours[23].Days[6]
	if got := fmt.Sprint(v.Count, v.Pages, first.Count, first.Level, last.Count, last.Level, v.Hours[1].Days[0].Level,
		v.Day, len(v.Sites)); got != "5 2 4 5 1 2 0 -1 0" {
		t.Errorf("the site: %s", got)
	}
	if v.Since != now.AddDate(0, 0, -28) || v.Busiest.Day != 0 || v.Busiest.Hour != 0 {
		t.Errorf("since %v, most on %+v", v.Since, v.Busiest)
	}
	hour := show(v.Hours[0].Days[0].Path())
	if len(hour.Changes) != 4 || !hour.Changes[0].At.Equal(monday.Add(29*time.Minute)) || !hour.Hours[0].Days[0].Is {
		t.Errorf("the hour: %+v", hour.Changes)
	}
	if v := show(v.Spans()[0].Path()); v.Count != 4 || v.Weeks != 1 || v.Site != site {
		t.Errorf("one week: %d of %d", v.Count, v.Weeks)
	}
	v = show(v.All().Path())
	if v.Count != 66 || len(v.Sites) != 3 || v.Sites[0].Site != "https://many.test" || v.Sites[0].Count != 60 ||
		show(v.Sites[1].Path()).Count != 5 {
		t.Errorf("all: %d, %+v", v.Count, v.Sites)
	}
	if hour := show(v.Busiest.Path()); len(hour.Changes) != shown || hour.More != 9 ||
		!hour.Changes[0].At.Equal(now.Add(-time.Second)) {
		t.Errorf("the busiest hour: %d changes, %d more", len(hour.Changes), hour.More)
	}
	for _, path := range []string{"/week?day=7&hour=1", "/week?day=1", "/week?hour=4", "/week?day=1&hour=24",
		"/week?day=-1&hour=1&weeks=2", "/week?day=x&hour=y&weeks=1000000000000000000000"} {
		if v := show(path); v.Day != -1 || v.Weeks != standard || v.Count != 66 {
			t.Errorf("%s: %+v", path, v.Choice)
		}
	}
	all = nil
	if v := show("/week"); v.Count != 0 || v.Since != now.AddDate(0, 0, -28) {
		t.Errorf("without changes: %d since %v", v.Count, v.Since)
	}
}
