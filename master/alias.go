package master

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/alias"
	"henro/actors/console"
	"henro/actors/host"
	"henro/actors/known"
	"henro/actors/protocol"
	"henro/messages/speech"
	"henro/messages/weburl"
	"henro/store"
)

type (
	// OrderAlias says of a host whom it stands for, whatever its pages show. It is answered by AliasOrdered when that
	// is on disk.
	OrderAlias struct{ Host, Of string } // as weburl.URL.Host has them; Of empty: for itself
	// AliasOrdered answers OrderAlias.
	AliasOrdered struct{}

	aliasTag struct {
		reply *actor.PID
		host  string
		sent  *protocol.AliasOrdered
	}
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
	ctx.Request(m.partitions[m.state.PartitionOf(name)], &protocol.Write{Urgent: true,
		Notes: []protocol.Note{{Host: name, Name: host.OrderNote, Bytes: bytes}},
		Tag:   &aliasTag{reply, name, &protocol.AliasOrdered{Order: order}}})
}

func (m *Master) aliasWritten(ctx actor.Context, tag *aliasTag) {
	ctx.Send(m.hosts, &protocol.ToHost{Host: tag.host, Message: tag.sent})
	if tag.reply != nil {
		ctx.Send(tag.reply, &AliasOrdered{})
	}
}

// FindAlias reads whom a host stands for; of is empty: for itself. What the crawl has found counts if its settings say
// so, the order of a person always.
func FindAlias(state *store.State, m *Settings, host string) (a known.Alias, of string, err error) {
	a, err = known.AliasOf(state.Partitions[state.PartitionOf(host)], host)
	return a, ofAlias(&a, m), err
}

func ofAlias(a *known.Alias, m *Settings) string {
	switch {
	case a.Order != nil:
		return a.Order.Of
	case m.Aliases:
		return a.Of
	}
	return ""
}

// Alias is one host that is another under a second name, or may be.
type Alias struct {
	Host    string    `json:"host"`
	Of      string    `json:"of"`     // the other, which would be visited in its place
	Mapped  bool      `json:"mapped"` // it is not visited
	Person  bool      `json:"person"` // a person has said so
	Agreed  float64   `json:"agreed"` // pages that both have, or that redirect to the other, weighted by age
	Against float64   `json:"against"`
	Belief  float64   `json:"belief"` // from 0 to 1
	Since   time.Time `json:"since,omitzero"`
	// the evidence is redirects, not equal texts
	Redirects bool `json:"redirects"`
}

// Aliases lists the hosts of which there is evidence, or the order of a person, of an open state, running or not.
func Aliases(state *store.State, m *Settings) (all []Alias, err error) {
	all = []Alias{}
	for _, disk := range state.Partitions {
		if err := known.EachAlias(disk, func(a *known.Alias) error {
			of := ofAlias(a, m)
			if a.Order != nil {
				row := Alias{Host: a.Host, Of: a.Order.Of, Mapped: of != "", Person: true, Since: a.Order.At}
				for i := range a.Hosts {
					if e := &a.Hosts[i]; e.Host == row.Of {
						row.Agreed, row.Against, row.Belief = e.Agreed, e.Contradictions(), e.Belief()
						row.Redirects = e.Redirects
					}
				}
				all = append(all, row)
				return nil
			}
			for i := range a.Hosts {
				e := &a.Hosts[i]
				row := Alias{Host: a.Host, Of: e.Host, Mapped: of == e.Host && !e.Reviewed.IsZero(), Agreed: e.Agreed,
					Against: e.Contradictions(), Belief: e.Belief(), Redirects: e.Redirects}
				if a.Of == e.Host {
					row.Since = a.Since
				}
				all = append(all, row)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Alias) int { return strings.Compare(a.Host+" "+a.Of, b.Host+" "+b.Of) })
	return all, nil
}

// explainAlias says what is known of a host being another under a second name.
func explainAlias(a *known.Alias, of string) (says []speech.Sentence) {
	if a.Order != nil {
		if of == "" {
			return []speech.Sentence{speech.Say("A person has said that it stands for itself.")}
		}
		return []speech.Sentence{speech.Say("A person has said that it is %s under a second name: its pages are "+
			"visited there.", of)}
	}
	for i := range a.Hosts {
		e := &a.Hosts[i]
		switch against := int(e.Contradictions()); {
		case e.Host == of && e.Redirects && !e.Reviewed.IsZero():
			says = append(says, speech.Say("It redirects to %s since %s: %d paths to the same path, %d not. Its "+
				"pages are visited there.", e.Host, a.Since, int(e.Agreed), against))
		case e.Redirects:
			says = append(says, speech.Say("It redirects %d paths to the same path of %s, and %d not.", int(e.Agreed),
				e.Host, against))
		case e.Host == of && !e.Reviewed.IsZero():
			says = append(says, speech.Say("It is %s under a second name since %s: %d pages agree, %d do not. Its "+
				"pages are visited there.", e.Host, a.Since, int(e.Agreed), against))
		default:
			says = append(says, speech.Say("It has %d pages that %s has too, and %d that differ.", int(e.Agreed),
				e.Host, against))
		}
	}
	return says
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
	for next, hops := of, 0; next != "" && hops < 16; hops++ {
		if next == host {
			return posted, fmt.Errorf("%s is an alias of %s: henro alias --forget %s first", of, host, of)
		}
		if _, next, err = FindAlias(n.state, n.settings(), next); err != nil {
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

// AliasesReported answers GET /api/aliases.
type AliasesReported struct {
	Aliases []Alias `json:"aliases"`
}

func (n *Node) getAliases(w http.ResponseWriter, _ *http.Request) {
	all, err := Aliases(n.state, n.settings())
	reply(w, AliasesReported{all}, err)
}
