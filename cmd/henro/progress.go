package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"henro/actors/admission"
	"henro/actors/protocol"
	"henro/actors/reading"
	"henro/cmd/config"
	"henro/master"
	"henro/messages/speech"
	"henro/messages/ticks"
	"henro/messages/visible"
)

// progress tells people how a crawl goes: a live line on a terminal, a plain line now and then elsewhere.
type progress struct {
	out   io.Writer
	live  bool
	every time.Duration
	mu    sync.Mutex // of out, with a live line, and of shown
	shown string     // the live line as it stands
}

// above returns what writes to a terminal above the live line, which is drawn again below.
func (p *progress) above(w io.Writer) io.Writer {
	if !p.live {
		return w
	}
	return writerAbove{p, w}
}

type writerAbove struct {
	p *progress
	w io.Writer
}

// Write writes whole lines.
func (a writerAbove) Write(lines []byte) (int, error) {
	if len(lines) == 0 {
		return 0, nil
	}
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	if a.p.shown != "" {
		fmt.Fprint(a.p.out, "\r\x1b[K")
		defer func() { fmt.Fprint(a.p.out, a.p.shown) }()
	}
	return a.w.Write(lines)
}

func newProgress(out io.Writer, mode string) *progress {
	p := &progress{out: out, every: 10 * time.Second}
	if terminal, ok := config.Terminal(out); ok {
		p.out, p.live, p.every = terminal, true, 500*time.Millisecond
	}
	if mode == "off" {
		p.every = 0
	}
	return p
}

// run writes lines until the context ends.
func (p *progress) run(ctx context.Context, node *master.Node) {
	if p.every == 0 {
		return
	}
	m := meter{at: time.Now()}
	for now := range ticks.Every(ctx, p.every) {
		if s, err := master.Ask[*master.Status](ctx, node, &master.StatusAsked{}); err == nil { // else: the end
			p.line(s, m.rate(s, now), now)
		}
	}
	if p.live {
		p.draw("")
	}
}

// meter measures the pace of a crawl from one look at it to the next.
type meter struct {
	visits uint64
	at     time.Time // of the last look; zero: there was none
}

// rate is in visits per second; at the first look it is that of the whole run.
func (m *meter) rate(s *master.Status, now time.Time) float64 {
	visits, rate := s.Totals.Visits(), s.PerSecond
	if !m.at.IsZero() {
		rate = float64(visits-min(visits, m.visits)) / max(now.Sub(m.at).Seconds(), 0.001)
	}
	*m = meter{visits, now}
	return rate
}

func (p *progress) line(s *master.Status, rate float64, now time.Time) {
	text := visible.Line(progressWords(s, rate, now))
	if p.live {
		p.draw(text)
		return
	}
	fmt.Fprintln(p.out, text)
}

func (p *progress) draw(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = text
	fmt.Fprint(p.out, "\r\x1b[K"+text)
}

// watch says how a crawl goes until the context ends, or the master does not answer any more.
func (c *control) watch(ctx context.Context, out io.Writer, every time.Duration) error {
	terminal, live := config.Terminal(out)
	var m meter
	for now := range ticks.FromNow(ctx, every) {
		var s master.Status
		if err := c.ask(ctx, http.MethodGet, "/api/status", nil, &s); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		if live {
			fmt.Fprint(terminal, "\x1b[H\x1b[J") // the window, empty
			printStatus(out, &s)
		} else if _, err := fmt.Fprintln(out, now.Format(time.TimeOnly),
			visible.Line(progressWords(&s, m.rate(&s, now), now))); err != nil {
			return fmt.Errorf("write a line: %w", err)
		}
	}
	return nil
}

// progressWords says in one line how a crawl goes.
func progressWords(s *master.Status, rate float64, now time.Time) string {
	waits := ""
	if s.Leases == 0 && !s.NextReady.IsZero() && s.NextReady.After(now) {
		waits = fmt.Sprintf(", next host in %s", s.NextReady.Sub(now).Round(time.Second))
	}
	if !s.Stalled.IsZero() {
		waits = ", " + s.Stalled.String()
	}
	if f := s.Forecast; f != nil && f.Hosts > 0 && !f.Endless {
		waits = fmt.Sprintf(", %s%s left%s", map[bool]string{true: "over "}[f.Grows], speech.Span(f.Left), waits)
	}
	var failed uint64
	for _, n := range s.Totals.Errors {
		failed += n
	}
	if s.Frontier != nil {
		waits = fmt.Sprintf(", %d dropped (%d came back)", s.Totals.Dropped, s.Totals.Returned) + waits
	}
	requisites := ""
	if s.Totals.Requisites > 0 {
		requisites = fmt.Sprintf(" and %d requisites", s.Totals.Requisites)
	}
	return fmt.Sprintf("%s: %d pages%s (%.0f/s), %d waiting, %d hosts (%d lent), %s, %d errors%s",
		s.State, s.Totals.Pages+s.Totals.Revisits, requisites, rate, s.Waiting, s.Hosts, s.Leases,
		sizeWords(s.Totals.Bytes), failed, waits)
}

