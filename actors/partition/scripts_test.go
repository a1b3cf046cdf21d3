package partition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"henro/actors/protocol"
	"henro/messages/scripttest"
	"henro/messages/weburl"
	"henro/store"
)

// The commands of the scripts. The number of a partition is the last letter of the name of a host.
//
//	outbox [again]                     a new one
//	found URL [LEFT]                   links left to follow: does its owner lack it?
//	batch URL [LEFT]                   has it
//	committed PARCELS                  are on disk then
//	parcels PARTITION…                 the oldest on disk, by their owners
//	stored URL [LEFT]                  by the owner of its parcel
//	forgotten                          the parcels of one message
//
//	lines AHEAD                        new ones
//	hosts                              are there
//	at MOMENT                          since the start of the script
//	open [asked]                       slots, at that moment
//	read [more] [URL@MOMENT…]          what was wanted; more: there are others
//	line URL N [LIVE]                  of that host: so many were read, of which the last LIVE are due
//	again                              a round begins
//	next [MOMENT]                      a commit is over, and the next slot opens then
//
//	round [MOMENT]                     begins; without a moment: the crawl does not go in rounds
//	due URL [MOMENT]                   when it was visited last
//	visited URL [MOMENT] [again]       it failed, and is tried again
//
// What follows is the effects of the commands, and how many messages with parcels are under way, and pages in line,
// or that the round waits for.
func TestScripts(t *testing.T) {
	scripttest.Play(t, func(said *strings.Builder) (func([]string) error, func()) {
		p := &player{said: said}
		return p.play, func() {
			if p.round.retrying != nil {
				p.say("%d are tried again", len(p.round.retrying))
			} else if p.queues.queues != nil {
				p.say("%d waiting, %d of them held back", p.queues.waiting, len(p.queues.held))
			} else {
				p.say("%d messages under way", p.outbox.sending)
			}
		}
	})
}

// player plays one script.
type player struct {
	outbox outbox
	asked  int // for the partition of a host
	queues dueQueues
	round  round
	now    time.Time
	read   byte // pages so far
	said   *strings.Builder
}

// begun is the moment 0 of every script.
var begun = time.Unix(1_000_000_020, 0).UTC() // a full minute

func (p *player) say(format string, a ...any) { fmt.Fprintf(p.said, format+"\n", a...) }

func (p *player) partitionOf(host string) int {
	p.asked++
	n, _ := strconv.Atoi(host[len(host)-1:])
	return n
}

func (p *player) play(words []string) error {
	number := func(i int) int {
		if i < len(words) {
			n, _ := strconv.Atoi(words[i])
			return n
		}
		return 0
	}
	var c store.Candidate
	if len(words) > 1 {
		c = store.Candidate{URL: words[1], Host: weburl.HostOf(words[1]), DepthLeft: uint8(number(2))}
	}
	switch words[0] {
	case "outbox":
		p.outbox = newOutbox(p.partitionOf, len(words) > 1)
	case "found":
		owner := p.outbox.ownerOf(c.Host)
		p.say("%s of %d: lacks it %v, asked for %d hosts", c.URL, owner, p.outbox.lacks(&c), p.asked)
	case "batch":
		p.effects(p.outbox.Updated(&c))
	case "committed":
		p.effects(p.outbox.Updated(&store.Stats{Parcels: uint64(number(1))}))
	case "parcels":
		var parcels []store.Parcel
		for i := range words[1:] {
			parcels = append(parcels, store.Parcel{Partition: number(i + 1), Key: []byte{byte(i)}})
		}
		p.effects(p.outbox.Updated(parcels))
	case "stored":
		p.effects(p.outbox.Updated(&protocol.CandidatesStored{
			Parcels: []store.Parcel{{Key: []byte{7}, Candidates: []store.Candidate{c}}}}))
	case "forgotten":
		p.effects(p.outbox.Updated(&parcelsForgotten{}))
	default:
		return p.playLines(words)
	}
	return nil
}

func (p *player) playLines(words []string) error {
	moment := func(s string) time.Time {
		d, err := time.ParseDuration(s)
		if err != nil {
			return time.Time{}
		}
		return begun.Add(d)
	}
	last := words[len(words)-1]
	switch words[0] {
	case "lines":
		ahead, err := strconv.Atoi(last)
		p.queues, p.now = dueQueues{ahead: ahead}, begun
		p.queues.reset()
		return err
	case "hosts":
		p.tellDue(&protocol.WaitingHostsAsked{})
	case "at":
		p.now = moment(last)
	case "open":
		p.tellDue(&openDue{asked: last == "asked"})
	case "read":
		m := &dueRead{}
		for _, word := range words[1:] {
			if word == "more" {
				m.more = true
				continue
			}
			p.read++
			url, at, _ := strings.Cut(word, "@")
			m.entries = append(m.entries, store.Entry{Page: store.Page{URL: url, Next: moment(at)},
				Position: store.Position{p.read}})
		}
		m.after = store.Position{p.read}
		p.tellDue(m)
	case "line":
		m := &queueRead{host: store.IDOf(weburl.HostOf(words[1]))}
		var err error
		m.read, err = strconv.Atoi(words[2])
		if len(words) > 3 {
			live, _ := strconv.Atoi(last)
			m.live = slices.Clone(p.queues.queues[m.host][m.read-live : m.read])
		}
		p.tellDue(m)
		p.say("left in line: %v", p.queues.queues[m.host])
		return err
	case "again":
		p.tellDue(&protocol.RoundBegun{})
	case "next":
		m := &slotNext{at: moment(last)}
		if len(words) > 2 {
			m.within = p.now.Add(dueForRound)
		}
		p.tellDue(m)
	case "round":
		p.round = round{on: len(words) > 1, begun: moment(last), retrying: map[string]struct{}{}}
	case "due":
		p.say("passed over: %v", p.round.passesOver(&store.Page{LastVisit: moment(last)}))
	case "visited":
		v := &store.Visited{Page: store.Page{URL: words[1]}, Retry: last == "again"}
		if len(words) > 2 {
			v.Page.LastVisit = moment(words[2])
		}
		p.round.visited(v)
	default:
		return fmt.Errorf("no such command")
	}
	return nil
}

func (p *player) tellDue(fact any) { p.effects(p.queues.Updated(p.now, fact)) }

func (p *player) effects(effects []any) {
	for _, effect := range effects {
		switch m := effect.(type) {
		case *dueWanted:
			p.say("read slots until %v, behind %v", p.queues.until.Sub(begun), p.queues.after)
		case *protocol.HostDue:
			p.say("%s: %d in line", m.Host, m.Count)
		case *openDue:
			p.say("open, soon")
		case *splitWanted:
			p.say("split slots")
		case *dueLater:
			p.say("open in %v", m.wait)
		case *parcelsWanted:
			p.say("read parcels")
		case *protocol.CandidatesSent:
			for _, parcel := range m.Parcels {
				p.say("send parcel %d to %d", parcel.Key[0], parcel.Partition)
			}
		case *protocol.CandidatesStored:
			p.say("forget parcel %d", m.Parcels[0].Key[0])
		default:
			p.say("%T", m)
		}
	}
}
