package survey_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"henro/messages/weburl"
	"henro/store/report/survey"
	"henro/store/report/tables"
	"henro/store/report/tables/tablestest"
)

func TestTheSurveyIsWhatTheNumbersSay(t *testing.T) {
	web := tablestest.Web{Pages: 900, Out: 14, Hosts: 7}
	source := &tables.Source{State: tablestest.State(t, web), Stops: tablestest.Stops}
	got, err := survey.Take(context.Background(), source, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	visited, failed := 0, 0
	pages, links := map[string]float64{}, map[string]float64{}
	for i := range web.Pages {
		if !web.Visited(i) {
			continue
		}
		visited++
		if web.Status(i) == 404 {
			failed++
		}
		host := weburl.HostOf(web.URL(i))
		pages[host]++
		links[host] += float64(web.Out)
	}
	// Every page has as many links as any other, so over hosts the two rise together.
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"known", got.Known, int64(web.Pages)},
		{"parsed", got.Parsed, int64(visited)},
		{"waiting", got.Waiting, int64(web.Pages - visited)},
		{"links", got.Links, int64(visited * web.Out)},
		{"links per page", got.LinksPerPage.Mean, float64(web.Out)},
		{"their standard deviation", got.LinksPerPage.SD, 0.0},
		{"hosts", got.Hosts, int64(web.Hosts)},
		{"correlation", fmt.Sprintf("%.6f", got.Correlation), "1.000000"},
		{"most pages of a host", got.TopHosts[0].Parsed, int64(got.PagesPerHost.Most)},
		{"answers", fmt.Sprint(got.Statuses), fmt.Sprint([]survey.Count{{Name: "200", Count: int64(visited - failed)},
			{Name: "TIMEOUT", Count: int64(failed)}})},
		{"folders and hosts of the stop list", got.StopList, int64(1)},
		{"single URLs on it", got.Broken, int64(failed)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	mean, squares := float64(visited)/float64(web.Hosts), 0.0
	for _, n := range pages {
		squares += (n - mean) * (n - mean)
	}
	if want := math.Sqrt(squares / float64(web.Hosts-1)); math.Abs(got.PagesPerHost.SD-want) > 1e-9 {
		t.Errorf("standard deviation of pages per host: %v, want %v", got.PagesPerHost.SD, want)
	}
}
