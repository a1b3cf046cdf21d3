package partition

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

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
// What follows is what comes out of the commands, and how many messages with parcels are under way.
func TestScripts(t *testing.T) {
	scripttest.Play(t, func() func([][]string) (string, error) {
		p := &player{}
		return func(commands [][]string) (string, error) {
			p.said.Reset()
			for _, words := range commands {
				if err := p.play(words); err != nil {
					return p.said.String(), fmt.Errorf("%q: %w", words, err)
				}
			}
			p.say("%d under way", p.outbox.sending)
			return p.said.String(), nil
		}
	})
}

// player plays one script.
type player struct {
	outbox outbox
	asked  int // for the partition of a host
	said   strings.Builder
}

func (p *player) say(format string, a ...any) { fmt.Fprintf(&p.said, format+"\n", a...) }

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
		return fmt.Errorf("no such command")
	}
	return nil
}
