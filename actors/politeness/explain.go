package politeness

import (
	"fmt"
	"math"
	"strings"

	"henro/actors/revisit"
)

// Explain says in words why a host is asked every Interval, and whether that keeps its timetable, for people who ask.
func (s *State) Explain(o *Options) string {
	var b strings.Builder
	interval := s.Interval(o)
	fmt.Fprintf(&b, "one request in %s", revisit.Words(interval))
	floor, resources, delay := o.floor(s.pages), times(s.took, o.Ratio()), min(s.crawlDelay, o.MaxCrawlDelay)
	switch {
	case s.dead:
		fmt.Fprintf(&b, ": nobody has been there for %d visits in a row, it is given up but for probes", s.absences)
	case s.backoff(o) == interval && s.failures > 0:
		fmt.Fprintf(&b, ": it rests, at level %d of failures", s.failures)
	case o.Floor == 0:
		b.WriteString(": hosts of one's own are not paced")
	case resources == interval:
		fmt.Fprintf(&b, ": %.4g times the %s that the latest fetch took", o.Ratio(), revisit.Words(s.took))
	case delay == interval && s.crawlDelay > o.MaxCrawlDelay:
		fmt.Fprintf(&b, ": its Crawl-delay of %s, of which no more is obeyed", revisit.Words(s.crawlDelay))
	case delay == interval && delay > floor:
		b.WriteString(": its Crawl-delay")
	case floor != o.Floor:
		fmt.Fprintf(&b, ": the floor for hosts of more than %d pages", o.LargeHostPages)
	default:
		b.WriteString(": the floor")
	}
	if s.load == (Load{}) {
		fmt.Fprintf(&b, "; %d pages, none with a timetable", s.pages)
		return b.String()
	}
	fmt.Fprintf(&b, "; the timetable of %d pages needs one in %s: %v", s.pages, revisit.Words(s.Upper()), s.Verdict(o))
	if r := s.R(); !math.IsInf(r, 1) {
		fmt.Fprintf(&b, " (R = %.3g, S/C = %.3g)", r, o.Ratio())
	}
	return b.String()
}
