package dashboard

import (
	"html/template"
	"net/http"
	"slices"
	"strings"

	"henro/actors/figures"
	"henro/master"
	"henro/store/chart"
)

// mannerOf is how the crawl treats hosts and pages.
func mannerOf(crawl Crawl) *master.Manner {
	o := crawl.Options().Hosts
	manner := master.MannerOf(&o)
	return &manner
}

// revisitView is the timetable of the crawl: figures 3 to 7 of Tamura and Kitsuregawa.
type revisitView struct {
	Report  *figures.Report
	Figures []drawing
}

// drawing is one figure with what it says.
type drawing struct {
	Name, Says string
	SVG        template.HTML
}

func (d *Dashboard) revisits(r *http.Request, _ *page) (any, error) {
	report, err := d.crawl.Report(r.Context())
	if err != nil {
		return nil, err
	}
	v := &revisitView{Report: report}
	if report.Pages.Visited == 0 {
		return v, nil
	}
	for _, f := range report.Figures(true) {
		var svg strings.Builder
		f.Chart.Title = "" // it is the heading
		if slices.ContainsFunc(f.Chart.Lines, func(l chart.Line) bool { return len(l.X) > 0 }) {
			if err := f.Chart.WriteSVG(&svg); err != nil {
				return nil, err
			}
		}
		v.Figures = append(v.Figures, drawing{f.Name, f.Says, template.HTML(svg.String())}) // package chart escapes its texts
	}
	return v, nil
}
