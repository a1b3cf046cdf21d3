package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/sirupsen/logrus"

	"henro/messages/ticks"
)

// Options say who this node is and how it meets the others.
type Options struct {
	Name         string // the same at every start, unique in the cluster
	Role         Role
	Boot         string // id of this start; default NewBoot()
	ActorAddress string // "ip:port" of its actors, from Remote.Address
	Version      string // of its program
	Protocol     int    // of its messages; members that differ by more than one are refused; default 1
	Capacity     int    // connections it can hold at once
	Consensus    string // of a master: "ip:port" of its consensus
	Crawl        string // of a master: which crawl it is of
	Term         uint64 // of a master: in which it leads that crawl; 0: it does not lead

	Bind      string   // "host:port" of the gossip, UDP and TCP; port 0: any free one
	Advertise string   // "ip:port" under which others reach Bind; default: found by Advertise
	JoinAddrs []string // "host:port" of the gossip of any live nodes; none: wait for the others
	Key       *Keys    // nil: no encryption, and only loopback may be bound

	Settle time.Duration // how long a node must be gone before that is believed; default DefaultSettle
	Notify func(Event)   // hears of the others, from one goroutine, in order; it must not wait for long
	Gate   *Gate         // lets messages through to the members that the gossip holds alive; nil: none is kept

	Logger    *logrus.Entry
	Transport memberlist.Transport // nil: sockets; for tests: clustertest.Network
}

// DefaultSettle comes on top of the 5–6 s in which memberlist notices a death: a switch that is rebooted or a cable
// that is changed answers again within a second or two, and an early verdict saves nothing, since leases end by
// themselves.
const DefaultSettle = 2 * time.Second

// Intervals of seekOthers. Dialling costs next to nothing, and a restarted master has work waiting: so the pause stays
// short.
const (
	joinPause    = 50 * time.Millisecond // after the first failure, doubled up to
	joinPauseMax = 3 * time.Second
	doubtPause   = 500 * time.Millisecond // while a member perhaps died
	healPause    = 15 * time.Second       // between attempts to reach members that were lost
	healFor      = time.Hour              // after that a lost member must come by itself
	maxLost      = 128                    // lost members remembered
	doubtFor     = 10 * time.Second       // after a connection broke; by then the gossip has noticed a death
)

func (o *Options) fill() error {
	o.Boot = cmp.Or(o.Boot, NewBoot())
	o.Protocol, o.Settle = cmp.Or(o.Protocol, 1), cmp.Or(o.Settle, DefaultSettle)
	if o.Notify == nil {
		o.Notify = func(Event) {}
	}
	if o.Logger == nil {
		o.Logger = silent()
	}
	if o.Settle < 0 {
		return errors.New("settle time is negative")
	}
	for _, address := range o.JoinAddrs {
		if _, _, err := splitAddress(address); err != nil {
			return fmt.Errorf("join: %w", err)
		}
	}
	return nil
}

// Event is what the listener of a Node hears: *MemberUp, *MemberDown, *MemberUpdated or *MemberRefused.
type Event interface{ of() Member }

// MemberUp says that a member is there.
type MemberUp struct{ Member Member }

// MemberDown says that a member is gone: dead, unreachable, left, or replaced by a newer start of itself, whose
// MemberUp follows.
type MemberDown struct {
	Member   Member
	Replaced bool
}

// MemberUpdated says that a member that is up shows other metadata than before.
type MemberUpdated struct{ Member, Before Member }

// MemberRefused says that a member is there, or is gone again, to which this node does not speak: its protocol is not
// understood, or its certificate was revoked. Nothing is sent to it or taken from it.
type MemberRefused struct {
	Member Member
	Gone   bool
}

func (e *MemberUp) of() Member      { return e.Member }
func (e *MemberDown) of() Member    { return e.Member }
func (e *MemberUpdated) of() Member { return e.Member }
func (e *MemberRefused) of() Member { return e.Member }

