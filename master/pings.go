package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/console"
	"henro/actors/protocol"
	"henro/master/indexnow"
	"henro/master/websub"
	"henro/messages"
	"henro/messages/weburl"
	"henro/store"
)

// pingsAtOnce bounds the pings that are read side by side: 4 MB of JSON each.
const pingsAtOnce = 4

// pings receives IndexNow, and WebSub from hubs that were asked. A ping of the right form is answered 202, "received,
// the key is to be checked", whether the host is one of the crawl or not, and whether its key or signature holds or
// not: nothing of the crawl is to be learnt.
type pings struct {
	node   *Node
	log    *logrus.Entry
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
	routes := []console.Route{
		{Pattern: "GET /indexnow", Open: true, AtOnce: pingsAtOnce, Serve: p.serve},
		{Pattern: "POST /indexnow", Open: true, AtOnce: pingsAtOnce, Body: indexnow.MaxBytes, Serve: p.serve},
	}
	if n.o.hubs == nil {
		return routes
	}
	return append(routes,
		console.Route{Pattern: "GET /websub/{token}", Open: true, AtOnce: pingsAtOnce, Serve: p.confirm},
		console.Route{Pattern: "POST /websub/{token}", Open: true, AtOnce: pingsAtOnce, Body: websub.BodyMost,
			Serve: p.distribute})
}

// allow reports whether the sender may ping once more, and refuses it otherwise.
func (p *pings) allow(w http.ResponseWriter, r *http.Request, now time.Time) bool {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	p.mu.Lock()
	allowed := p.limits.Sender(from.Addr(), now)
	p.mu.Unlock()
	if !allowed {
		p.limited.Add(1)
		w.Header().Set("Retry-After", "60")
		console.Fail(w, http.StatusTooManyRequests, errors.New("too many pings from this address: send them together"))
	}
	return allowed
}

func (p *pings) serve(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	if !p.allow(w, r, now) {
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

var errNoSubscription = errors.New("no such subscription")

// confirm answers a hub that asks whether a subscription was meant.
func (p *pings) confirm(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	if !p.allow(w, r, now) {
		return
	}
	challenge, ok, err := p.node.o.hubs.Confirm(r.PathValue("token"), r.URL.Query(), now)
	switch {
	case err != nil:
		p.log.WithField("err", err).Error("the subscriptions at hubs cannot be written; hubs are asked again")
		console.Fail(w, http.StatusServiceUnavailable, errors.New("try again in a minute"))
	case !ok:
		p.refused.Add(1)
		console.Fail(w, http.StatusNotFound, errNoSubscription)
	default:
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, challenge) // the hub is gone: it will be asked again
	}
}

// distribute takes what a hub sends as a ping of the page. One that is not signed is answered alike (WebSub 7.1).
func (p *pings) distribute(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	if !p.allow(w, r, now) {
		return
	}
	page, known, err := p.node.o.hubs.Received(r.PathValue("token"), r.Header.Get("X-Hub-Signature"), r.Body)
	switch {
	case !known:
		p.refused.Add(1)
		console.Fail(w, http.StatusGone, errNoSubscription) // of an earlier crawl: the hub may forget it
		return
	case err != nil:
		p.refused.Add(1)
		console.Fail(w, http.StatusRequestEntityTooLarge, err)
		return
	case page == "":
		p.refused.Add(1)
	default:
		err = p.take(r.Context(), &indexnow.Ping{Host: weburl.HostOf(page), URLs: []string{page}}, now)
	}
	if err != nil {
		console.Fail(w, http.StatusServiceUnavailable, errors.New("try again in a minute"))
		return
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
	allowed := false
	if ping.KeyURL == "" {
		allowed = p.limits.Signed(ping.Host, now)
	} else {
		allowed = p.limits.Host(ping.Host, ping.Key, now)
	}
	p.mu.Unlock()
	if !allowed {
		p.limited.Add(1)
		return nil
	}
	m := &protocol.Ping{Host: ping.Host, Key: ping.Key, KeyURL: ping.KeyURL, At: now, Proved: ping.KeyURL == ""}
	keyVisited := false
	if !m.Proved {
		var err error
		if _, keyVisited, _, err = disk.Seen(ping.KeyURL); err != nil {
			return fmt.Errorf("ping of %s: %w", ping.Host, err)
		}
	}
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
	_, err := Ask[*protocol.PingTaken](ctx, p.node, m)
	return err
}

// ping has the Partition of the host take a ping, and answer it.
func (m *Master) ping(ctx actor.Context, ping *protocol.Ping) {
	ctx.RequestWithCustomSender(m.partitions[m.state.PartitionOf(ping.Host)], ping, ctx.Sender())
}

// subscribe has sent to hubs what is due, each by the Host of the hub. Before a hub answers with its own request the
// Host must have sent ours, so nothing waits here.
func (m *Master) subscribe(ctx actor.Context, now time.Time) {
	if m.o.hubs == nil || m.phase != Running {
		return
	}
	for _, r := range m.o.hubs.Due(now) {
		ctx.Send(m.hosts, &protocol.ToHost{Host: weburl.HostOf(r.Hub),
			Message: &messages.Subscription{Url: r.Hub, Form: r.Form}})
	}
}
