package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/dns/dnsmessage"

	"henro/messages"
)

func addrs(s ...string) (out []netip.Addr) {
	for _, a := range s {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

var errServFail = errors.New("server failure")

// A names is a Lookup that counts, answers and takes its time.
type names struct {
	asked map[string]int
	mu    sync.Mutex
	tell  func(name string, n int) ([]netip.Addr, time.Duration, error)
}

func (n *names) lookup(ctx context.Context, name string) ([]netip.Addr, time.Duration, error) {
	n.mu.Lock()
	if n.asked == nil {
		n.asked = map[string]int{}
	}
	n.asked[name]++
	count := n.asked[name]
	n.mu.Unlock()
	if name == "stuck.example" {
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	time.Sleep(100 * time.Millisecond)
	return n.tell(name, count)
}

func TestResolver(t *testing.T) {
	absent := &net.DNSError{IsNotFound: true}
	for _, tt := range []struct {
		name   string
		tell   func(name string, n int) ([]netip.Addr, time.Duration, error)
		reason messages.Reason
		asked  int           // questions for one visit
		wait   time.Duration // then
		again  int           // questions after a second visit
	}{
		{"an answer holds for its TTL", func(string, int) ([]netip.Addr, time.Duration,
			error) {
			return addrs("8.8.8.8"), time.Minute, nil
		}, 0, 1, 59 * time.Second, 1},
		{"and no longer", func(string, int) ([]netip.Addr, time.Duration, error) {
			return addrs("8.8.8.8"), time.Minute,
				nil
		}, 0, 1, 61 * time.Second, 2},
		{"a TTL of 0 holds for a page or two", func(string, int) ([]netip.Addr, time.Duration,
			error) {
			return addrs("8.8.8.8"), 0, nil
		}, 0, 1, 20 * time.Second, 1},
		{"a TTL of a week does not hold for a week", func(string, int) ([]netip.Addr, time.Duration,
			error) {
			return addrs("8.8.8.8"), 168 * time.Hour, nil
		}, 0, 1, 2 * time.Hour, 2},
		{"an absence is remembered", func(string, int) ([]netip.Addr, time.Duration, error) { return nil, 0, absent },
			messages.Reason_DNS_NOT_FOUND, 1, 4 * time.Minute, 1},
		{"for a time", func(string, int) ([]netip.Addr, time.Duration, error) { return nil, 0, absent },
			messages.Reason_DNS_NOT_FOUND, 1, 6 * time.Minute, 2},
		{"no addresses are an absence", func(string, int) ([]netip.Addr, time.Duration, error) {
			return nil,
				time.Minute, nil
		}, messages.Reason_DNS_NOT_FOUND, 1, 0, 1},
		{"a failure is asked again twice", func(string, int) ([]netip.Addr, time.Duration, error) {
			return nil, 0,
				errServFail
		}, messages.Reason_DNS_FAILED, 3, time.Second, 3},
		{"and remembered shortly", func(string, int) ([]netip.Addr, time.Duration, error) {
			return nil, 0,
				errServFail
		}, messages.Reason_DNS_FAILED, 3, 25 * time.Second, 6},
		{"the third try may succeed", func(_ string, n int) ([]netip.Addr, time.Duration, error) {
			if n < 3 {
				return nil, 0, errServFail
			}
			return addrs("8.8.8.8"), time.Hour, nil
		}, 0, 3, time.Minute, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &names{tell: tt.tell}
				c := newClient(t, func(o *Options) {
					piped(says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))(o)
					o.AllowPrivate, o.Lookup, o.IdleConnections = false, n.lookup, -1
				})
				for _, asked := range []int{tt.asked, tt.again} {
					if r := visit(t, c, "http://a.example/"); r.Reason != tt.reason || n.asked["a.example"] != asked {
						t.Errorf("%v, asked %d times, want %d", r, n.asked["a.example"], asked)
					}
					time.Sleep(tt.wait)
				}
				c.Close()
			})
		})
	}
}

