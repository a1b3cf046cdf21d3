package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/master"
	"henro/master/lending"
	"henro/messages/visible"
)

// How often a crawl is asked, unless --every says so: as often as a person reads, and as often as a file should grow.
const (
	topLive  = time.Second
	topPlain = 10 * time.Second
)

func newTopCommand() *cobra.Command {
	var c control
	var every time.Duration
	cmd := &cobra.Command{
		Use: "top", Short: "Watch a running crawl", Args: cobra.NoArgs,
		Long: `Watch a running crawl: its pace, what waits, what went wrong, its slaves, and why nothing is
fetched if nothing is. Keys: p pauses and resumes, q leaves; the crawl goes on. Where the output is no
terminal, a line is written now and then.`,
		Example: "  henro top\n  henro top --master 127.0.0.1:7790 --every 5s\n  henro top >> crawl.txt",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 0 {
				return config.Usage("--every %v: want a duration such as 2s", every)
			}
			first := askTop(cmd.Context(), &c, http.MethodGet, "/api/status")
			if first.err != nil {
				return first.err
			}
			out := cmd.OutOrStdout()
			terminal, ok := config.Terminal(out)
			if !ok {
				return topLines(cmd.Context(), &c, out, orElse(every, topPlain), first)
			}
			ask := func(method, path string) tea.Cmd {
				return func() tea.Msg { return askTop(cmd.Context(), &c, method, path) }
			}
			_, err := tea.NewProgram(newTop(c.address, ask, orElse(every, topLive), first),
				tea.WithContext(cmd.Context()), tea.WithOutput(terminal)).Run()
			if cmd.Context().Err() != nil {
				return nil // interrupted: the terminal is as it was
			}
			return err
		},
	}
	c.register(cmd)
	cmd.Flags().DurationVar(&every, "every", 0,
		"how often the crawl is asked; 0 is every second on a terminal, every 10 s elsewhere")
	return cmd
}

func orElse(every, standard time.Duration) time.Duration {
	if every == 0 {
		return standard
	}
	return every
}

// topAnswer is an answer of the master.
type topAnswer struct {
	status *master.Status
	at     time.Time
	err    error
	polled bool // asked by the clock, not by a key
}

// topTick asks again.
type topTick struct{}

func askTop(ctx context.Context, c *control, method, path string) topAnswer {
	answer := topAnswer{status: new(master.Status), polled: method == http.MethodGet}
	answer.err = c.ask(ctx, method, path, nil, answer.status)
	answer.at = time.Now()
	return answer
}

