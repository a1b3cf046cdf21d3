package master

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/host"
	"henro/actors/protocol"
	"henro/messages/weburl"
)

type (
	// ExcludeHost keeps a host from being asked, or lets it in again. It is answered by HostExcluded when that is on
	// disk.
	ExcludeHost struct {
		Host string // scheme://name[:port]
		On   bool
	}
	// HostExcluded answers ExcludeHost.
	HostExcluded struct{}
)

// exclude writes it down; the rest follows from what is on disk: after the request under way, no other begins.
func (m *Master) exclude(ctx actor.Context, order *ExcludeHost) {
	entry := host.Exclusion(order.Host, time.Now())
	m.writeOrder(ctx, &protocol.Write{Stops: []protocol.Stop{{StopEntry: entry, Lifted: !order.On}}},
		&orderTag{ctx.Sender(), order.Host, &protocol.HostExcluded{Entry: entry, On: order.On}, &HostExcluded{}})
}

// Exclude keeps a host from being asked, or lets it in again. It is named as scheme://name[:port]; the answer has its
// canonical form.
func (n *Node) Exclude(ctx context.Context, host string, on bool) (*HostPosted, error) {
	u, err := weburl.Parse(host)
	if err != nil {
		return nil, wrong("host %q: want scheme://name: %w", host, err)
	}
	_, err = Ask[*HostExcluded](ctx, n, &ExcludeHost{Host: u.Host(), On: on})
	return &HostPosted{u.Host()}, err
}

// HostPosted is the body of POST /api/hosts/exclude and /api/hosts/admit.
type HostPosted struct {
	Host string `json:"host"` // scheme://name[:port]
}
