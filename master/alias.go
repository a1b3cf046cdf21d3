package master

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/alias"
	"henro/actors/host"
	"henro/actors/protocol"
	"henro/messages/weburl"
)

type (
	// OrderAlias says whom a host stands for, whatever its pages show. AliasOrdered answers it when that is on disk.
	OrderAlias struct{ Host, Of string } // as weburl.URL.Host has them; Of empty: for itself
	// AliasOrdered answers OrderAlias.
	AliasOrdered struct{}
)

// orderAlias has the order written; the rest follows when it is on disk.
func (m *Master) orderAlias(ctx actor.Context, o *OrderAlias) {
	m.writeAlias(ctx, o.Host, o.Of, ctx.Sender())
	if o.Of != "" && alias.Representative(o.Host, o.Of) == o.Host { // by evidence Of would be the alias: it is not
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

// OrderAlias says whom a host stands for. It returns the order in canonical form, once it is on disk.
func (n *Node) OrderAlias(ctx context.Context, o *AliasPosted) (*AliasPosted, error) {
	for _, name := range []*string{&o.Host, &o.Of} {
		if *name == "" && name == &o.Of {
			break
		}
		u, err := weburl.Parse(*name)
		if err != nil || !strings.Contains(*name, "://") {
			return nil, wrong("host %q: want scheme://name", *name)
		}
		*name = u.Host()
	}
	if o.Host == o.Of {
		return nil, wrong("host %s: an alias has another name", o.Host)
	}
	c := n.Reading()
	for next, hops := o.Of, 0; next != "" && hops < 16; hops++ {
		if next == o.Host {
			return nil, wrong("%s is an alias of %s: henro host alias --forget %s first", o.Of, o.Host, o.Of)
		}
		var err error
		if _, next, err = c.Alias(next); err != nil {
			return nil, err
		}
	}
	_, err := Ask[*AliasOrdered](ctx, n, &OrderAlias{o.Host, o.Of})
	return o, err
}

// AliasPosted is the body of POST /api/aliases.
type AliasPosted struct {
	Host string `json:"host"` // scheme://name[:port]
	Of   string `json:"of"`   // likewise, the one that is visited in its place; empty: it stands for itself
}
