package slave

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/console"
	"henro/actors/floor"
)

// Desk answers questions about a slave over HTTP.
type Desk struct {
	System *actor.ActorSystem
	PID    *actor.PID // of the Slave
}

// Routes is the table of what a slave answers over HTTP, beside what every process does. docs/openapi.yaml describes
// each.
func (d *Desk) Routes() []console.Route {
	return []console.Route{
		{Pattern: "GET /api/slave", Serve: d.getSlave},
	}
}

// Traces lets readers look into the mailboxes of this slave.
func (d *Desk) Traces() *console.Traces {
	return &console.Traces{System: d.System, Nodes: func(context.Context, string) ([]*actor.PID, error) {
		return []*actor.PID{floor.TracingAt(d.System.Address())}, nil
	}}
}

// Ready says why the slave gets no work, if it gets none.
func (d *Desk) Ready(ctx context.Context) error {
	counts, err := d.counts(ctx)
	if err == nil && counts.Master == "" {
		err = errors.New("no master has welcomed this slave yet")
	}
	return err
}

func (d *Desk) counts(ctx context.Context) (*Counts, error) {
	timeout := 10 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	result, err := d.System.Root.RequestFuture(d.PID, &CountsAsked{}, timeout).Result()
	if err != nil {
		return nil, fmt.Errorf("ask the slave: %w", err)
	}
	counts, ok := result.(*Counts)
	if !ok {
		return nil, fmt.Errorf("ask the slave: it answered with %T", result)
	}
	return counts, nil
}

// getSlave answers with Counts.
func (d *Desk) getSlave(w http.ResponseWriter, r *http.Request) {
	counts, err := d.counts(r.Context())
	if err != nil {
		console.Fail(w, http.StatusServiceUnavailable, err)
		return
	}
	console.Reply(w, counts)
}