// topLines writes a line now and then until the context ends, or the master does not answer any more.
func topLines(ctx context.Context, c *control, out io.Writer, every time.Duration, answer topAnswer) error {
	var pace topPace
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for answer.err == nil {
		pace.take(answer.status, answer.at)
		if _, err := fmt.Fprintln(out, answer.at.Format(time.TimeOnly),
			visible.Line(progressWords(answer.status, pace.now(), answer.at))); err != nil {
			return fmt.Errorf("write a line: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			answer = askTop(ctx, c, http.MethodGet, "/api/status")
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return answer.err
}

// topPace is the visits per second between answers.
type topPace struct {
	visits uint64
	at     time.Time // of the last answer; zero: there was none
	rates  []float64 // the latest, at most paceShown
}

// paceShown is how many rates the curve shows.
const paceShown = 40

func (p *topPace) take(s *master.Status, at time.Time) {
	visits := s.Totals.Visits()
	rate := s.PerSecond // of the whole run, until there are two answers
	if !p.at.IsZero() {
		rate = float64(visits-min(visits, p.visits)) / max(at.Sub(p.at).Seconds(), 0.001)
	}
	p.visits, p.at = visits, at
	p.rates = append(p.rates, rate)
	p.rates = p.rates[max(0, len(p.rates)-paceShown):]
}

func (p *topPace) now() float64 {
	if len(p.rates) == 0 {
		return 0
	}
	return p.rates[len(p.rates)-1]
}

// curve draws the rates, the highest as a whole block.
func (p *topPace) curve() string {
	most := 0.0
	for _, rate := range p.rates {
		most = max(most, rate)
	}
	steps := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, rate := range p.rates {
		b.WriteRune(steps[int(rate/max(most, 1e-9)*float64(len(steps)-1)+0.5)])
	}
	return b.String()
}

// top is what henro top shows. Its messages are answers, ticks, keys and sizes of the window.
type top struct {
	address string
	ask     func(method, path string) tea.Cmd // its message is a topAnswer
	every   time.Duration

	status *master.Status // the latest that came
	err    error          // why the latest did not come
	pace   topPace
	height int // lines of the window; 0: not known
}

func newTop(address string, ask func(method, path string) tea.Cmd, every time.Duration, first topAnswer) *top {
	m := &top{address: address, ask: ask, every: every}
	m.take(first)
	return m
}

// Init waits for the next question.
func (m *top) Init() tea.Cmd { return m.wait() }

func (m *top) wait() tea.Cmd { return tea.Tick(m.every, func(time.Time) tea.Msg { return topTick{} }) }

// Update takes one message.
func (m *top) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := message.(type) {
	case tea.WindowSizeMsg:
		m.height = msg.Height
	case topTick:
		return m, m.ask(http.MethodGet, "/api/status")
	case topAnswer:
		m.take(msg)
		if msg.polled {
			return m, m.wait()
		}
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "esc", "ctrl+c":
			return m, tea.Quit
		case "p":
			if m.status.State == master.Paused {
				return m, m.ask(http.MethodPost, "/api/resume")
			}
			return m, m.ask(http.MethodPost, "/api/pause")
		}
	}
	return m, nil
}

func (m *top) take(answer topAnswer) {
	if m.err = answer.err; m.err != nil {
		return
	}
	m.status = answer.status
	if answer.polled { // the answer to a key comes a moment after another: too soon for a pace
		m.pace.take(answer.status, answer.at)
	}
}

// View shows the whole window.
func (m *top) View() tea.View {
	view := tea.NewView(m.text())
	view.AltScreen = true
	return view
}

// text is what the window holds. What came from elsewhere cannot move the cursor.
func (m *top) text() string {
	lines := m.lines()
	keys := "q leave   p " + map[bool]string{true: "resume", false: "pause"}[m.status.State == master.Paused]
	if m.height > 1 {
		lines = lines[:min(len(lines), m.height-2)]
	}
	for i := range lines {
		lines[i] = strings.TrimRight(visible.Line(lines[i]), " ")
	}
	return strings.Join(append(lines, "", keys), "\n")
}

func (m *top) lines() []string {
	s := m.status
	state := string(s.State)
	if s.End != "" {
		state += ": " + string(s.End)
	}
	resting := ""
	if s.NextReady.After(m.pace.at) {
		resting = ", next in " + s.NextReady.Sub(m.pace.at).Round(time.Second).String()
	}
	run := time.Duration(s.Seconds * float64(time.Second)).Round(time.Second)
	lines := []string{
		fmt.Sprintf("henro %s   %s   for %s, at %s", m.address, state, run, m.pace.at.Format(time.TimeOnly)), "",
		fmt.Sprintf("pace      %.1f/s  %s", m.pace.now(), m.pace.curve()),
		fmt.Sprintf("pages     %d, %d requisites, %d revisits, %.1f/s in this run", s.Totals.Pages, s.Totals.Requisites,
			s.Totals.Revisits, s.PerSecond),
		fmt.Sprintf("frontier  %d waiting, %d due, of %d known URLs", s.Waiting, s.Due, s.Known),
		fmt.Sprintf("hosts     %d, %d ready, %d lent%s", s.Hosts, s.Ready, s.Leases, resting),
		fmt.Sprintf("payload   %s, %d links", sizeWords(s.Totals.Bytes), s.Totals.Links),
	}
	if f := s.Forecast; f != nil {
		lines = append(lines, "end       "+f.Says().String())
		if !f.Bound.IsZero() {
			lines = append(lines, "bound     "+f.Bound.String())
		}
	}
	if !s.Stalled.IsZero() {
		lines = append(lines, "stalled   "+s.Stalled.String())
	}
	if m.err != nil {
		lines = append(lines, "no word   "+m.err.Error())
	}
	lines = append(lines, "")
	lines = append(lines, topSlaves(s.Slaves)...)
	if failed := errorLines(s.Totals.Errors); len(failed) > 0 {
		lines = append(append(lines, "", "errors"), failed...)
	}
	return lines
}

// topSlaves is a table of the slaves, cut where the window ends.
func topSlaves(slaves []lending.SlaveStatus) []string {
	if len(slaves) == 0 {
		return []string{"no slave has joined yet"}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "slave\tstate\thosts\tconnections\tunstored\tmemory\tsilent")
	for _, s := range slaves {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d/%d\t%d\t%.0f MB\t%s\n", visible.Line(s.Name), s.State, s.Leases,
			s.UnderWay, s.Connections, s.Unstored, float64(s.Memory)/1e6, s.Silent)
	}
	_ = w.Flush() // a string takes everything
	return strings.Split(strings.TrimSpace(b.String()), "\n")
}
