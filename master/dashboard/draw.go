package dashboard

import (
	"fmt"
	"html/template"
	"strings"
)

// Drawings are markup made of numbers alone, so nothing in them needs escaping. Colours come from the classes in the
// style sheet.

// spark draws how a figure went, without axes.
func spark(values []float64, tone string) template.HTML {
	const width, height = 120, 32
	return curve("spark "+tone, width, height, values)
}

// area is the same, large: what people without scripts see in the place of a chart.
func area(values []float64) template.HTML { return curve("area one", 960, 220, values) }

// curve draws values from left to right; there are always as many places, so that a young crawl begins at the left.
func curve(class string, width, height float64, values []float64) template.HTML {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	if len(values) < 2 || top == 0 {
		return template.HTML(fmt.Sprintf(`<svg class="%s" viewBox="0 0 %g %g" preserveAspectRatio="none" `+
			`aria-hidden="true"><path class="line" d="M0 %.1fH%g"/></svg>`, class, width, height, height-1, width))
	}
	var line strings.Builder
	step := width / float64(len(values)-1)
	for i, v := range values {
		fmt.Fprintf(&line, "%c%.1f %.1f", "ML"[min(i, 1)], float64(i)*step, height-1.5-(height-4)*max(v, 0)/top)
	}
	return template.HTML(fmt.Sprintf(`<svg class="%s" viewBox="0 0 %g %g" preserveAspectRatio="none" `+
		`aria-hidden="true"><path class="fill" d="%sL%g %gL0 %gZ"/><path class="line" d="%s"/></svg>`,
		class, width, height, line.String(), width, height, height, line.String()))
}

// bar draws a share.
func bar(share float64, tone string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="bar %s" viewBox="0 0 100 4" preserveAspectRatio="none" `+
		`aria-hidden="true"><rect class="rail" width="100" height="4"/><rect class="fill" width="%.2f" `+
		`height="4"/></svg>`,
		template.HTMLEscapeString(tone), 100*min(max(share, 0), 1)))
}
