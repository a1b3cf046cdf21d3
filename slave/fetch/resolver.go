package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"henro/messages"
)

// How long answers hold. Go's resolver returns no TTL, so its answers hold for systemTTL.
const (
	systemTTL  = 5 * time.Minute
	minTTL     = 30 * time.Second
	maxTTL     = time.Hour
	absentTTL  = 5 * time.Minute  // no such name, when the answer does not say how long (RFC 2308)
	failureTTL = 20 * time.Second // no answer: not every page of the name must wait for three timeouts

	dnsTries     = 3 // one and two retries
	maxAddresses = 8 // of one name, tried one after the other
)

// resolver turns names into addresses. Questions for one name at a time are merged; answers, absences and failures are
// remembered. It blocks only those that ask for the same name.
type resolver struct {
	ask     func(ctx context.Context, name string) ([]netip.Addr, time.Duration, error)
	timeout time.Duration

	asking sync.WaitGroup
	life   context.Context // of the client: questions in flight outlive one asker, but not the client
	end    context.CancelFunc

	mu     sync.Mutex
	closed bool
	flying map[string]*question            // at most one of a name
	names  *simplelru.LRU[string, *answer] // by name
}

// question is one name being asked for. x/sync/singleflight does the same, but cannot be waited for, and leaves a gap
// between looking for the answer and joining the question.
type question struct {
	done   chan struct{}
	answer *answer // once done
}

// answer is what is known of a name until it expires.
type answer struct {
	addrs   []netip.Addr // never changed once here
	err     error        // a *failure, or nil
	expires time.Time
}

func newResolver(o *Options) *resolver {
	names, _ := simplelru.NewLRU[string, *answer](max(1, o.DNSNames), nil)
	r := &resolver{timeout: o.DNSTimeout, flying: make(map[string]*question), names: names}
	r.life, r.end = context.WithCancel(context.Background())
	server, _ := dnsServer(o.DNS) // validated
	switch {
	case o.Lookup != nil:
		r.ask = o.Lookup
	case server.IsValid():
		r.ask = systemResolver{o.permit, func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server.String())
		}}.lookup
	default:
		r.ask = systemResolver{o.permit, new(net.Dialer).DialContext}.lookup
	}
	return r
}

func (r *resolver) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end()
	r.asking.Wait()
}

// lookup returns the addresses of a name, in the order in which to try them, or a *failure.
func (r *resolver) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	known, q := r.join(name)
	if known == nil {
		select {
		case <-q.done:
			known = q.answer
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return known.addrs, known.err
}

// join gives the answer known, or else the question under way, which it begins if there is none.
func (r *resolver) join(name string) (*answer, *question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.recall(name); a != nil {
		return a, nil
	}
	if r.closed {
		return &answer{err: fail(messages.Reason_CANCELED, errClosed)}, nil
	}
	q := r.flying[name]
	if q == nil {
		q = &question{done: make(chan struct{})}
		r.flying[name] = q
		r.asking.Go(func() {
			q.answer = r.question(name)
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.flying, name)
			if r.life.Err() == nil {
				r.names.Add(name, q.answer)
			}
			close(q.done)
		})
	}
	return nil, q
}

// question asks, and again if need be.
func (r *resolver) question(name string) *answer {
	a := &answer{}
	var ttl time.Duration
	for range dnsTries {
		ctx, cancel := context.WithTimeout(r.life, r.timeout)
		addrs, hold, err := r.ask(ctx, name)
		cancel()
		var de *net.DNSError
		switch {
		case err == nil && len(addrs) > 0:
			a.addrs, a.err, ttl = interleave(addrs), nil, min(max(hold, minTTL), maxTTL)
		case err == nil || errors.Is(err, errNoSuchName) || errors.As(err, &de) && de.IsNotFound:
			a.err, ttl = fail(messages.Reason_DNS_NOT_FOUND, fmt.Errorf("look up %s: %w", name, errNoSuchName)),
				min(max(cmp.Or(hold, absentTTL), minTTL), absentTTL)
		default:
			a.err, ttl = fail(messages.Reason_DNS_FAILED, fmt.Errorf("look up %s: %w", name, err)), failureTTL
			if r.life.Err() == nil {
				continue
			}
		}
		break
	}
	a.expires = time.Now().Add(ttl)
	return a
}

// recall finds what is known of a name and still holds. r.mu is held.
func (r *resolver) recall(name string) *answer {
	if a, _ := r.names.Get(name); a != nil && time.Now().Before(a.expires) {
		return a
	}
	return nil
}

// prefer puts the address that answered in front, so that the next connect does not wait for a dead one first.
func (r *resolver) prefer(name string, addr netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, _ := r.names.Peek(name)
	if old == nil {
		return
	}
	i := slices.Index(old.addrs, addr)
	if i <= 0 {
		return
	}
	changed := *old
	changed.addrs = append([]netip.Addr{addr}, slices.Delete(slices.Clone(old.addrs), i, i+1)...)
	r.names.Add(name, &changed)
}

// interleave orders addresses as RFC 8305 4 wants: IPv6 and IPv4 in turn, the family of the first answer first.
func interleave(addrs []netip.Addr) []netip.Addr {
	var families [2][]netip.Addr
	seen := make(map[netip.Addr]bool, len(addrs))
	first := 0
	for i, a := range addrs {
		a = a.Unmap().WithZone("")
		f := 0
		if a.Is4() {
			f = 1
		}
		if i == 0 {
			first = f
		}
		if a.IsValid() && !seen[a] {
			seen[a] = true
			families[f] = append(families[f], a)
		}
	}
	one, other := families[first], families[1-first]
	var out []netip.Addr
	for i := 0; len(out) < maxAddresses && (i < len(one) || i < len(other)); i++ {
		if i < len(one) {
			out = append(out, one[i])
		}
		if i < len(other) {
			out = append(out, other[i])
		}
	}
	return out
}