func TestQuestionsForOneNameAreMergedAndOthersNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{tell: func(string, int) ([]netip.Addr, time.Duration, error) {
			return addrs("8.8.8.8"), time.Hour,
				nil
		}}
		c := newClient(t, func(o *Options) {
			piped(says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))(o)
			o.Lookup, o.IdleConnections = n.lookup, -1
		})
		start := time.Now()
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				name := []string{"a.example", "b.example", "stuck.example"}[i%3]
				r := visit(t, c, "http://"+name+"/")
				took := time.Since(start)
				if name == "stuck.example" {
					if r.Reason != messages.Reason_DNS_FAILED || took != 15*time.Second {
						t.Error(r, took)
					}
				} else if r.Status != 200 || took != 100*time.Millisecond {
					t.Error(r, took)
				}
			})
		}
		all.Wait()
		if fmt.Sprint(n.asked) != "map[a.example:1 b.example:1 stuck.example:3]" {
			t.Error(n.asked)
		}
		c.Close()
	})
}

func TestOneWhoIsToldToStopDoesNotStopTheOthersQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{tell: func(string, int) ([]netip.Addr, time.Duration, error) {
			return addrs("8.8.8.8"), time.Hour,
				nil
		}}
		r := newResolver(&Options{Lookup: n.lookup, DNSTimeout: time.Second, DNSNames: 9})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		go r.lookup(ctx, "a.example")
		if got, err := r.lookup(t.Context(), "a.example"); err != nil || len(got) != 1 || n.asked["a.example"] != 1 {
			t.Error(got, err, n.asked)
		}
		r.close()
	})
}

func TestNamesRememberedAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{tell: func(string, int) ([]netip.Addr, time.Duration, error) {
			return addrs("8.8.8.8"), time.Hour,
				nil
		}}
		r := newResolver(&Options{Lookup: n.lookup, DNSTimeout: time.Second, DNSNames: 10})
		for i := range 100 {
			r.lookup(t.Context(), fmt.Sprintf("%d.example", i))
			r.lookup(t.Context(), "0.example") // used again and again, so it stays
		}
		if r.names.Len() != 10 || n.asked["0.example"] != 1 {
			t.Error(r.names.Len(), n.asked["0.example"])
		}
		r.close()
	})
}

func TestHappyEyeballs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dialled []string
		var mu sync.Mutex
		begin := time.Now()
		c := newClient(t, func(o *Options) {
			o.IdleConnections = -1
			o.Lookup = func(context.Context, string) ([]netip.Addr, time.Duration, error) {
				return addrs("2606:4700::1", "2606:4700::2", "8.8.8.8", "8.8.4.4"), time.Hour, nil
			}
			o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				mu.Lock()
				dialled = append(dialled, fmt.Sprintf("%v %s", time.Since(begin), addr))
				mu.Unlock()
				switch addr {
				case "[2606:4700::1]:80":
					<-ctx.Done() // a black hole
					return nil, ctx.Err()
				case "8.8.8.8:80":
					return nil, syscall.ECONNREFUSED
				}
				time.Sleep(100 * time.Millisecond)
				ours, theirs := net.Pipe()
				go meet(theirs, says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
				return addressed{ours, addr}, nil
			}
		})
		if r := visit(t, c, "http://a.example/"); r.Status != 200 || r.Took != 350*time.Millisecond ||
			r.IP.String() != "[2606:4700::2]:80" {
			t.Error(r, r.Took, r.IP)
		}
		if got := strings.Join(dialled,
			", "); got != "0s [2606:4700::1]:80, 250ms 8.8.8.8:80, 250ms [2606:4700::2]:80" {
			t.Error(got)
		}
		// the one that answered is asked first now
		if r := visit(t, c, "http://a.example/"); r.Took != 100*time.Millisecond {
			t.Error(r, r.Took)
		}
		c.Close()
	})
}

// addressed is a connection with a remote address.
type addressed struct {
	net.Conn
	addr string
}

func (a addressed) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(a.addr))
}

func TestInterleave(t *testing.T) {
	got := fmt.Sprint(interleave(addrs("1.1.1.1", "1.1.1.2", "::ffff:1.1.1.2", "2a00::1", "1.1.1.3", "2a00::2")))
	if got != "[1.1.1.1 2a00::1 1.1.1.2 2a00::2 1.1.1.3]" {
		t.Error(got)
	}
}

