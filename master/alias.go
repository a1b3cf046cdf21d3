package master

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/alias"
	"henro/actors/console"
	"henro/actors/host"
	"henro/actors/protocol"
	"henro/messages/weburl"
)

type (
	// OrderAlias says of a host whom it stands for, whatever its pages show. It is answered by AliasOrdered when that
	// is on disk.
	OrderAlias struct{ Host, Of string } // as weburl.URL.Host has them; Of empty: for itself
	// AliasOrdered answers OrderAlias.
	AliasOrdered struct{}
)

// orderAlias writes it down; the rest follows from what is on disk. A host that others are mapped to stands for itself.
func (m *Master) orderAlias(ctx actor.Context, o *OrderAlias) {
	m.writeAlias(ctx, o.Host, o.Of, ctx.Sender())
	if o.Of != "" && alias.Representative(o.Host, o.Of) == o.Host { // its own evidence would say the opposite
		m.writeAlias(ctx, o.Of, "", nil)
	}
}

func (m *Master) writeAlias(ctx actor.Context, name, of string, reply *actor.PID) {
	order := alias.Order{Of: of, At: time.Now()}
	bytes, err := json.Marshal(order)
	if err != nil {
		panic(fmt.Errorf("order about %s: %w", name, err))
	}
	m.writeOrder(ctx, &protocol.Write{Notes: []protocol.Note{{Host: name, Name: host.OrderNote, Bytes: bytes}}},
		&orderTag{reply, name, &protocol.AliasOrdered{Order: order}, &AliasOrdered{}})
}

// OrderAlias says of a host, scheme://name[:port], whom it stands for; empty: for itself.
func (n *Node) OrderAlias(ctx context.Context, host, of string) (posted AliasPosted, err error) {
	for _, name := range []*string{&host, &of} {
		if *name == "" && name == &of {
			break
		}
		u, err := weburl.Parse(*name)
		if err != nil || !strings.Contains(*name, "://") {
			return posted, fmt.Errorf("host %q: want scheme://name", *name)
		}
		*name = u.Host()
	}
	if host == of {
		return posted, fmt.Errorf("host %s: an alias has another name", host)
	}
	c := n.Reading()
	for next, hops := of, 0; next != "" && hops < 16; hops++ {
		if next == host {
			return posted, fmt.Errorf("%s is an alias of %s: henro host alias --forget %s first", of, host, of)
		}
		if _, next, err = c.Alias(next); err != nil {
			return posted, err
		}
	}
	_, err = Ask[*AliasOrdered](ctx, n, &OrderAlias{host, of})
	return AliasPosted{host, of}, err
}

// AliasPosted is the body of POST /api/aliases.
type AliasPosted struct {
	Host string `json:"host"` // scheme://name[:port]
	Of   string `json:"of"`   // likewise, the one that is visited in its place; empty: it stands for itself
}

// postAlias answers with the AliasPosted, in canonical form, once it is on disk.
func (n *Node) postAlias(w http.ResponseWriter, r *http.Request) {
	var posted AliasPosted
	if !read(w, r, "the hosts", &posted) {
		return
	}
	done, err := n.OrderAlias(r.Context(), posted.Host, posted.Of)
	if err != nil {
		console.Fail(w, http.StatusBadRequest, err)
		return
	}
	reply(w, done, nil)
}
