package master

import (
	"context"
	"strings"
	"time"

	"henro/actors/alias"
	"henro/messages/weburl"
)

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
		if next, err = c.Alias(next); err != nil {
			return nil, err
		}
	}
	_, err := ordered(ctx, n, o.Host, &alias.Decision{Of: o.Of, At: time.Now()})
	return o, err
}

// AliasPosted is the body of POST /api/aliases.
type AliasPosted struct {
	Host string `json:"host"` // scheme://name[:port]
	Of   string `json:"of"`   // likewise, the one that is visited in its place; empty: it stands for itself
}
