package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/messages"
)

// Traces lets readers of HTTP look into the mailboxes of nodes.
type Traces struct {
	System *actor.ActorSystem
	// the Tracings of the node of that name, or of all
	Nodes func(ctx context.Context, node string) ([]*actor.PID, error)
}

// Routes of traces:
//
//	GET /api/trace   what nodes remember, and with follow what happens, as lines of JSON
func (t *Traces) Routes() []Route {
	return []Route{{Pattern: "GET /api/trace", AtOnce: traceReaders, Serve: t.serve}}
}

// TraceLine is a line of the answer of GET /api/trace: one of an event, a row, the events of the node for which there
// was no room so far, or an error.
type TraceLine struct {
	Node    string          `json:"node,omitempty"`
	Event   json.RawMessage `json:"event,omitempty"` // floor.TraceEvent
	Row     json.RawMessage `json:"row,omitempty"`   // floor.Row
	Dropped uint64          `json:"dropped,omitempty"`
	Error   string          `json:"error,omitempty"`
}

const (
	traceMost    = 24 * time.Hour // bounds ?for=
	traceReaders = 16             // at once: each costs all nodes
)

// ErrNoNode is returned when no node has the name.
var ErrNoNode = errors.New("no node has this name")

// Log asks a node for the latest lines of its log, and returns them oldest first.
func (t *Traces) Log(ctx context.Context, node string, most int) ([]Line, error) {
	nodes, err := t.Nodes(ctx, node)
	if err == nil && len(nodes) != 1 {
		err = fmt.Errorf("%w: %q", ErrNoNode, node)
	}
	if err != nil {
		return nil, err
	}
	lines := []Line{}
	err = floor.ReadTraces(ctx, t.System, &messages.TraceAsked{Lines: uint32(most)},
		func() []*actor.PID { return nodes }, func(m *messages.TraceReported) error {
			for _, encoded := range m.Lines {
				var line Line
				if err := json.Unmarshal(encoded, &line); err != nil {
					return fmt.Errorf("a line of the log of %s: %w", node, err)
				}
				lines = append(lines, line)
			}
			return nil
		})
	return lines, err
}

// serve answers GET /api/trace with ?actor=, ?message=, ?about=, ?url=, ?every=, ?node=, ?recent=true, ?rows=N,
// and ?for=DURATION. Every line is a TraceLine.
func (t *Traces) serve(w http.ResponseWriter, r *http.Request) {
	asked, lasts, err := traceQuestion(r)
	if err != nil {
		Fail(w, http.StatusBadRequest, err)
		return
	}
	node := r.FormValue("node")
	nodes, err := t.Nodes(r.Context(), node)
	if err == nil && len(nodes) == 0 {
		err = fmt.Errorf("%w: %q", ErrNoNode, node)
	}
	if err != nil {
		Fail(w, http.StatusNotFound, err)
		return
	}
	ctx := r.Context()
	if lasts > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lasts)
		defer cancel()
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	encoder, flush := json.NewEncoder(w), http.NewResponseController(w)
	_ = flush.Flush() // the reader sees that it has begun
	dropped := map[string]uint64{}
	err = floor.ReadTraces(ctx, t.System, asked, func() []*actor.PID {
		if again, err := t.Nodes(ctx, node); err == nil {
			nodes = again
		}
		return nodes
	}, func(m *messages.TraceReported) error {
		var lines []TraceLine
		for _, row := range m.Rows {
			lines = append(lines, TraceLine{Node: m.Node, Row: row})
		}
		for _, event := range m.Events {
			lines = append(lines, TraceLine{Node: m.Node, Event: event})
		}
		if m.Dropped > dropped[m.Node] {
			dropped[m.Node] = m.Dropped
			lines = append(lines, TraceLine{Node: m.Node, Dropped: m.Dropped})
		}
		for i := range lines {
			if err := encoder.Encode(&lines[i]); err != nil {
				return err
			}
		}
		return flush.Flush()
	})
	if err != nil && ctx.Err() == nil {
		_ = encoder.Encode(&TraceLine{Error: err.Error()}) // if the reader is still there
	}
}

func traceQuestion(r *http.Request) (*messages.TraceAsked, time.Duration, error) {
	asked := &messages.TraceAsked{
		Actor: r.FormValue("actor"), Message: r.FormValue("message"), About: r.FormValue("about"),
		Url:    r.FormValue("url"),
		Recent: r.FormValue("recent") == "true",
	}
	every, err := strconv.ParseUint(cmp.Or(r.FormValue("every"), "1"), 10, 32)
	if err != nil {
		return nil, 0, errors.New("every: want a number")
	}
	rows, err := strconv.ParseUint(cmp.Or(r.FormValue("rows"), "0"), 10, 32)
	if err != nil {
		return nil, 0, errors.New("rows: want a number")
	}
	lasts, err := time.ParseDuration(cmp.Or(r.FormValue("for"), "0s"))
	if err != nil || lasts < 0 || lasts > traceMost {
		return nil, 0, fmt.Errorf("for: want a duration such as 30s, at most %v", traceMost)
	}
	asked.Every, asked.Rows = uint32(every), uint32(rows)
	if lasts > 0 {
		asked.ForNs = int64(30 * time.Second) // asked again while the reader is there
	}
	return asked, lasts, nil
}
