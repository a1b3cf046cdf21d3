package master

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"henro/actors/console"
	"henro/actors/reading"
)

// Reading is the crawl, to be read beside its actors.
func (n *Node) Reading() *reading.Crawl {
	return &reading.Crawl{Dir: n.o.Dir, State: n.state, Settings: n.settings(), Scope: n.seen.scope.Load()}
}

// getWhy answers ?of=URL|HOST with reading.WhyFound.
func (n *Node) getWhy(w http.ResponseWriter, r *http.Request) {
	subject := r.FormValue("of")
	if subject == "" {
		console.Fail(w, http.StatusBadRequest, errors.New("of: want a URL or a host"))
		return
	}
	found, err := n.FindWhy(r.Context(), subject)
	reply(w, found, err)
}

// FindWhy says why a URL or a host is not visited by this crawl.
func (n *Node) FindWhy(ctx context.Context, subject string) (*reading.WhyFound, error) {
	found, err := n.Reading().Why(ctx, subject)
	if err != nil {
		return nil, err
	}
	status, err := Ask[*Status](ctx, n, &StatusAsked{})
	switch {
	case err != nil:
		return nil, err
	case status.State != Running:
		found.Answer = fmt.Sprintf("the crawl is %s; %s", status.State, found.Answer)
	case !status.Stalled.IsZero():
		found.Answer += "; but " + status.Stalled.String()
	}
	return found, nil
}
