package master

import (
	"context"
	"fmt"

	"henro/actors/reading"
)

// Reading is the crawl, to be read while its actors work on it.
func (n *Node) Reading() *reading.Crawl {
	return &reading.Crawl{Dir: n.o.Dir, State: n.state, Settings: n.settings(), Scope: n.seen.scope.Load()}
}

// FindWhy says why a URL or a host is not visited by this crawl.
func (n *Node) FindWhy(ctx context.Context, subject string) (*reading.WhyFound, error) {
	if subject == "" {
		return nil, wrong("of: want a URL or a host")
	}
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
