package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"henro/actors/admission"
	"henro/actors/known"
	"henro/actors/protocol"
	"henro/actors/robots"
	"henro/actors/scope"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// ScopeAsked asks the Master for the rules as they are now, with all seeds. It is answered by protocol.ScopeChanged.
type ScopeAsked struct{}

// Why asks every rule about a URL: the scope, traps, the stop list, robots.txt. From is the page that links to it and
// depth the links from its seed, if they are known.
func (n *Node) Why(ctx context.Context, url, from string, depth int) ([]admission.Finding, error) {
	now, err := Ask[*protocol.ScopeChanged](ctx, n, &ScopeAsked{})
	if err != nil {
		return nil, err
	}
	return Why(n.state, now.Rules, &n.o.Hosts.Admission, &admission.Question{From: from, Depth: depth}, url)
}

// Why asks every rule about a URL, of a state that is open, running or not. Without rules the scope is not judged: it
// is not on disk.
func Why(state *store.State, rules *scope.Rules, taken *admission.Rules, q *admission.Question, raw string,
) (_ []admission.Finding, err error) {
	if q.URL, err = weburl.Parse(raw); err != nil {
		return nil, fmt.Errorf("why %q: %w", raw, err)
	}
	q.Scope, q.Rules, q.Now = rules, taken, time.Now()
	host := q.URL.Host()
	disk := state.Partitions[state.PartitionOf(host)]
	if q.Stops, err = known.StopList(disk, host); err != nil {
		return nil, err
	}
	sessions, err := known.Sessions(disk, host)
	if err != nil {
		return nil, err
	}
	q.Sessions = &sessions
	urls, err := known.URLRules(disk, host)
	if err != nil {
		return nil, err
	}
	q.URLRules = &urls
	if key, url := urls.Keys().Of(q.URL.String()), fingerprint.URL(q.URL.String()); key != url {
		if q.Form, err = known.Form(disk, host, key); err != nil {
			return nil, err
		}
	}
	record, err := disk.Host(store.IDOf(host))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if len(record.Robots) == 0 && !record.AskedAt.IsZero() {
		q.Failure = record.Failure.Cause().String()
	}
	if len(record.Robots) > 0 && q.Now.Before(record.RobotsUntil) {
		q.Robots = new(robots.Rules)
		if err := q.Robots.UnmarshalBinary(record.Robots); err != nil {
			return nil, fmt.Errorf("robots.txt of %s: %w", host, err)
		}
	}
	return admission.Why(q), nil
}