// Node is this process in the gossip.
type Node struct {
	o    Options
	list *memberlist.Memberlist
	log  *logrus.Entry

	done chan struct{} // closed by the first Leave or Close
	end  sync.Once
	wg   sync.WaitGroup

	wake chan struct{} // holds one token when sightings wait
	seek chan struct{} // holds one token when others are to be looked for at once

	mu        sync.Mutex
	self      Member
	selfMeta  []byte
	order     []string             // names in sightings, oldest first
	sightings map[string]sighting  // latest word of the gossip on each gossip name, not yet settled
	members   []Member             // settled, by name
	refused   map[string]Member    // by gossip name, for their protocol, or since they were revoked
	alive     map[string]Member    // by gossip name, as the gossip has it now
	lost      []lostMember         // gone without leaving, oldest first
	doubtful  map[string]time.Time // gossip names that perhaps died, and until when to think so
}

type sighting struct {
	member Member
	alive  bool
}

type lostMember struct {
	address string
	at      time.Time
}

// Join starts the gossip and returns at once; the others are looked for in the background until they are found, and
// again whenever they are lost. An error says that this node cannot take part at all: a wrong option, a taken port, a
// missing key.
func Join(o Options) (*Node, error) {
	if err := o.fill(); err != nil {
		return nil, fmt.Errorf("join cluster: %w", err)
	}
	n := &Node{
		o: o, log: o.Logger, done: make(chan struct{}), wake: make(chan struct{}, 1),
		self: Member{Name: o.Name, Boot: o.Boot, Role: o.Role, ActorAddress: o.ActorAddress, Version: o.Version,
			Protocol: o.Protocol, Capacity: o.Capacity, Consensus: o.Consensus, Crawl: o.Crawl, Term: o.Term},

		seek: make(chan struct{}, 1), sightings: make(map[string]sighting), refused: make(map[string]Member),
		alive: make(map[string]Member), doubtful: make(map[string]time.Time),
	}
	if err := n.self.validate(); err != nil {
		return nil, fmt.Errorf("join cluster: %w", err)
	}
	// The longest description is checked here, since memberlist panics on more.
	longest := n.self
	longest.Leaving, longest.Capacity, longest.Term = true, 1<<31-1, math.MaxUint64
	if _, err := encodeMeta(longest); err != nil {
		return nil, fmt.Errorf("join cluster: %w", err)
	}
	n.selfMeta, _ = encodeMeta(n.self)
	config, err := n.config()
	if err != nil {
		return nil, fmt.Errorf("join cluster: %w", err)
	}
	n.list, err = memberlist.Create(config)
	if err != nil {
		if addressTaken(err) {
			err = fmt.Errorf("bind gossip to %s: %w: is another henro running here?", o.Bind, ErrAddressTaken)
		}
		return nil, fmt.Errorf("join cluster: %w", err)
	}
	n.mu.Lock()
	n.self.GossipAddress = gossipAddress(n.list.LocalNode())
	n.mu.Unlock()
	if o.Gate != nil {
		o.Gate.mu.Lock()
		o.Gate.doubted = n.doubt
		o.Gate.mu.Unlock()
	}
	if o.Key != nil {
		o.Key.onChange(n.lookAgain)
	}
	n.wg.Go(n.settleSightings)
	n.wg.Go(n.seekOthers)
	return n, nil
}

