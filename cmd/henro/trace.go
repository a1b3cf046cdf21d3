package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/floor"
	"henro/cmd/config"
	"henro/messages/weburl"
)

// traceFlags are those of henro trace.
type traceFlags struct {
	control
	filter floor.Filter
	node   string
	follow bool
	lasts  time.Duration
	rows   int
	json   bool
}

func newTraceCommand() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use: "trace", Short: "Look into the mailboxes of the running nodes",
		Long: `Look into the mailboxes of the running nodes, through the master. Without --follow: which
mailboxes are longest, and what went wrong lately (failures, restarts, dead letters, messages of unknown kinds).
With it: every message that fits, when it has been handled, with its time in the mailbox and in the actor's
hands. --url tells the life of one URL on all nodes, from its admission to its commit.

Patterns may hold * and ?; one of an actor also fits the end of its name behind a slash. Events are chosen
where they happen; a reader that is too slow loses some, and is told how many.
`,
		Example: `  henro trace
  henro trace --follow --actor 'host/*.example.com' --message HostFacts
  henro trace --url https://example.org/a --for 1m
  henro trace --follow --node slave1 --every 100 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.filter.Actor, "actor", "",
		"only messages to actors whose name fits, such as host/*.example.com or partition/0 (`PATTERN`)")
	flags.StringVar(&f.filter.Message, "message", "",
		"only messages whose type fits, such as Write or *Batch (`PATTERN`)")
	flags.StringVar(&f.filter.About, "about", "",
		"only messages about this `WORD`: a host, a URL, the number of a lease")
	flags.StringVar(&f.filter.URL, "url", "",
		"the life of one `URL`: messages about it, its host and its leases; follows")
	flags.StringVar(&f.node, "node", "", "only the node of this `NAME`; all of them otherwise")
	flags.IntVar(&f.filter.Every, "every", 1, "one message in so many, at random")
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on until interrupted, a day at most")
	flags.DurationVar(&f.lasts, "for", 0, "follow for so long; 0: as --follow says")
	flags.IntVar(&f.rows, "rows", 20, "mailboxes to show of each node, the longest first")
	flags.BoolVar(&f.json, "json", false, "a line of JSON for each")
	return cmd
}

// reorder is how long lines of several nodes wait for those before them: nodes report every 200 ms.
const reorder = time.Second

func (f *traceFlags) run(ctx context.Context, out io.Writer) error {
	if f.filter.Every < 1 {
		return config.Usage("--every %d: want 1 or more", f.filter.Every)
	}
	if f.filter.URL != "" {
		u, err := weburl.Parse(f.filter.URL)
		if err != nil {
			return config.Usage("--url %q: %v", f.filter.URL, err)
		}
		f.filter.URL, f.follow = u.String(), true
	}
	return f.print(ctx, f.question(), out)
}

// question are the parameters of GET /api/trace.
func (f *traceFlags) question() url.Values {
	values := url.Values{"recent": {strconv.FormatBool(!f.follow || f.filter.URL != "")}}
	for name, value := range map[string]string{"actor": f.filter.Actor, "message": f.filter.Message,
		"about": f.filter.About, "url": f.filter.URL, "node": f.node} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if f.filter.Every > 1 {
		values.Set("every", strconv.Itoa(f.filter.Every))
	}
	if f.follow || f.lasts > 0 {
		values.Set("for", cmp.Or(f.lasts, 24*time.Hour).String())
	} else {
		values.Set("rows", strconv.Itoa(f.rows))
	}
	return values
}

// traceLine is a line of what GET /api/trace answers, console.TraceLine read.
type traceLine struct {
	Node    string            `json:"node,omitempty"`
	Event   *floor.TraceEvent `json:"event,omitempty"`
	Row     *floor.Row        `json:"row,omitempty"`
	Dropped uint64            `json:"dropped,omitempty"`
	Error   string            `json:"error,omitempty"`
}

// readLines hands on what the nodes answer through the master, until they end.
func (f *traceFlags) readLines(ctx context.Context, values url.Values, to chan<- traceLine) error {
	answer, err := f.open(ctx, http.MethodGet, "/api/trace?"+values.Encode(), nil)
	if err != nil {
		return err
	}
	defer answer.Close()
	for decoder := json.NewDecoder(answer); ; {
		var line traceLine
		switch err := decoder.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the trace broke off: %w", err)
		case line.Error != "":
			return errors.New(line.Error)
		}
		select {
		case to <- line:
		case <-ctx.Done():
			return nil
		}
	}
}

// print writes what the nodes answer.
func (f *traceFlags) print(ctx context.Context, values url.Values, out io.Writer) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, ended := make(chan traceLine, 1024), make(chan error, 1)
	go func() {
		defer close(lines)
		ended <- f.readLines(reading, values, lines)
	}()
	p := tracePrinter{out: out, json: f.json, url: f.filter.URL, nodes: map[string]bool{}}
	tick := time.NewTicker(reorder / 4)
	defer tick.Stop()
	for {
		select {
		case line, ok := <-lines:
			if ok {
				if err := p.take(&line); err != nil {
					return err
				}
				continue
			}
			p.flush(time.Time{})
			err := <-ended
			switch {
			case ctx.Err() != nil:
				return nil
			case err == nil && !p.shown && !f.json:
				fmt.Fprintln(out, "no mailbox and no event fits, and nothing went wrong lately")
			}
			return err
		case now := <-tick.C:
			p.flush(now.Add(-reorder))
		}
	}
}

// tracePrinter writes lines in the order of their time, whichever node they come from.
type tracePrinter struct {
	out    io.Writer
	json   bool
	url    string
	events []floor.TraceEvent // not written yet
	since  time.Time          // of the first event of a chain
	last   *floor.TraceEvent  // printed last
	alike  int                // events after it that say the same
	nodes  map[string]bool    // whose mailboxes were shown
	shown  bool               // something was shown
}

func (p *tracePrinter) take(line *traceLine) error {
	p.shown = true
	switch r := line.Row; {
	case p.json:
		if err := json.NewEncoder(p.out).Encode(line); err != nil {
			return fmt.Errorf("write the trace: %w", err)
		}
	case line.Event != nil:
		p.events = append(p.events, *line.Event)
	case r != nil:
		if !p.nodes[line.Node] {
			p.nodes[line.Node] = true
			fmt.Fprintf(p.out, "%s: the longest mailboxes\n%8s %10s  %s\n", line.Node, "waiting", "taken", "actor")
		}
		fmt.Fprintf(p.out, "%8d %10d  %s\n", r.Queue, r.Taken, r.Actor)
	case line.Dropped > 0:
		fmt.Fprintf(p.out,
			"%s: %d events so far came faster than they could be shown; narrow the filter or sample with --every\n",
			line.Node, line.Dropped)
	}
	return nil
}

// flush writes what happened before a moment; the zero moment is the end.
func (p *tracePrinter) flush(before time.Time) {
	slices.SortStableFunc(p.events, func(a, b floor.TraceEvent) int {
		if a.Node == b.Node {
			return cmp.Compare(a.Seq, b.Seq)
		}
		return a.At.Compare(b.At)
	})
	n := 0
	for n < len(p.events) && (before.IsZero() || p.events[n].At.Before(before)) {
		p.print(p.events[n])
		n++
	}
	p.events = slices.Delete(p.events, 0, n)
	if before.IsZero() {
		p.sum()
	}
}

// sum says how many events were like the last: the same message about many pages comes in a row.
func (p *tracePrinter) sum() {
	if p.alike > 0 {
		fmt.Fprintf(p.out, "%15s  and %d more like this\n", "", p.alike)
	}
	p.alike = 0
}

func (p *tracePrinter) print(event floor.TraceEvent) {
	e := &event
	if l := p.last; l != nil && l.Node == e.Node && l.Actor == e.Actor && l.Kind == e.Kind && l.Message == e.Message &&
		l.About == e.About && l.Sender == e.Sender {
		p.alike++
		return
	}
	p.sum()
	p.last = e
	at := e.At.Format("15:04:05.000000")
	if p.url != "" {
		if p.since.IsZero() {
			p.since = e.At
		}
		at = fmt.Sprintf("%+11.3fms", float64(e.At.Sub(p.since).Microseconds())/1000)
	}
	what := e.Message
	if e.Kind != floor.Handled {
		what = strings.ToUpper(e.Kind) + " " + e.Message
	}
	times := ""
	if e.Kind == floor.Handled {
		times = fmt.Sprintf("  waited %v, took %v, queue %d", short(e.Dwell), short(e.Took), e.Queue)
	}
	about := e.About
	if p.url != "" {
		about = p.rest(about)
	}
	if e.Sender != "" {
		what += " from " + e.Sender
	}
	fmt.Fprintf(p.out, "%s  %-10s %-36s  %s%s  %s", at, e.Node, e.Actor, what, times, about)
	if e.Err != "" {
		fmt.Fprintf(p.out, "  err=%q", e.Err)
	}
	fmt.Fprintln(p.out)
}

// rest is what an event is about, without the URL that was asked for, its host and serial numbers.
func (p *tracePrinter) rest(about string) string {
	words := strings.Fields(about)
	return strings.Join(slices.DeleteFunc(words, func(word string) bool {
		key, value, _ := strings.Cut(word, "=")
		return key == "serial" || key == "url" && value == p.url || key == "host" && strings.HasPrefix(p.url, value+"/")
	}), " ")
}

// short writes a span with three digits at most.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "?"
	case d < time.Microsecond:
		return d.String()
	case d < time.Millisecond:
		return d.Round(100 * time.Nanosecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
