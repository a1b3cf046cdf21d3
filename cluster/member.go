package cluster

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/memberlist"
)

// Role is what a node does in the cluster.
type Role string

// The roles.
const (
	Master Role = "master"
	Slave  Role = "slave"
	// Standby is a master that follows another, and leads when that one is gone. Older versions ignore such a member.
	Standby Role = "standby"
	Guest   Role = "guest" // looks around and goes; gets and gives no work
)

// Member is a node as the gossip shows it.
type Member struct {
	Name          string // the same at every start
	Boot          string // new at every start and greater than the one before
	Role          Role
	ActorAddress  string // "ip:port" of its actors
	GossipAddress string // "ip:port" of its gossip
	Version       string // of its program
	Protocol      int    // of its messages, from 1
	Capacity      int    // connections it can hold at once
	Leaving       bool   // it announced that it leaves
	Consensus     string // "ip:port" of its consensus; empty: it has no other masters
	Crawl         string // of a master: which crawl it is of
	Term          uint64 // of a master: in which it leads that crawl; 0: it does not lead
}

// PID is the address of a named actor on this member.
func (m Member) PID(name string) *actor.PID { return actor.NewPID(m.ActorAddress, name) }

// gossipName is unique for every start: a quick restart under the same name is invisible to memberlist, and one with
// another address a conflict that is not healed for seconds.
func (m Member) gossipName() string { return m.Name + "." + m.Boot }

// NewBoot makes the id of a start: 48 bits of time and 32 of randomness, so that ids of one machine sort by their
// starts as long as its clock does not go back. When it does, a restarted node is taken for the newer one as soon as
// the gossip has given up the older.
func NewBoot() string {
	b := make([]byte, 10)
	ms := time.Now().UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	rand.Read(b[6:])
	return bootEncoding.EncodeToString(b)
}

// meta is what a node says of itself in the gossip, besides its name and boot: JSON, so that a version may say more
// than another understands, at most memberlist.MetaMaxSize bytes.
type meta struct {
	Role      Role   `json:"role"`
	Actors    string `json:"actors"`
	Version   string `json:"version,omitempty"`
	Protocol  int    `json:"protocol,omitempty"` // missing: 1
	Capacity  int    `json:"capacity,omitempty"`
	Leaving   bool   `json:"leaving,omitempty"`
	Consensus string `json:"consensus,omitempty"`
	Crawl     string `json:"crawl,omitempty"`
	Term      uint64 `json:"term,omitempty"`
}

// encodeMeta says of m what others shall know; ErrTooLong when that does not fit.
func encodeMeta(m Member) ([]byte, error) {
	b, err := json.Marshal(meta{Role: m.Role, Actors: m.ActorAddress, Version: m.Version, Protocol: m.Protocol,
		Capacity: m.Capacity, Leaving: m.Leaving, Consensus: m.Consensus, Crawl: m.Crawl, Term: m.Term})
	if err != nil {
		return nil, fmt.Errorf("encode node metadata: %w", err)
	}
	if len(b) > memberlist.MetaMaxSize {
		return nil, fmt.Errorf("encode node metadata: %w: %d bytes, at most %d", ErrTooLong, len(b),
			memberlist.MetaMaxSize)
	}
	return b, nil
}

// decodeMember reads a node of the gossip; an error means that it is not one of ours.
func decodeMember(gossipName, address string, b []byte) (Member, error) {
	dot := strings.LastIndexByte(gossipName, '.')
	if dot < 0 {
		return Member{}, fmt.Errorf("node %q: no boot id in its name", gossipName)
	}
	var sent meta
	if err := json.Unmarshal(b, &sent); err != nil {
		return Member{}, fmt.Errorf("node %q: metadata: %w", gossipName, err)
	}
	m := Member{Name: gossipName[:dot], Boot: gossipName[dot+1:], Role: sent.Role, ActorAddress: sent.Actors,
		GossipAddress: address,
		Version:       sent.Version, Protocol: cmp.Or(sent.Protocol, 1), Capacity: sent.Capacity, Leaving: sent.Leaving,
		Consensus: sent.Consensus, Crawl: sent.Crawl, Term: sent.Term}
	return m, m.validate()
}

// validate keeps the member within what the rest of the program may rely on.
func (m Member) validate() error {
	if err := validName(m.Name); err != nil {
		return err
	}
	if m.Boot == "" || len(m.Boot) > 32 || strings.Trim(m.Boot, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return fmt.Errorf("node %q: boot id %q is not made of at most 32 digits and small letters", m.Name, m.Boot)
	}
	if m.Role != Master && m.Role != Slave && m.Role != Standby && m.Role != Guest {
		return fmt.Errorf("node %q: role %q is none of master, slave, standby and guest", m.Name, m.Role)
	}
	address, err := netip.ParseAddrPort(m.ActorAddress)
	if err != nil || address.Port() == 0 || address.Addr().IsUnspecified() {
		return fmt.Errorf("node %q: actor address %q is not ip:port", m.Name, m.ActorAddress)
	}
	if m.Consensus != "" {
		if _, err := netip.ParseAddrPort(m.Consensus); err != nil {
			return fmt.Errorf("node %q: consensus address %q is not ip:port", m.Name, m.Consensus)
		}
	}
	if m.Protocol < 1 {
		return fmt.Errorf("node %q: protocol %d", m.Name, m.Protocol)
	}
	if len(m.Crawl) > 32 || strings.Trim(m.Crawl, "0123456789abcdef") != "" {
		return fmt.Errorf("node %q: crawl %q is not made of at most 32 hexadecimal digits", m.Name, m.Crawl)
	}
	if m.Capacity < 0 {
		return fmt.Errorf("node %q: negative capacity", m.Name)
	}
	return nil
}

func validName(name string) error {
	if name == "" || len(name) > 128 {
		return fmt.Errorf("node name %q: it must have 1 to 128 letters", name)
	}
	for _, r := range name {
		if r <= ' ' || r == 0x7f || r == '/' || r == '\ufffd' {
			return fmt.Errorf("node name %q: no blanks, control characters and slashes, please", name)
		}
	}
	return nil
}

// gossipAddress is where a node of memberlist listens.
func gossipAddress(n *memberlist.Node) string {
	return net.JoinHostPort(n.Addr.String(), fmt.Sprint(n.Port))
}
