// Package sequence makes a sequence diagram of what happened in the mailboxes of a crawl: one page for a browser, with
// nothing to load and nothing to ask.
//
// A recording is lines of JSON: a Head, then Lines, each with an event of a mailbox or, every few seconds, with what a
// mailbox held. The page draws actors as columns and messages as arrows between them, from the actor in whose handling
// a message was sent. Within a node that is known exactly (floor.TraceEvent.Cause). Between nodes the message is taken
// for sent by what its sender handled last before it came, by the clocks of both nodes, and is drawn as a broken line.
package sequence

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"henro/actors/floor"
)

// Head is the first line of a recording.
type Head struct {
	Recording string       `json:"recording"` // Format
	At        time.Time    `json:"at"`
	Filter    floor.Filter `json:"filter"`
}

// Format is the word by which a recording is known.
const Format = "henro mailboxes 1"

// Line is one line behind the head, as GET /api/trace answers it; one of Event, Row, Dropped and Error is set.
type Line struct {
	Node    string            `json:"node,omitempty"`
	Event   *floor.TraceEvent `json:"event,omitempty"`
	At      time.Time         `json:"at,omitzero"` // of Row
	Row     *floor.Row        `json:"row,omitempty"`
	Dropped uint64            `json:"dropped,omitempty"` // events of the node so far for which there was no room
	Error   string            `json:"error,omitempty"`   // in no recording
}

// MaxEvents bounds the events of a page: a browser holds 100,000 in some 200 MB.
const MaxEvents = 100_000

// ErrRecording is returned for a file that is none.
var ErrRecording = errors.New("not a recording of henro trace --record")

// Recording is what was read.
type Recording struct {
	Head    Head
	Events  []Message
	Stuck   []Stuck
	Dropped uint64
	Left    int // events beyond MaxEvents
}

// Message is an event with what caused it.
type Message struct {
	floor.TraceEvent
	By     int    `json:"by"`               // index of the message in whose handling it was sent; -1: unknown
	Guess  bool   `json:"guess,omitempty"`  // by the clocks of two nodes
	Source string `json:"source,omitempty"` // node and actor that sent it
}

// Stuck is an actor that handled the same message from one look to the next, with messages waiting.
type Stuck struct {
	Node  string    `json:"node"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	floor.Row
}

// Read reads a recording. A last line that is cut off is left out.
func Read(r io.Reader) (*Recording, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	rec := &Recording{}
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &rec.Head) != nil || rec.Head.Recording != Format {
		return nil, ErrRecording
	}
	dropped := map[string]uint64{}
	looks := map[string]*Stuck{}
	for lines.Scan() {
		var line Line
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			if lines.Scan() {
				return nil, fmt.Errorf("%w: %w", ErrRecording, err)
			}
			break
		}
		dropped[line.Node] = max(dropped[line.Node], line.Dropped)
		switch {
		case line.Row != nil:
			rec.look(looks, &line)
		case line.Event != nil && len(rec.Events) == MaxEvents:
			rec.Left++
		case line.Event != nil:
			rec.Events = append(rec.Events, Message{TraceEvent: *line.Event, By: -1})
		}
	}
	for _, n := range dropped {
		rec.Dropped += n
	}
	slices.SortStableFunc(rec.Events, func(a, b Message) int { return posted(&a).Compare(posted(&b)) })
	rec.link()
	return rec, lines.Err()
}

// posted is when a message came into the mailbox, as far as that is known.
func posted(m *Message) time.Time { return m.At.Add(-m.Took - max(m.Dwell, 0)) }

// look notes an actor that stands still.
func (r *Recording) look(looks map[string]*Stuck, line *Line) {
	key := line.Node + " " + line.Row.Actor
	last := looks[key]
	now := &Stuck{Node: line.Node, From: line.At, Until: line.At, Row: *line.Row}
	looks[key] = now
	if last == nil || last.Taken != now.Taken || now.Queue == 0 || last.Queue == 0 {
		return
	}
	now.From = last.From
	if i := slices.IndexFunc(r.Stuck, func(s Stuck) bool {
		return s.Node == now.Node && s.Actor == now.Actor && s.Taken == now.Taken
	}); i >= 0 {
		r.Stuck[i] = *now
		return
	}
	if len(r.Stuck) < 1000 {
		r.Stuck = append(r.Stuck, *now)
	}
}

// link finds who sent each message.
func (r *Recording) link() {
	type key struct {
		node string
		id   uint64
	}
	known := map[key]int{}
	byActor := map[string][]int{} // events of the actors of this name, in the order of their beginning
	for i := range r.Events {
		e := &r.Events[i]
		if e.ID > 0 {
			known[key{e.Node, e.ID}] = i
		}
		byActor[e.Actor] = append(byActor[e.Actor], i)
	}
	for i := range r.Events {
		e := &r.Events[i]
		switch {
		case e.From != "":
			e.Source = e.Node + " " + e.From
			if by, ok := known[key{e.Node, e.Cause}]; ok && e.Cause > 0 {
				e.By = by
			}
		case e.Sender != "" && !strings.HasPrefix(e.Sender, "future$"): // who waits for an answer outside of actors
			address, actor, remote := strings.Cut(e.Sender, "/")
			if !remote || !strings.Contains(address, ":") {
				e.Source = e.Node + " " + e.Sender
				continue
			}
			e.Source, e.By = address+" "+actor, -1
			at := posted(e)
			for _, j := range slices.Backward(byActor[actor]) {
				other := &r.Events[j]
				if other.Node != e.Node && !other.At.Add(-other.Took).After(at) {
					e.By, e.Guess, e.Source = j, true, other.Node+" "+actor
					break
				}
			}
		}
	}
}

//go:embed sequence.html
var page string

var pageTemplate = template.Must(template.New("sequence").Parse(page))

// Page writes the diagram.
func (r *Recording) Page(w io.Writer) error { return pageTemplate.Execute(w, r) }
