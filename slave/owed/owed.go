// Package owed keeps what a slave owes its master under a lease: facts that are durable here, until they are stored
// there.
//
// Facts become durable in any order. One gets its number when all before it, in the order of the visits, have theirs;
// then it is reported, and again until it is stored.
//
// Invariants:
//   - the numbers of a lease have no gaps, and follow the order of its visits;
//   - a fact that was reported is not changed: the master of this process may be reading it;
//   - a report is no larger than maxReport, unless it is a single fact.
package owed

import (
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"henro/messages"
)

// maxReport is how large one message may become: far under the 16 MB that a batch of 64 may have.
const maxReport = 128 << 10

// Fact is one fact of a lease, durable.
type Fact struct {
	Order   uint64 // of it, among those of its lease
	Message *messages.Fact
	Started time.Time // of its request: its age is reported; zero: it has none

	size     int  // bytes of Message, once it has its number
	reported bool // once or more
}

// Account counts what is kept, and says whether a bound is near.
type Account interface {
	Keep(facts, bytes int)
	Filling() bool
}

// Lease is what is owed under one lease.
type Lease struct {
	id       uint64
	host     string
	account  Account
	early    map[uint64]*Fact // durable before one that comes before them, by order
	next     uint64           // order of the fact that gets its number next
	seq      uint64           // the last number given
	unstored []*Fact          // numbered
	underWay int              // how many of unstored, from the first on, are reported
	at       time.Time        // of the last report
}

// New begins a lease, under which nothing is owed yet.
func New(id uint64, host string, account Account) Lease {
	return Lease{id: id, host: host, account: account, early: map[uint64]*Fact{}, next: 1}
}

// Put takes a fact to its place, and reports whether it is new.
func (l *Lease) Put(f *Fact) bool {
	if f.Order < l.next || l.early[f.Order] != nil {
		return false
	}
	l.early[f.Order] = f
	for f := l.early[l.next]; f != nil; f = l.early[l.next] {
		delete(l.early, l.next)
		l.next++
		for _, part := range splitLinks(f.Message.Visited, maxReport/2) {
			l.number(&Fact{Message: &messages.Fact{More: part}})
		}
		l.number(f)
	}
	return true
}

func (l *Lease) number(f *Fact) {
	l.seq++
	f.Message.Lease, f.Message.Seq, f.Message.Host = l.id, l.seq, l.host
	f.Message.Pressing = l.account.Filling()
	f.size = proto.Size(f.Message)
	l.unstored = append(l.unstored, f)
	l.account.Keep(1, f.size)
}

// Break ends a lease whose visits stopped short, in the middle of one or, with nil, between two. Facts that are not
// durable by now come too late.
func (l *Lease) Break(now time.Time, visit *messages.PageVisited) {
	l.next = math.MaxUint64
	clear(l.early)
	if visit != nil {
		l.number(&Fact{Message: &messages.Fact{Visited: visit}, Started: now})
	}
	l.number(&Fact{Message: &messages.Fact{Finished: &messages.LeaseFinished{Why: "failing"}}, Started: now})
}

// Waiting reports whether facts wait for one that comes before them.
func (l *Lease) Waiting() bool { return len(l.early) > 0 }

// Report returns the facts that are not under way, as they are to be sent together.
func (l *Lease) Report(now time.Time) (reports [][]*messages.Fact) {
	size := maxReport
	for _, f := range l.unstored[l.underWay:] {
		if size += f.size; size > maxReport {
			reports, size = append(reports, nil), f.size
		}
		last := len(reports) - 1
		reports[last] = append(reports[last], f.aged(now))
		l.underWay, l.at = l.underWay+1, now
	}
	return reports
}

// aged is the message of the fact with its age. One that was reported is copied first, since it must not change.
func (f *Fact) aged(now time.Time) *messages.Fact {
	m := f.Message
	if f.reported && !f.Started.IsZero() {
		m = proto.Clone(m).(*messages.Fact)
	}
	f.reported = true
	switch ago := max(0, int64(now.Sub(f.Started))); {
	case f.Started.IsZero():
	case m.Visited != nil:
		m.Visited.AgoNs = ago
	case m.Rules != nil:
		m.Rules.AgoNs = ago
	}
	return m
}

// Repeat has everything reported again, if nothing was reported for so long.
func (l *Lease) Repeat(now time.Time, after time.Duration) {
	if now.Sub(l.at) >= after {
		l.underWay = 0
	}
}

// Forget forgets the facts up to a number, and reports whether the end of the lease was among them.
func (l *Lease) Forget(seq uint64) (over bool) {
	n, size := 0, 0
	for n < len(l.unstored) && l.unstored[n].Message.Seq <= seq {
		size += l.unstored[n].size
		n++
	}
	l.account.Keep(-n, -size)
	over = n > 0 && l.unstored[n-1].Message.Finished != nil
	clear(l.unstored[:n]) // the array stays, and their links may be megabytes
	l.unstored, l.underWay = l.unstored[n:], max(0, l.underWay-n)
	return over
}

// splitLinks takes links off a visit until it fits into one message, and returns them in sets that each do.
func splitLinks(v *messages.PageVisited, most int) (parts []*messages.LinkSet) {
	set, size, from := v.GetLinks(), 0, 0
	for i, url := range set.GetUrls() {
		bytes := len(url) + len(set.Anchors[i]) + 16
		if size += bytes; size > most && i > from {
			parts = append(parts, section(set, from, i))
			from, size = i, bytes
		}
	}
	if from > 0 {
		v.Links = section(set, from, len(set.Urls))
	}
	return parts
}

func section(set *messages.LinkSet, from, to int) *messages.LinkSet {
	return &messages.LinkSet{Urls: set.Urls[from:to], Kinds: set.Kinds[from:to], Flags: set.Flags[from:to],
		Anchors: set.Anchors[from:to], Around: set.Around[min(from, len(set.Around)):min(to, len(set.Around))]}
}
