package course

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"henro/actors/protocol"
	"henro/master/lending"
	"henro/master/window"
	"henro/messages/scripttest"
	"henro/messages/speech"
	"henro/store"
)

// The commands of the scripts. Moments are counted from the start of the script, a Monday at noon.
//
//	new [for=1h] [bytes=9] [hours="Mon 12:00-13:00 UTC" with _ for blanks] [stall=2m] [limit=1m] [continuous]
//	    [again] [every=1h] [thesis] [paused] [end=stopped] [partitions=2]
//	at 5s          later 10s
//	lent COUNT     restoring      closing [off]      what the lending says when it is asked
//	open    begin    pause    resume    stop    deposed    heard    closed    tick    ticks 60s: one a second
//	seeds COUNT    seeded
//	quiet PARTITION [waiting=1] [due=1] [unsettled=1] [commits=7] [bytes=5] [pages=3] [requisites]: the last round
//	drawn [all]    marked: a partition has made its pages due
//	fails PARTITION full|damage|other      stores PARTITION
func TestScripts(t *testing.T) {
	scripttest.Play(t, func(said *strings.Builder) (func([]string) error, func()) {
		p := &player{said: said}
		return p.play, func() {
			fmt.Fprintf(said, "%s%s\n", p.course.phase, " "+string(p.course.end))
			text := strings.ReplaceAll(said.String(), " \n", "\n")
			said.Reset()
			said.WriteString(text)
		}
	})
}

// begun is the moment 0 of every script.
var begun = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// player plays one script. It is what the course asks of the lending, too.
type player struct {
	now       time.Time
	course    *Course
	said      *strings.Builder
	open      int
	restoring bool
	closing   bool
}

func (p *player) OpenCount() int { return p.open }
func (p *player) Restored() bool { return !p.restoring }
func (p *player) Closing() bool  { return p.closing }
func (p *player) Stalled(_ time.Time, quiet time.Duration, waiting uint64) (map[string]int, speech.Sentence) {
	if p.open > 0 {
		return map[string]int{"lent": p.open}, speech.Say("nothing for %s", quiet)
	}
	return map[string]int{lending.StallUnready: 1}, speech.Say("nothing for %s, %d wait", quiet, waiting)
}

func (p *player) play(line []string) error {
	named := map[string]string{}
	var plain []string
	for _, word := range line[1:] {
		if key, value, found := strings.Cut(word, "="); found {
			named[key] = value
		} else {
			plain = append(plain, word)
		}
	}
	number := func(key string) int {
		n, _ := strconv.Atoi(named[key])
		return n
	}
	switch command := line[0]; command {
	case "new":
		return p.begin(named, plain)
	case "at", "later":
		d, err := time.ParseDuration(plain[0])
		if p.now = p.now.Add(d); command == "at" {
			p.now = begun.Add(d)
		}
		return err
	case "lent":
		p.open, _ = strconv.Atoi(plain[0])
	case "restoring":
		p.restoring = !p.restoring
	case "closing":
		p.closing = len(plain) == 0
	case "ticks":
		d, err := time.ParseDuration(plain[0])
		for range d / time.Second {
			p.now = p.now.Add(time.Second)
			p.tell(&Tick{})
		}
		return err
	case "seeds":
		writes, err := strconv.Atoi(plain[0])
		p.tell(&SeedsSent{writes})
		return err
	case "quiet":
		partition, err := strconv.Atoi(plain[0])
		p.tell(&protocol.QuietReported{Partition: partition, Survey: p.course.surveys.number,
			Unsettled: number("unsettled"), Commits: uint64(number("commits")), Due: number("due"),
			Requisites: slices.Contains(plain, "requisites"), Stats: store.Stats{Waiting: uint64(number("waiting"))},
			Totals: protocol.Totals{Bytes: uint64(number("bytes")), Pages: uint64(number("pages"))}})
		return err
	case "fails":
		partition, err := strconv.Atoi(plain[0])
		p.tell(&protocol.StoreStalled{Partition: partition, Err: map[string]error{"full": store.ErrDiskFull,
			"damage": store.ErrCorrupt, "other": errors.ErrUnsupported}[plain[1]]})
		return err
	case "stores":
		partition, err := strconv.Atoi(plain[0])
		p.tell(&protocol.StoreResumed{Partition: partition})
		return err
	default:
		fact, ok := map[string]any{"open": &Opened{}, "begin": &Begin{}, "pause": &Pause{}, "resume": &Resume{},
			"stop": &Stop{Why: Stopped}, "deposed": &RivalLeads{}, "heard": &lending.Heard{}, "closed": &LastClosed{},
			"tick": &Tick{}, "seeded": &SeedsStored{}, "drawn": &DrawnOut{len(plain) > 0},
			"marked": &protocol.OrderDone{}}[command]
		if !ok {
			return errors.New("no command")
		}
		p.tell(fact)
	}
	return nil
}

func (p *player) begin(named map[string]string, plain []string) error {
	span := func(key string) time.Duration {
		d, _ := time.ParseDuration(named[key])
		return d
	}
	partitions, _ := strconv.Atoi(named["partitions"])
	o := Options{Begun: begun, Paused: slices.Contains(plain, "paused"), End: End(named["end"]), For: span("for"),
		StallAfter: span("stall"), StallLimit: span("limit"), Continuous: slices.Contains(plain, "continuous"),
		RoundEvery: span("every"), Tasks: slices.Contains(plain, "thesis"), Partitions: max(1, partitions)}
	o.MaxBytes, _ = strconv.ParseUint(named["bytes"], 10, 64)
	if slices.Contains(plain, "again") {
		o.Series = NewSeries(nil, Round{Begun: begun})
	}
	if hours := named["hours"]; hours != "" {
		w, err := window.Parse(strings.ReplaceAll(hours, "_", " "))
		if err != nil {
			return err
		}
		o.Hours = window.Hours{w}
	}
	p.now, p.open, p.restoring, p.closing = begun, 0, false, false
	p.course = New(o, p)
	return nil
}

func (p *player) tell(fact any) {
	for _, effect := range p.course.Updated(p.now, fact) {
		switch m := effect.(type) {
		case *lending.Halted:
			p.said.WriteString("lending: take all leases back" + map[bool]string{true: ", cut requests"}[m.Cut] + "\n")
		case *lending.Resumed:
			p.said.WriteString("lending: go on\n")
		case *lending.Said:
			fmt.Fprintf(p.said, "log: %s: %s", m.Level, m.Phrase)
			if why := m.Fields["why"]; why != nil {
				fmt.Fprintf(p.said, ": %v", why)
			}
			p.said.WriteString("\n")
		case *protocol.QuietAsked:
			fmt.Fprintf(p.said, "partitions: survey %d, requisites %v\n", m.Survey, m.Requisites)
		case *protocol.RoundBegun:
			fmt.Fprintf(p.said, "partitions: a round begins at %s\n", m.At.Sub(begun))
		case *RoundsChanged:
			last := p.course.o.Series.last()
			fmt.Fprintf(p.said, "rounds.json: round %d, %d new, ended %v\n", last.Number, last.New,
				!last.Ended.IsZero())
		default:
			fmt.Fprintf(p.said, "%T\n", m)
		}
	}
}
