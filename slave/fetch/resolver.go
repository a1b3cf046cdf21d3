package fetch

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
	"henro/messages"
)

// How long answers hold. The system's resolver returns no TTL, so its answers hold for systemTTL; TTLs from the wire
// are kept within bounds, since a TTL of 0 would ask again for every page of a host and one of a week outlives the
// host's address.
const (
	systemTTL  = 5 * time.Minute
	minTTL     = 30 * time.Second
	maxTTL     = time.Hour
	absentTTL  = 5 * time.Minute  // no such name, when the answer does not say how long (RFC 2308)
	failureTTL = 20 * time.Second // no answer: not every page of the name must wait for three timeouts

	dnsTries     = 3 // one and two retries
	maxAddresses = 8 // of one name, tried one after the other

	// what IPv6 may take longer than IPv4. RFC 8305 3 has 50 ms, for browsers, where a person waits
	resolutionDelay = 250 * time.Millisecond
)

// resolver turns names into addresses. Questions for one name at a time are merged; answers, absences and failures are
// remembered. It blocks only those that ask for the same name.
type resolver struct {
	ask     func(ctx context.Context, name string) ([]netip.Addr, time.Duration, error)
	timeout time.Duration
	max     int

	asking sync.WaitGroup
	life   context.Context // of the client: questions in flight outlive one asker, but not the client
	end    context.CancelFunc

	mu     sync.Mutex
	closed bool
	flying map[string]*question // at most one of a name
	names  map[string]*list.Element
	recent *list.List // *answer, most recently used first
}

// question is one name being asked for. x/sync/singleflight does the same, but cannot be waited for, and leaves a gap
// between looking for the answer and joining the question.
type question struct {
	done   chan struct{}
	answer *answer // once done
}

// answer is what is known of a name until it expires.
type answer struct {
	name    string
	addrs   []netip.Addr // never changed once here
	err     error        // a *failure, or nil
	expires time.Time
}

func newResolver(o *Options) *resolver {
	r := &resolver{timeout: o.DNSTimeout, max: o.DNSNames, flying: make(map[string]*question),
		names: make(map[string]*list.Element), recent: list.New()}
	r.life, r.end = context.WithCancel(context.Background())
	server, _ := dnsServer(o.DNS) // validated
	switch {
	case o.Lookup != nil:
		r.ask = o.Lookup
	case server.IsValid():
		r.ask = wireResolver{server.String(), o.DNSTimeout}.lookup
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
				r.remember(q.answer)
			}
			close(q.done)
		})
	}
	return nil, q
}

// question asks, and again if need be.
func (r *resolver) question(name string) *answer {
	a := &answer{name: name}
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
	e := r.names[name]
	if e == nil {
		return nil
	}
	a := e.Value.(*answer)
	if !time.Now().Before(a.expires) {
		return nil
	}
	r.recent.MoveToFront(e)
	return a
}

// remember keeps an answer, and forgets the least recently used of too many. r.mu is held.
func (r *resolver) remember(a *answer) {
	if e := r.names[a.name]; e != nil {
		e.Value = a
		r.recent.MoveToFront(e)
		return
	}
	r.names[a.name] = r.recent.PushFront(a)
	for r.recent.Len() > r.max {
		oldest := r.recent.Back()
		delete(r.names, oldest.Value.(*answer).name)
		r.recent.Remove(oldest)
	}
}

