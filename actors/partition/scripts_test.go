package partition

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"henro/messages/scripttest"
	"henro/messages/weburl"
	"henro/store"
)

// The commands of the scripts. The number of a partition is the last letter of the name of a host.
//
//	outbox [again]                     a new one
//	found URL [LEFT]                   links left to follow
//	add URL [LEFT]                     by a batch
//	post PARTITION…                    the parcels on disk, by their owners
//	delivered URL [LEFT]               in a parcel      cleared
//
//	lines AHEAD                        new ones, which the Hosts listen to
//	at MOMENT                          since the start of the script
//	open [asked]                       slots, at that moment
//	read [URL@MOMENT…]                 what open asked for
//	ended URL N                        the first so many of the line of that host
//	room                               is there to read on?
//	reset                              for a new round
//	wait [MOMENT]                      the next slot opens then
//
//	round [MOMENT]                     begins; without a moment: the crawl does not go in rounds
//	due URL [MOMENT]                   when it was visited last
//	visited URL [MOMENT] [again]       it failed, and is tried again
//
// What follows is what comes out of the commands, and how many messages with parcels are under way, and pages in line,
// or that the round waits for.
func TestScripts(t *testing.T) {
	scripttest.Play(t, func(said *strings.Builder) (func([]string) error, func()) {
		p := &player{said: said}
		return p.play, func() {
			if p.round.retrying != nil {
				p.say("%d are tried again", len(p.round.retrying))
			} else if p.lines.begun {
				p.say("%d waiting, %d of them held back", p.lines.waiting, len(p.lines.held))
			} else {
				p.say("%d under way", p.outbox.sending)
			}
		}
	})
}

// player plays one script.
type player struct {
	outbox outbox
	asked  int // for the partition of a host
	lines  dueLines
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
		p.say("%s of %d: lacking %v, asked for %d hosts", c.URL, owner, p.outbox.found(&c), p.asked)
	case "add":
		p.say("%s: lacked %v", c.URL, p.outbox.add(&c))
	case "post":
		var parcels []store.Parcel
		for i := range words[1:] {
			parcels = append(parcels, store.Parcel{Partition: number(i + 1), Key: []byte{byte(i)}})
		}
		to := p.outbox.post(parcels)
		for owner := range 10 {
			for _, parcel := range to[owner] {
				p.say("parcel %d to %d", parcel.Key[0], owner)
			}
		}
	case "delivered":
		p.outbox.delivered([]store.Parcel{{Candidates: []store.Candidate{c}}})
	case "cleared":
		p.outbox.cleared()
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
		p.lines, p.now = newDueLines(ahead), begun
		p.lines.begun = true
		return err
	case "at":
		p.now = moment(last)
	case "open":
		if p.lines.open(p.now, last == "asked") {
			p.say("reads slots until %v, behind %v", p.lines.until.Sub(begun), p.lines.after)
		}
		p.sayGrown()
	case "read":
		var entries []store.Entry
		for _, word := range words[1:] {
			p.read++
			url, at, _ := strings.Cut(word, "@")
			entries = append(entries, store.Entry{Page: store.Page{URL: url, Next: moment(at)},
				Position: store.Position{p.read}})
		}
		p.lines.read(entries, store.Position{p.read})
		p.sayGrown()
	case "ended":
		id := store.IDOf(weburl.HostOf(words[1]))
		n, err := strconv.Atoi(last)
		line := p.lines.lines[id]
		p.lines.keep(id, append(line[:0], line[n:]...))
		p.say("%d left in line: %v", p.lines.count(id), p.lines.lines[id])
		return err
	case "room":
		p.say("room: %v", p.lines.room())
	case "reset":
		p.lines.reset()
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
	case "wait":
		if wait, ok := p.lines.wait(p.now, moment(last)); ok {
			p.say("opens again in %v", wait)
		} else {
			p.say("waits for room")
		}
	default:
		return fmt.Errorf("no such command")
	}
	return nil
}

func (p *player) sayGrown() {
	for _, host := range slices.Sorted(maps.Keys(p.lines.grown)) {
		p.say("%s: %d in line", host, p.lines.count(store.IDOf(host)))
	}
	clear(p.lines.grown)
}
