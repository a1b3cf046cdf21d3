package master

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/console"
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

// Exclude keeps a host from being asked, or lets it in again. It is named as scheme://name[:port].
func (n *Node) Exclude(ctx context.Context, host string, on bool) error {
	u, err := weburl.Parse(host)
	if err != nil {
		return fmt.Errorf("host %q: %w", host, err)
	}
	_, err = Ask[*HostExcluded](ctx, n, &ExcludeHost{Host: u.Host(), On: on})
	return err
}

// HostPosted is the body of POST /api/hosts/exclude and /api/hosts/admit.
type HostPosted struct {
	Host string `json:"host"` // scheme://name[:port]
}

// postHost answers with the HostPosted, in canonical form, once it is on disk.
func (n *Node) postHost(on bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var posted HostPosted
		if !read(w, r, "the host", &posted) {
			return
		}
		u, err := weburl.Parse(posted.Host)
		if err != nil {
			console.Fail(w, http.StatusBadRequest, fmt.Errorf("host %q: want scheme://name: %w", posted.Host, err))
			return
		}
		reply(w, HostPosted{u.Host()}, n.Exclude(r.Context(), u.Host(), on))
	}
}