// config is memberlist's LAN profile (a death is noticed in 5–6 s) with our name, key, address and ears.
func (n *Node) config() (*memberlist.Config, error) {
	c := memberlist.DefaultLANConfig()
	c.Name = n.self.gossipName()
	c.Label = "henro-1" // other memberlist clusters of the network are not for us
	c.Logger = gossipLogger(n.log)
	c.Delegate, c.Events, c.Alive = ears{n}, ears{n}, ears{n}
	c.EnableCompression = false // messages are short, and no other node shall make us decompress
	// one black hole among the addresses to join delays the others by no more than this
	c.TCPTimeout = 5 * time.Second
	c.DNSConfigPath = "/nonexistent" // no private DNS over TCP: names are looked up as by every other program
	if n.o.Transport != nil {
		c.Transport = n.o.Transport
	} else {
		host, port, err := splitAddress(n.o.Bind)
		if err != nil {
			return nil, err
		}
		if err := mayBind("gossip", host, port, n.o.Key); err != nil {
			return nil, err
		}
		if host == "localhost" {
			host = "127.0.0.1"
		}
		if n.o.Advertise == "" {
			if n.o.Advertise, err = Advertise(n.o.Bind, n.o.JoinAddrs); err != nil {
				return nil, err
			}
		}
		advertised, err := netip.ParseAddrPort(n.o.Advertise)
		if err != nil {
			return nil, fmt.Errorf("advertise %q: not ip:port", n.o.Advertise)
		}
		c.BindAddr, c.BindPort = host, port
		c.AdvertiseAddr, c.AdvertisePort = advertised.Addr().String(), int(advertised.Port())
		if n.o.Key == nil {
			c.CIDRsAllowed, _ = memberlist.ParseCIDRs([]string{"127.0.0.0/8", "::1/128"})
		}
	}
	if n.o.Key != nil {
		keyring, err := n.o.Key.keyring(n.log)
		if err != nil {
			return nil, fmt.Errorf("gossip key: %w", err)
		}
		c.Keyring = keyring
	}
	return c, nil
}

// Self is this node as the others see it.
func (n *Node) Self() Member {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.self
}

// Members are the others that are up, settled, by name.
func (n *Node) Members() []Member {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.members)
}

// Refused are the others that are there and not spoken to, by name: see MemberRefused.
func (n *Node) Refused() []Member {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.SortedFunc(maps.Values(n.refused), func(a, b Member) int {
		return strings.Compare(a.gossipName(), b.gossipName())
	})
}

// say changes what this node shows of itself and waits up to a second until it was sent to others.
func (n *Node) say(change func(*Member)) error {
	n.mu.Lock()
	changed := n.self
	change(&changed)
	if changed == n.self {
		n.mu.Unlock()
		return nil
	}
	b, err := encodeMeta(changed)
	if err == nil {
		err = changed.validate()
	}
	if err != nil {
		n.mu.Unlock()
		return fmt.Errorf("change node metadata: %w", err)
	}
	n.self, n.selfMeta = changed, b
	n.mu.Unlock()
	if err := n.list.UpdateNode(time.Second); err != nil {
		return fmt.Errorf("change node metadata: %w", err)
	}
	return nil
}

// Become changes the role of this node, the crawl that it leads and in which term, and where its consensus is.
func (n *Node) Become(role Role, crawl string, term uint64, consensus string) error {
	n.wg.Go(n.sayAgain)
	return n.say(func(m *Member) { m.Role, m.Crawl, m.Term, m.Consensus = role, crawl, term, consensus })
}

const sayAgainMost = 8 * time.Second // the last pause

// sayAgain says again what this node is, after 1, 2, 4 and 8 s. The gossip sends what is new a few times within a
// second, to nodes that it draws by lot. One that misses it would learn it only when it next compares all it knows with
// another node, up to a minute later: a master that then takes over could not answer a slave that it has not heard of.
func (n *Node) sayAgain() {
	for pause := time.Second; pause <= sayAgainMost; pause *= 2 {
		select {
		case <-n.done:
			return
		case <-time.After(pause):
		}
		if err := n.list.UpdateNode(time.Second); err != nil {
			n.log.WithField("err", err).Debug("gossip: the change of this node was not sent again")
		}
	}
}

