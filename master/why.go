package master

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"henro/actors/admission"
	"henro/actors/console"
	"henro/actors/protocol"
	"henro/actors/reading"
)

// Reading is the crawl, to be read beside its actors. Whether a URL belongs to it is not judged.
func (n *Node) Reading() *reading.Crawl {
	return &reading.Crawl{Dir: n.o.Dir, State: n.state, Settings: n.settings()}
}

// ScopeAsked asks the Master for the rules as they are now, with all seeds. It is answered by protocol.ScopeChanged.
type ScopeAsked struct{}

// scoped is Reading with the rules of what belongs to the crawl.
func (n *Node) scoped(ctx context.Context) (*reading.Crawl, error) {
	now, err := Ask[*protocol.ScopeChanged](ctx, n, &ScopeAsked{})
	if err != nil {
		return nil, err
	}
	c := n.Reading()
	c.Scope = now.Rules
	return c, nil
}

// Why asks every rule about a URL: the scope, traps, the stop list, robots.txt. From is the page that links to it and
// depth the links from its seed, if they are known.
func (n *Node) Why(ctx context.Context, url, from string, depth int) ([]admission.Finding, error) {
	c, err := n.scoped(ctx)
	if err != nil {
		return nil, err
	}
	return c.Rules(&admission.Question{From: from, Depth: depth}, url)
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
	c, err := n.scoped(ctx)
	if err != nil {
		return nil, err
	}
	found, err := c.Why(ctx, subject)
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
