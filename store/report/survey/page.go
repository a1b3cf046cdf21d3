package survey

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"henro/store/report/chart"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("survey").Funcs(template.FuncMap{
	"count": grouped,
	"style": chart.Style,
	"fixed": func(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) },
	"share": func(f float64) string { return strconv.FormatFloat(100*f, 'f', 1, 64) + " %" },
	"whole": func(f float64) string { return grouped(int64(f)) },
}).Parse(pageText))

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// WriteHTML writes one page that needs nothing else: no script and no network.
func (s *Survey) WriteHTML(w io.Writer, name string) error {
	type table struct {
		Title string
		Rows  []Count
	}
	type drawn struct {
		Title string
		SVG   template.HTML
	}
	var figures []drawn
	for _, c := range []chart.Chart{
		bars("Pages by their links", "links", "pages", s.LinkCounts),
		bars("Pages by depth", "links from a seed", "pages", s.Depths),
		bars("Captures by size", "bytes of the record, compressed", "captures", s.Sizes),
		s.hostsChart(),
	} {
		var svg strings.Builder
		if err := c.WriteSVG(&svg); err != nil {
			return err
		}
		figures = append(figures, drawn{c.Title, template.HTML(svg.String())}) // of our own making, its texts escaped
	}
	if err := page.Execute(w, struct {
		*Survey
		Name    string
		Figures []drawn
		Tables  []table
	}{s, name, figures, []table{{"Answers at the last visit", s.Statuses}, {"Media types of captures", s.MediaTypes},
		{"Kinds of links", s.Kinds}, {"Languages, of a sample", s.Languages}}}); err != nil {
		return fmt.Errorf("write statistics: %w", err)
	}
	return nil
}

// bars draws counts of numbers: each bar begins at the least number of its bin.
func bars(title, x, y string, counts []Count) chart.Chart {
	line := chart.Line{Name: y}
	last := 0.0
	for i, c := range counts {
		from, to, binned := strings.Cut(c.Name, "–")
		at, err := strconv.ParseFloat(from, 64)
		if err != nil {
			continue
		}
		line.X, line.Y = append(line.X, at), append(line.Y, float64(c.Count))
		if last = at + 1; binned {
			if end, err := strconv.ParseFloat(to, 64); err == nil {
				last = end + 1
			}
		}
		if i == len(counts)-1 {
			line.X, line.Y = append(line.X, last), append(line.Y, 0)
		}
	}
	log := len(line.X) > 0 && last > 64 // bins of powers of two
	if log && line.X[0] == 0 {
		line.X[0] = 0.5 // those without any, where a logarithmic axis can show them
	}
	return chart.Chart{Title: title, X: x, Y: y, LogX: log, Bars: true, Narrow: true, Lines: []chart.Line{line}}
}

// hostsChart shows pages and links of the hosts with most pages, by rank.
func (s *Survey) hostsChart() chart.Chart {
	pages, links := chart.Line{Name: "pages parsed"}, chart.Line{Name: "links collected"}
	for i, h := range s.TopHosts {
		rank := float64(i + 1)
		pages.X, pages.Y = append(pages.X, rank), append(pages.Y, float64(max(h.Parsed, 1)))
		links.X, links.Y = append(links.X, rank), append(links.Y, float64(max(h.Links, 1)))
	}
	return chart.Chart{Title: fmt.Sprintf("The %d hosts with most pages", len(s.TopHosts)), X: "rank", Y: "of the host",
		LogY: true, Dots: true, Narrow: true, Lines: []chart.Line{pages, links}}
}