// Leave tells the others that this node goes, and ends it. That takes at most three seconds, or five while an address
// that does not answer is being dialled.
func (n *Node) Leave() {
	n.finish(func() {
		if err := n.say(func(m *Member) { m.Leaving = true }); err != nil {
			n.log.WithField("err", err).Debug("gossip: no other node heard that this one is leaving")
		}
		if err := n.list.Leave(2 * time.Second); err != nil {
			n.log.WithField("err", err).Debug("gossip: no other node heard that this one left")
		}
	})
}

// Close ends this node without telling the others: they take it for dead.
func (n *Node) Close() { n.finish(func() {}) }

func (n *Node) finish(farewell func()) {
	n.end.Do(func() {
		close(n.done)
		farewell()
		if err := n.list.Shutdown(); err != nil {
			n.log.WithField("err", err).Warn("gossip: shut down")
		}
		n.wg.Wait()
	})
}

// ears are memberlist's callbacks. They are called under its locks and on the threads that read its sockets, so they
// take a note and return.
type ears struct{ n *Node }

// NodeMeta is what this node says of itself.
func (e ears) NodeMeta(int) []byte {
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	return e.n.selfMeta
}

// The gossip is for membership only.
func (ears) NotifyMsg([]byte)                {}
func (ears) GetBroadcasts(int, int) [][]byte { return nil }
func (ears) LocalState(bool) []byte          { return nil }
func (ears) MergeRemoteState([]byte, bool)   {}

// NotifyAlive keeps nodes that are not of the cluster out of the member list.
func (e ears) NotifyAlive(peer *memberlist.Node) error {
	_, err := decodeMember(peer.Name, gossipAddress(peer), peer.Meta)
	return err
}

func (e ears) NotifyJoin(peer *memberlist.Node)   { e.n.note(peer, true) }
func (e ears) NotifyUpdate(peer *memberlist.Node) { e.n.note(peer, true) }
func (e ears) NotifyLeave(peer *memberlist.Node)  { e.n.note(peer, false) }

// note keeps the latest word on each gossip name until the settler takes it; memory is bounded by the nodes there are.
func (n *Node) note(peer *memberlist.Node, alive bool) {
	m, err := decodeMember(peer.Name, gossipAddress(peer), peer.Meta)
	if err != nil {
		return // NotifyAlive has kept it out
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	key := m.gossipName()
	if key == n.self.gossipName() {
		return
	}
	if _, waiting := n.sightings[key]; !waiting {
		n.order = append(n.order, key)
	}
	n.sightings[key] = sighting{member: m, alive: alive}
	if alive {
		n.alive[key] = m
		for name := range n.doubtful { // a newer boot is there, and may not know this node yet: it is joined once more
			if old := n.alive[name]; old.Name == m.Name && old.Boot != m.Boot {
				n.doubtful[name] = time.Time{}
			}
		}
		n.lost = slices.DeleteFunc(n.lost, func(l lostMember) bool { return l.address == m.GossipAddress })
	} else {
		delete(n.alive, key)
		delete(n.doubtful, key)
		if !m.Leaving {
			n.lost = append(slices.DeleteFunc(n.lost, func(l lostMember) bool { return l.address == m.GossipAddress }),
				lostMember{address: m.GossipAddress, at: time.Now()})
			if len(n.lost) > maxLost {
				n.lost = n.lost[1:]
			}
		}
	}
	ticks.Nudge(n.wake)
}

// settleSightings passes what the gossip says through the settler to the listener.
func (n *Node) settleSightings() {
	s := newSettler(n.o.Settle, max(n.o.Settle, time.Minute))
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-n.done:
			return
		case <-n.wake:
		case <-timer.C:
		}
		n.mu.Lock()
		order, sightings := n.order, n.sightings
		n.order, n.sightings = nil, make(map[string]sighting)
		n.mu.Unlock()
		now := time.Now()
		for _, key := range order {
			what := sightings[key]
			switch {
			case n.o.Key.bars(what.member.Name):
				s.lose(what.member, now)
				n.o.Gate.expel(what.member.ActorAddress, key)
				n.refuse(key, what)
			case !n.understands(what.member):
				n.refuse(key, what)
			case what.alive:
				n.mu.Lock()
				delete(n.refused, key) // it may have been revoked for a while
				n.mu.Unlock()
				s.see(what.member, now)
				n.o.Gate.admit(what.member.ActorAddress, key)
			default:
				s.lose(what.member, now)
				n.o.Gate.expel(what.member.ActorAddress, key)
			}
		}
		events := s.advance(now)
		n.mu.Lock()
		n.members = s.members()
		n.mu.Unlock()
		for _, event := range events {
			n.tell(event)
		}
		if at := s.next(); at.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(max(time.Until(at), time.Millisecond))
		}
	}
}