// wholeWords says how many pages are whole; nothing if that was not counted.
func wholeWords(w *reading.Wholeness) string {
	if w == nil || w.Pages == 0 {
		return ""
	}
	scripts := ""
	if n := w.Reasons[reading.NotRun]; n > 0 {
		scripts = fmt.Sprintf("; the scripts that make %d were not run", n)
	}
	if n := w.Reasons[reading.NotReplayed]; n > 0 {
		scripts += fmt.Sprintf("; scripts of %d tried what cannot be replayed", n)
	}
	return fmt.Sprintf("%d of %d pages (%.2f %%)%s; henro missing lists the others", w.Whole, w.Pages, 100*w.Share(),
		scripts)
}

// identicalWords says what was not stored again; nothing if all was.
func identicalWords(t *protocol.Totals) string {
	if t.Identical == 0 {
		return ""
	}
	return fmt.Sprintf("%d answers had a payload that the archive held already: %s", t.Identical,
		sizeWords(t.IdenticalBytes))
}

// sizeWords writes a size as people say it.
func sizeWords(n uint64) string { return humanize.BytesN(n, 3) }

// printErrors lists what went wrong, the most frequent first, each with the latest visit that failed so.
func printErrors(w io.Writer, s *master.Status) {
	for _, line := range errorLines(s.Totals.Errors) {
		_, word, _ := strings.Cut(line, " × ")
		if at, known := s.Failures[word]; known {
			line += "  " + at.URL
			if at.Says != "" {
				line += ": " + at.Says
			}
		}
		fmt.Fprintln(w, "  "+line)
	}
}

// errorLines counts what went wrong, the most frequent first.
func errorLines(errors map[string]uint64) []string {
	reasons := slices.SortedFunc(maps.Keys(errors), func(a, b string) int {
		return cmp.Or(cmp.Compare(errors[b], errors[a]), cmp.Compare(a, b))
	})
	lines := make([]string, len(reasons))
	for i, reason := range reasons {
		lines[i] = fmt.Sprintf("%6d × %s", errors[reason], reason)
	}
	return lines
}

// skipWords says in one line what was not taken, the most frequent first, and the share of pages that belong on the
// stop list.
func skipWords(t *protocol.Totals) string {
	counts := map[string]uint64{}
	for _, reason := range admission.All() {
		if n := t.Skipped[reason]; n > 0 {
			counts[reason.String()] = n
		}
	}
	var words []string
	for _, line := range errorLines(counts) {
		words = append(words, strings.TrimSpace(line))
	}
	if len(words) > 0 {
		words[len(words)-1] += fmt.Sprintf("; %.1f %% of the pages tried belong on the stop list", 100*t.StopShare())
	}
	return strings.Join(words, ", ")
}

// bar shows on a terminal how far something long has come.
type bar struct {
	out  io.Writer
	live bool
	at   time.Time // shown last
}

func newBar(out io.Writer) *bar {
	terminal, live := config.Terminal(out)
	return &bar{out: terminal, live: live}
}

func (b *bar) show(what string, done, all uint64) {
	if now := time.Now(); b.live && all > 0 && now.Sub(b.at) > 100*time.Millisecond {
		const width = 30
		filled := int(width * min(done, all) / all)
		fmt.Fprintf(b.out, "\r\x1b[K%s %s%s %d%%", what, strings.Repeat("█", filled), strings.Repeat("░", width-filled),
			100*min(done, all)/all)
		b.at = now
	}
}

// count shows how far something has come whose end is not known.
func (b *bar) count(what string, done int64, since time.Time) {
	if now := time.Now(); b.live && now.Sub(b.at) > 100*time.Millisecond {
		fmt.Fprintf(b.out, "\r\x1b[K%s: %d, %.0f/s", what, done, float64(done)/max(now.Sub(since).Seconds(), 0.001))
		b.at = now
	}
}

func (b *bar) end() {
	if b.live {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
