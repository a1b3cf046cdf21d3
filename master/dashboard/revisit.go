package dashboard

import (
	"html/template"
	"net/http"
	"slices"
	"strings"

	"henro/actors/figures"
	"henro/messages/speech"
	"henro/store/report/chart"
)

// revisitView is the timetable of the crawl: figures 3 to 7 of Tamura and Kitsuregawa.
type revisitView struct {
	Read    *surveyed[figures.Report] // nil: it is being read for the first time
	Figures []drawing
}

// drawing is one figure with what it says.
type drawing struct {
	Name string
	Says speech.Sentence
	SVG  template.HTML
}

func (d *Dashboard) revisits(r *http.Request, p *page) (any, error) {
	v := &revisitView{Read: d.reports.await(r.Context())}
	if v.Read == nil || v.Read.Err != nil || v.Read.View.Pages.Visited == 0 {
		return v, nil
	}
	for _, f := range v.Read.View.Figures(true) {
		var svg strings.Builder
		p.words.label(&f.Chart)
		if slices.ContainsFunc(f.Chart.Series, func(l chart.Series) bool { return len(l.X) > 0 }) {
			if err := f.Chart.WriteSVG(&svg); err != nil {
				return nil, err
			}
		}
		// package chart escapes its texts
		v.Figures = append(v.Figures, drawing{f.Name, f.Says, template.HTML(svg.String())})
	}
	return v, nil
}

// label puts the words of a chart into this language, as far as there are any; its title is the heading above it.
func (w *words) label(c *chart.Chart) {
	c.Title, c.X, c.Y = "", w.say(speech.Say(c.X)), w.say(speech.Say(c.Y))
	for i := range c.Series {
		c.Series[i].Name = w.say(speech.Say(c.Series[i].Name))
	}
}