// lookAgain judges all live members again after the keys have changed.
func (n *Node) lookAgain() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, m := range n.alive {
		if _, waiting := n.sightings[key]; !waiting {
			n.order = append(n.order, key)
			n.sightings[key] = sighting{member: m, alive: true}
		}
	}
	ticks.Nudge(n.wake)
}

// understands reports whether the protocol of a member differs by one at most.
func (n *Node) understands(m Member) bool {
	return m.Protocol >= n.o.Protocol-1 && m.Protocol <= n.o.Protocol+1
}

// refuse keeps out a member whose protocol is not understood, which refuses this node likewise, so that both logs say
// why; or one whose certificate was revoked.
func (n *Node) refuse(key string, what sighting) {
	n.mu.Lock()
	_, known := n.refused[key]
	if what.alive {
		n.refused[key] = what.member
	} else {
		delete(n.refused, key)
	}
	n.mu.Unlock()
	if what.alive {
		n.o.Gate.bar(what.member.ActorAddress, key)
	} else {
		n.o.Gate.expel(what.member.ActorAddress, key)
	}
	if known != what.alive {
		n.tell(&MemberRefused{Member: what.member, Gone: !what.alive})
	}
}

func (n *Node) tell(event Event) {
	m := event.of()
	log := n.log.WithFields(logrus.Fields{"member": m.Name, "boot": m.Boot, "role": m.Role, "address": m.ActorAddress})
	switch e := event.(type) {
	case *MemberUp:
		log.WithField("version", m.Version).Info("member up")
	case *MemberDown:
		log.WithFields(logrus.Fields{"left": m.Leaving, "replaced": e.Replaced}).Info("member down")
	case *MemberUpdated:
		log.Debug("member updated")
	case *MemberRefused:
		log = log.WithFields(logrus.Fields{"version": m.Version, "protocol": m.Protocol, "own": n.o.Protocol})
		if e.Gone {
			log.Info("refused member gone")
		} else if n.o.Key.bars(m.Name) {
			log.Warn("member refused: its certificate was revoked")
		} else {
			log.Warn("member refused: its protocol differs by more than one; install versions that fit")
		}
	}
	n.o.Notify(event)
}

// Ping measures the way to a member and back over UDP alone, as the gossip uses it.
func (n *Node) Ping(m Member) (time.Duration, error) {
	address, err := net.ResolveUDPAddr("udp", m.GossipAddress)
	if err != nil {
		return 0, fmt.Errorf("ping %s: %w", m.Name, err)
	}
	start := time.Now()
	if _, err := n.list.Ping(m.gossipName(), address); err != nil {
		return 0, fmt.Errorf("ping %s: %w", m.Name, err)
	}
	return time.Since(start), nil
}

// Await waits until a member for which ok holds is up, and returns it.
func (n *Node) Await(ctx context.Context, ok func(Member) bool) (Member, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, m := range n.Members() {
			if ok(m) {
				return m, nil
			}
		}
		select {
		case <-ctx.Done():
			return Member{}, fmt.Errorf("await member: %w", ctx.Err())
		case <-n.done:
			return Member{}, errors.New("await member: the node has left")
		case <-tick.C:
		}
	}
}
