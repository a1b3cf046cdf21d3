package master

import (
	"context"

	"henro/actors/protocol"
	"henro/messages/weburl"
)

// Exclude keeps a host from being asked, or lets it in again. It is named as scheme://name[:port]; the answer has its
// canonical form, once that is on disk.
func (n *Node) Exclude(ctx context.Context, host string, on bool) (*HostPosted, error) {
	u, err := weburl.Parse(host)
	if err != nil {
		return nil, wrong("host %q: want scheme://name: %w", host, err)
	}
	_, err = ordered(ctx, n, u.Host(), &protocol.SetExcluded{On: on})
	return &HostPosted{u.Host()}, err
}

// ordered gives a Host what an operator decided. It returns how many pages that moved, once it is on disk.
func ordered(ctx context.Context, n *Node, host string, order any) (count int, err error) {
	done, err := Ask[*protocol.OrderDone](ctx, n, &protocol.Ordered{Host: host, Order: order})
	if err != nil {
		return 0, err
	}
	return done.Count, done.Err
}

// HostPosted is the body of POST /api/hosts/exclude and /api/hosts/admit.
type HostPosted struct {
	Host string `json:"host"` // scheme://name[:port]
}