// prefer puts the address that answered in front, so that the next connect does not wait for a dead one first.
func (r *resolver) prefer(name string, addr netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.names[name]
	if e == nil {
		return
	}
	old := e.Value.(*answer)
	i := slices.Index(old.addrs, addr)
	if i <= 0 {
		return
	}
	changed := *old
	changed.addrs = append([]netip.Addr{addr}, slices.Delete(slices.Clone(old.addrs), i, i+1)...)
	e.Value = &changed
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

// wireResolver asks one DNS server.
type wireResolver struct {
	server  string
	timeout time.Duration
}

// lookup asks for IPv6 and IPv4 addresses at once. One family is enough; both must fail for a failure.
func (w wireResolver) lookup(ctx context.Context, name string) ([]netip.Addr, time.Duration, error) {
	type part struct {
		addrs []netip.Addr
		ttl   time.Duration
		err   error
	}
	ask := func(kind uint16) (p part) {
		p.addrs, p.ttl, p.err = w.exchange(ctx, name, kind)
		return p
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	six := make(chan part, 1)
	go func() { six <- ask(dns.TypeAAAA) }()
	v4 := ask(dns.TypeA)
	if v4.err == nil { // servers that drop the question for IPv6 do not hold up the rest
		defer time.AfterFunc(resolutionDelay, cancel).Stop()
	}
	v6 := <-six
	switch {
	case len(v4.addrs)+len(v6.addrs) > 0:
		ttl := maxTTL
		for _, p := range []part{v4, v6} {
			if len(p.addrs) > 0 {
				ttl = min(ttl, p.ttl)
			}
		}
		return append(v6.addrs, v4.addrs...), ttl, nil
	case v4.err != nil && !errors.Is(v4.err, errNoSuchName):
		return nil, 0, v4.err
	case v6.err != nil && !errors.Is(v6.err, errNoSuchName):
		return nil, 0, v6.err
	}
	return nil, min(v4.ttl, v6.ttl), errNoSuchName
}

// exchange asks one question over UDP, and over TCP if the answer did not fit.
func (w wireResolver) exchange(ctx context.Context, name string, kind uint16) ([]netip.Addr, time.Duration, error) {
	m := new(dns.Msg)
	m.SetQuestion(dns.Fqdn(name), kind)
	m.SetEdns0(1232, false)
	in, err := w.send(ctx, "udp", m)
	if err == nil && in.Truncated {
		in, err = w.send(ctx, "tcp", m)
	}
	if err != nil {
		return nil, 0, err
	}
	return readAnswer(in, m, kind)
}

// readAnswer returns the addresses in an answer to a question, and how long they hold.
func readAnswer(in, m *dns.Msg, kind uint16) ([]netip.Addr, time.Duration, error) {
	if len(in.Question) != 1 || !strings.EqualFold(in.Question[0].Name, m.Question[0].Name) ||
		in.Question[0].Qtype != kind {
		return nil, 0, errNoAnswer
	}
	switch in.Rcode {
	case dns.RcodeSuccess:
	case dns.RcodeNameError:
		return nil, negativeTTL(in), errNoSuchName
	default:
		return nil, 0, fmt.Errorf("%w: %s", errNoAnswer, dns.RcodeToString[in.Rcode])
	}
	var addrs []netip.Addr
	ttl := maxTTL
	for _, rr := range in.Answer {
		a := addressIn(rr)
		if _, alias := rr.(*dns.CNAME); !alias && !a.IsValid() {
			continue
		}
		ttl = min(ttl, time.Duration(rr.Header().Ttl)*time.Second)
		if a.IsValid() {
			addrs = append(addrs, a)
		}
	}
	if len(addrs) == 0 {
		return nil, negativeTTL(in), errNoSuchName // the name exists, without addresses: nothing to visit either
	}
	return addrs, ttl, nil
}

// send carries one question to the server, and stops when the context does, which the library by itself would not.
func (w wireResolver) send(ctx context.Context, network string, m *dns.Msg) (*dns.Msg, error) {
	c := dns.Client{Net: network, Timeout: w.timeout}
	conn, err := c.DialContext(ctx, w.server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(aLongTimeAgo) })()
	in, _, err := c.ExchangeWithConnContext(ctx, m, conn)
	return in, err
}

// negativeTTL is how long an absence holds: the lesser of the SOA's TTL and its minimum (RFC 2308 5).
func negativeTTL(m *dns.Msg) time.Duration {
	for _, rr := range m.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return time.Duration(min(soa.Hdr.Ttl, soa.Minttl)) * time.Second
		}
	}
	return absentTTL
}
