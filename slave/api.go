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

// API is what a slave answers over HTTP.
type API struct {
	System *actor.ActorSystem
	PID    *actor.PID // of the Slave
}

// Routes is the table of what a slave answers over HTTP, beside what every process does. docs/openapi.yaml describes
// each.
func (a *API) Routes() []console.Route {
	return []console.Route{
		{Pattern: "GET /api/slave", Serve: a.getSlave},
	}
}

// Traces lets readers look into the mailboxes of this slave.
func (a *API) Traces() *console.Traces {
	return &console.Traces{System: a.System, Nodes: func(context.Context, string) ([]*actor.PID, error) {
		return []*actor.PID{floor.TracingAt(a.System.Address())}, nil
	}}
}

// Ready says why the slave gets no work, if it gets none.
func (a *API) Ready(ctx context.Context) error {
	counts, err := a.Counts(ctx)
	if err == nil && counts.Master == "" {
		err = errors.New("no master has welcomed this slave yet")
	}
	return err
}

// Counts asks the slave what it has done.
func (a *API) Counts(ctx context.Context) (*Counts, error) {
	timeout := 10 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	result, err := a.System.Root.RequestFuture(a.PID, &CountsAsked{}, timeout).Result()
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
func (a *API) getSlave(w http.ResponseWriter, r *http.Request) {
	counts, err := a.Counts(r.Context())
	if err != nil {
		console.Fail(w, http.StatusServiceUnavailable, err)
		return
	}
	console.Reply(w, counts)
}
