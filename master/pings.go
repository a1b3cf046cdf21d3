package master

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/console"
	"henro/actors/protocol"
	"henro/master/indexnow"
	"henro/store"
)

// pingsAtOnce bounds the pings that are read side by side: 4 MB of JSON each.
const pingsAtOnce = 4

// pings receives IndexNow. Whoever sends the form of a ping is answered 202, "received, the key is to be checked",
// whether the host is one of the crawl or not, and whether its key holds or not: nothing of the crawl is to be learnt.
type pings struct {
	node   *Node
	mu     sync.Mutex // of limits
	limits indexnow.Limits

	// since the start: pings of a host of the crawl, of another, more than are taken, and what is no ping
	taken, unknown, limited, refused atomic.Uint64
	urls                             atomic.Uint64 // of those taken
}

// results are the counts of pings, by the words of the metrics.
func (p *pings) results() map[string]uint64 {
	return map[string]uint64{"taken": p.taken.Load(), "unknown": p.unknown.Load(), "limited": p.limited.Load(),
		"refused": p.refused.Load()}
}

// PingRoutes is all that is answered at the address for pings.
func (n *Node) PingRoutes() []console.Route {
	p := &n.pings
	return []console.Route{
		{Pattern: "GET /indexnow", Open: true, AtOnce: pingsAtOnce, Serve: p.serve},
		{Pattern: "POST /indexnow", Open: true, AtOnce: pingsAtOnce, Body: indexnow.MaxBytes, Serve: p.serve},
	}
}

func (p *pings) serve(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	p.mu.Lock()
	allowed := p.limits.Sender(from.Addr(), now)
	p.mu.Unlock()
	if !allowed {
		p.limited.Add(1)
		w.Header().Set("Retry-After", "60")
		console.Fail(w, http.StatusTooManyRequests, errors.New("too many pings from this address: send them together"))
		return
	}
	received, err := indexnow.Read(r)
	var refusal *indexnow.Refusal
	if errors.As(err, &refusal) {
		p.refused.Add(1)
		console.Fail(w, refusal.Status, err)
		return
	}
	for _, ping := range received {
		if err := p.take(r.Context(), ping, now); err != nil {
			console.Fail(w, http.StatusServiceUnavailable, errors.New("try again in a minute"))
			return
		}
	}
	w.WriteHeader(http.StatusAccepted)
}

// take passes on what a ping says of a host that the crawl knows.
func (p *pings) take(ctx context.Context, ping *indexnow.Ping, now time.Time) error {
	state := p.node.state
	disk := state.Partitions[state.PartitionOf(ping.Host)]
	if _, err := disk.Host(store.IDOf(ping.Host)); err != nil {
		p.unknown.Add(1)
		return nil
	}
	p.mu.Lock()
	allowed := p.limits.Host(ping.Host, ping.Key, now)
	p.mu.Unlock()
	if !allowed {
		p.limited.Add(1)
		return nil
	}
	_, keyVisited, _, err := disk.Seen(ping.KeyURL)
	if err != nil {
		return fmt.Errorf("ping of %s: %w", ping.Host, err)
	}
	m := &protocol.Ping{Host: ping.Host, Key: ping.Key, KeyURL: ping.KeyURL, At: now}
	for _, url := range ping.URLs {
		_, visited, known, err := disk.Seen(url)
		switch {
		case err != nil:
			return fmt.Errorf("ping of %s: %w", ping.Host, err)
		case visited && url != ping.KeyURL:
			m.Pages = append(m.Pages, url)
		case !known:
			m.New = append(m.New, url)
		}
	}
	if len(m.Pages) == 0 && (len(m.New) == 0 || !keyVisited) {
		return nil // the file of the key has its depth from a page that is named
	}
	p.taken.Add(1)
	p.urls.Add(uint64(len(ping.URLs)))
	_, err = Ask[*protocol.PingTaken](ctx, p.node, m)
	return err
}

// ping has the Partition of the host take a ping, and answer it.
func (m *Master) ping(ctx actor.Context, ping *protocol.Ping) {
	ctx.RequestWithCustomSender(m.partitions[m.state.PartitionOf(ping.Host)], ping, ctx.Sender())
}
