package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// hub joins the nodes of a cluster, each by a TUN interface, and does to their packets what flaky switches and cables
// do. It stands where tc netem would: that is a module which many kernels of test machines lack, and this one cuts one
// direction of one pair as easily. A packet costs it some 5 µs; the web has a bridge of the kernel's own, so that its
// clock is not disturbed.
type hub struct {
	mu     sync.RWMutex
	ports  map[netip.Addr]*port // by every address that lives there
	faults map[[2]*port]fault   // from, to; nil stands for everybody
	rnd    *rand.Rand
	closed bool
	wait   sync.WaitGroup

	passed, lost, doubled atomic.Uint64
	flying                atomic.Int64 // packets that wait for their time
}

// fault is what befalls packets on their way.
type fault struct {
	cut    bool
	lost   float64       // share
	twice  float64       // share that arrives a second time, later
	delay  time.Duration // of each
	jitter time.Duration // up to so much more, evenly; packets overtake each other
}

// port is one node's end of its cable.
type port struct {
	ns   *namespace
	file *os.File
}

// maxFlying bounds the packets that wait for their time; beyond it they are lost, as in any switch.
const maxFlying = 20_000

func newHub(seed uint64) *hub {
	return &hub{ports: map[netip.Addr]*port{}, faults: map[[2]*port]fault{}, rnd: rand.New(rand.NewPCG(seed, 0))}
}

// plug gives a namespace an interface with an address.
func (h *hub) plug(ns *namespace, address netip.Addr) (*port, error) {
	p := &port{ns: ns}
	err := ns.do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("open /dev/net/tun: %w", err)
		}
		request, err := unix.NewIfreq("lan")
		if err != nil {
			return err
		}
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
			unix.Close(fd)
			return fmt.Errorf("make a TUN interface: %w", err)
		}
		p.file = os.NewFile(uintptr(fd), "lan")
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := ip(ns.name, fmt.Sprintf("addr add %s/16 dev lan", address), "link set lan up"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.ports[address] = p
	h.mu.Unlock()
	h.wait.Go(func() { h.forward(p) })
	return p, nil
}

// move gives a port another address beside those it has.
func (h *hub) move(p *port, address netip.Addr) error {
	h.mu.Lock()
	h.ports[address] = p
	h.mu.Unlock()
	return ip(p.ns.name, fmt.Sprintf("addr add %s/16 dev lan", address))
}

// set puts a fault on the way from one port to another; nil is everybody. The zero fault heals it.
func (h *hub) set(from, to *port, f fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults[[2]*port{from, to}] = f
	if f == (fault{}) {
		delete(h.faults, [2]*port{from, to})
	}
}

// forward passes on what a node sends, until its interface is closed.
func (h *hub) forward(from *port) {
	buf := make([]byte, 1<<16)
	for {
		n, err := from.file.Read(buf)
		if err != nil {
			return
		}
		packet := buf[:n]
		if n < 20 || packet[0]>>4 != 4 {
			continue // IPv6 looks for routers
		}
		h.mu.Lock() // for the dice
		to := h.ports[netip.AddrFrom4([4]byte(packet[16:20]))]
		var after [2]time.Duration
		copies := 0
		if to != nil {
			after, copies = h.fate(from, to)
		}
		h.mu.Unlock()
		if copies == 0 {
			h.lost.Add(1)
			continue
		}
		h.passed.Add(1)
		for _, d := range after[:copies] {
			h.deliver(to, packet, d)
		}
	}
}

// fate draws what becomes of one packet: when each of its copies arrives.
func (h *hub) fate(from, to *port) (after [2]time.Duration, copies int) {
	copies = 1
	for _, way := range [...][2]*port{{from, to}, {from, nil}, {nil, to}, {nil, nil}} {
		f, ok := h.faults[way]
		if !ok {
			continue
		}
		if f.cut || f.lost > 0 && h.rnd.Float64() < f.lost {
			return after, 0
		}
		if f.twice > 0 && h.rnd.Float64() < f.twice {
			copies = 2
			h.doubled.Add(1)
		}
		for i := range after {
			after[i] += f.delay
			if f.jitter > 0 {
				after[i] += time.Duration(h.rnd.Int64N(int64(f.jitter)))
			}
		}
	}
	return after, copies
}

func (h *hub) deliver(to *port, packet []byte, after time.Duration) {
	if after == 0 {
		to.file.Write(packet) // full or closed: the packet is lost
		return
	}
	if h.flying.Add(1) > maxFlying {
		h.flying.Add(-1)
		h.lost.Add(1)
		return
	}
	packet = append([]byte(nil), packet...)
	time.AfterFunc(after, func() {
		defer h.flying.Add(-1)
		to.file.Write(packet)
	})
}

func (h *hub) close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		for _, p := range h.ports {
			p.file.Close()
		}
	}
	h.mu.Unlock()
	h.wait.Wait()
}

// lanAddress is the address of a node on the hub, webAddress on the bridge; the web itself is the first of the bridge.
func lanAddress(i int) netip.Addr { return inNet([4]byte{10, 77}, i) }
func webAddress(i int) netip.Addr { return inNet([4]byte{10, 66}, i) }

func inNet(net [4]byte, i int) netip.Addr {
	binary.BigEndian.PutUint16(net[2:], uint16(i+1))
	return netip.AddrFrom4(net)
}
