package figures

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"henro/store/report/chart"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"count":  count[int],
	"style":  chart.Style,
	"countu": count[uint64],
	"again":  func(r *Report) int { return r.Pages.Timed + r.Pages.Once },
	"share":  func(s float64) string { return fmt.Sprintf("%.1f %%", 100*s) },
	"over": func(part, of float64) float64 {
		if of <= 0 {
			return 1
		}
		return part / of
	},
	"perDay": PerDay,
	"every":  Every,
	"span":   Span,
}).Parse(pageText))

// WriteHTML writes one page that needs nothing else: no script, no network, light or dark as its reader likes it.
func (r *Report) WriteHTML(w io.Writer, name string) error {
	type drawn struct {
		Name, Says string
		SVG        template.HTML
	}
	var figures []drawn
	for _, f := range r.Figures(true) {
		var svg strings.Builder
		if err := f.Chart.WriteSVG(&svg); err != nil {
			return err
		}
		// of our own making, its texts escaped
		figures = append(figures, drawn{f.Name, f.Says.String(), template.HTML(svg.String())})
	}
	if err := page.Execute(w, struct {
		Name    string
		Report  *Report
		Figures []drawn
	}{name, r, figures}); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