// A DNS server on loopback, over real sockets: what --dns asks.
func TestDNSServer(t *testing.T) {
	var questions, tcp atomic.Int32
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		questions.Add(1)
		m := new(dns.Msg)
		m.SetReply(q)
		name, kind := q.Question[0].Name, q.Question[0].Qtype
		_, overTCP := w.RemoteAddr().(*net.TCPAddr)
		add := func(s string) {
			rr, err := dns.NewRR(s)
			if err != nil {
				t.Error(err)
			}
			m.Answer = append(m.Answer, rr)
		}
		switch {
		case name == "four.example." && kind == dns.TypeA:
			add(name + " 77 IN CNAME other.example.")
			add("other.example. 300 IN A 192.0.2.7")
		case name == "both.example." && kind == dns.TypeA:
			add(name + " 300 IN A 192.0.2.7")
		case name == "both.example." && kind == dns.TypeAAAA:
			add(name + " 60 IN AAAA 2001:db8::7")
		case name == "odd.example." && kind == dns.TypeA:
			add(name + " 300 IN A 224.0.0.1")
			add(name + " 300 CH A 192.0.2.66")
			add(name + " 300 IN A 198.51.100.7")
			add(name + " 300 IN A 8.8.4.4")
		case name == "odd.example." && kind == dns.TypeAAAA:
			add(name + " 300 IN AAAA ff02::1")
			add(name + " 300 IN AAAA ::ffff:169.254.169.254")
		case name == "multicast.example." && kind == dns.TypeA:
			m.Truncated = !overTCP
			add(name + " 300 IN A 224.0.0.1")
			add(name + " 300 IN A 239.1.1.1")
		case name == "multicast.example.":
		case name == "four.example.", name == "empty.example.":
		case name == "large.example." && kind == dns.TypeA:
			if m.Truncated = !overTCP; overTCP {
				tcp.Add(1)
				add(name + " 300 IN A 192.0.2.8")
			}
		case name == "large.example.":
		case name == "failing.example.":
			m.Rcode = dns.RcodeServerFailure
		default:
			m.Rcode = dns.RcodeNameError
			rr, _ := dns.NewRR("example. 900 IN SOA ns.example. root.example. 1 2 3 4 42")
			m.Ns = append(m.Ns, rr)
		}
		w.WriteMsg(m)
	})
	pc, l := listenDNS(t)
	for _, s := range []*dns.Server{{PacketConn: pc, Handler: handler}, {Listener: l, Handler: handler}} {
		ready := make(chan struct{})
		s.NotifyStartedFunc = func() { close(ready) }
		done := make(chan struct{})
		go func() { s.ActivateAndServe(); close(done) }()
		<-ready
		t.Cleanup(func() { s.Shutdown(); <-done })
	}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, pc.LocalAddr().String())
	}
	all := systemResolver{func(netip.Addr) error { return nil }, dial}
	for name, want := range map[string]int{"four.example": 1, "both.example": 2, "large.example": 1} {
		if got, ttl, err := all.lookup(t.Context(), name); len(got) != want || ttl != systemTTL || err != nil {
			t.Errorf("%s: %v %v %v", name, got, ttl, err)
		}
	}
	if tcp.Load() != 1 {
		t.Error("truncated answers were asked for over TCP", tcp.Load(), "times")
	}

	c := newClient(t, func(o *Options) { o.DNS, o.AllowPrivate = pc.LocalAddr().String(), false })
	for name, want := range map[string]messages.Reason{
		"four.example":      messages.Reason_ADDRESS_FORBIDDEN,
		"multicast.example": messages.Reason_ADDRESS_FORBIDDEN, "gone.example": messages.Reason_DNS_NOT_FOUND,
		"failing.example": messages.Reason_DNS_FAILED,
	} {
		if r := visit(t, c, "http://"+name+"/"); r.Reason != want {
			t.Error(r)
		}
	}

	// The standard library connects a UDP socket to each address that it reads in an answer.
	system := systemResolver{new(Options).permit, dial}
	for name, want := range map[string]struct{ read, aside string }{
		"odd.example.":       {"[8.8.4.4]", "[198.51.100.7 224.0.0.1 ::ffff:169.254.169.254 ff02::1]"},
		"multicast.example.": {"[]", "[224.0.0.1 239.1.1.1]"},
	} {
		addrs, _, err := system.lookup(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		forbidden := slices.IndexFunc(addrs, func(a netip.Addr) bool {
			what, _ := judge(a)
			return what != ""
		})
		read, aside := fmt.Sprint(addrs[:forbidden]), slices.Clone(addrs[forbidden:])
		slices.SortFunc(aside, func(a, b netip.Addr) int { return strings.Compare(a.String(), b.String()) })
		aside = slices.Compact(aside)
		if read != want.read || fmt.Sprint(aside) != want.aside {
			t.Errorf("%s: %s was read, %s put aside", name, read, aside)
		}
	}
	for name, want := range map[string]string{"gone.example.": "no such host",
		"failing.example.": "server misbehaving"} {
		if _, _, err := system.lookup(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResolveTable(t *testing.T) {
	web := listen(t, says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(web, "http://"))
	c := newClient(t, func(o *Options) { o.Resolve = []string{"A.example:" + port + ":[127.0.0.1]"} })
	if r := visit(t, c, "http://a.example:"+port+"/"); r.Status != 200 || r.IP.Addr().String() != "127.0.0.1" ||
		!strings.Contains(string(r.RequestBytes), "Host: a.example:"+port) {
		t.Error(r, r.IP)
	}
}

// listenDNS finds a port that is free for UDP and TCP.
// Whatever a name server answers, Go's resolver is given no address that the guard forbids, also where it reads the
// bytes in another way than the library that takes such addresses out; and no more addresses are tried than may be.
func FuzzAnswer(f *testing.F) {
	question := new(dns.Msg)
	question.SetQuestion("a.example.", dns.TypeA)
	for _, records := range [][]string{
		{"a.example. 60 IN A 93.184.216.34"}, {"a.example. 0 IN A 224.0.0.1", "a.example. 60 IN A 93.184.216.34"},
		{"a.example. 60 IN CNAME b.example.", "b.example. 60 IN A 127.0.0.1", "b.example. 60 IN AAAA ::ffff:10.0.0.1"},
		{"a.example. 60 CH A 169.254.169.254", "a.example. 4294967295 IN AAAA fe80::1"},
		{"a.example. 60 IN TXT x"}, nil, slices.Repeat([]string{"a.example. 60 IN A 93.184.216.34"}, 13),
	} {
		m := new(dns.Msg)
		m.SetReply(question)
		for _, r := range records {
			rr, err := dns.NewRR(r)
			if err != nil {
				continue // of a class that the library reads in no text
			}
			if a, ok := rr.(*dns.A); ok && len(records) > 2 {
				a.A[len(a.A)-1] = byte(len(m.Answer)) // each another
			}
			m.Answer = append(m.Answer, rr)
		}
		if len(records) > 0 { // an answer to no question
			m.Question = slices.Repeat(m.Question, len(records)%2)
		}
		for _, compress := range []bool{false, true} {
			m.Compress = compress
			b, err := m.Pack()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	// of no length, and with an address behind it
	f.Add([]byte("\xd6]\x81\x00\x00\x01\x00\x01\x00\x00\x00\x00\x01a\aexample\x00\x00\x01\x00\x01" +
		"\xc0\f\x00\x01\x00\x01\x00\x00\x00<\x00\x00\x7f\x00\x00\x01"))
	o := DefaultOptions()
	f.Fuzz(func(t *testing.T, b []byte) {
		sifted, forbidden := systemResolver{permit: o.permit}.sift(b)
		for _, a := range readAsGo(sifted) {
			if o.permit(a) != nil {
				t.Fatalf("%v is left in %x, which was %x", a, sifted, b)
			}
		}
		odd := func(a netip.Addr) bool { return !a.IsValid() || a.Is4In6() || a.Zone() != "" }
		if ordered := interleave(append(readAsGo(sifted), forbidden...)); len(ordered) > maxAddresses ||
			slices.ContainsFunc(ordered, odd) {
			t.Fatal(ordered)
		}
	})
}

// readAsGo returns the addresses that Go's resolver finds in an answer.
func readAsGo(answer []byte) (found []netip.Addr) {
	var p dnsmessage.Parser
	if _, err := p.Start(answer); err != nil || p.SkipAllQuestions() != nil {
		return nil
	}
	for {
		h, err := p.AnswerHeader()
		if err != nil {
			return found
		}
		switch h.Type {
		case dnsmessage.TypeA:
			a, err := p.AResource()
			if err != nil {
				return found
			}
			found = append(found, netip.AddrFrom4(a.A))
		case dnsmessage.TypeAAAA:
			a, err := p.AAAAResource()
			if err != nil {
				return found
			}
			found = append(found, netip.AddrFrom16(a.AAAA))
		default:
			if p.SkipAnswer() != nil {
				return found
			}
		}
	}
}

func listenDNS(t *testing.T) (net.PacketConn, net.Listener) {
	for range 50 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if pc, err := net.ListenPacket("udp", l.Addr().String()); err == nil {
			return pc, l
		}
		l.Close()
	}
	t.Fatal("no port is free for both")
	return nil, nil
}
