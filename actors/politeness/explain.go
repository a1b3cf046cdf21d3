package politeness

import (
	"math"
	"strconv"

	"henro/messages/speech"
)

// Explain says why a host is asked every Interval, and with the verdict whether that keeps its timetable.
func (s *State) Explain(o *Options, verdict Verdict) speech.Sentence {
	if s.Timetable.load == (Load{}) {
		return speech.Say("one request in %s: %s; %d pages, none with a timetable", s.Interval(o), s.paced(o),
			s.Timetable.pages)
	}
	var room speech.Sentence
	if r := s.R(); !math.IsInf(r, 1) {
		room = speech.Say(" (R = %s, S/C = %s)", ratio(r), ratio(o.Ratio()))
	}
	return speech.Say("one request in %s: %s; the timetable of %d pages needs one in %s: %s%s",
		s.Interval(o), s.paced(o), s.Timetable.pages, s.Timetable.Upper(), speech.Say(verdict.String()), room)
}

// ratio writes a ratio with three significant digits and without an exponent.
func ratio(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // it was written here
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// paced says which term of the interval is the largest.
func (s *State) paced(o *Options) speech.Sentence {
	interval, pace := s.Interval(o), o.Pace(s.Parallel())
	floor, resources, delay := o.floor(s.Timetable.pages), times(s.took, pace), min(s.crawlDelay, o.MaxCrawlDelay)
	switch {
	case s.dead:
		return speech.Say("%d visits in a row found no host: it is given up, but for probes", s.absences)
	case s.backoff(o) == interval && s.failures > 0:
		return speech.Say("it rests, at level %d of failures", s.failures)
	case o.Floor == 0:
		return speech.Say("hosts of one's own are not paced")
	case resources == interval:
		return speech.Say("%.4g times the %s that the latest fetch took", pace, s.took)
	case delay == interval && s.crawlDelay > o.MaxCrawlDelay:
		return speech.Say("its Crawl-delay of %s, of which no more is obeyed", s.crawlDelay)
	case delay == interval && delay > floor:
		return speech.Say("its Crawl-delay")
	case floor != o.Floor:
		return speech.Say("the floor for hosts of more than %d pages", o.LargeHostPages)
	}
	return speech.Say("the floor")
}
