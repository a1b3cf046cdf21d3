package owed

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"henro/messages"
	"henro/messages/scripttest"
)

// The commands of the scripts. All are about one lease, and moments are counted from the start of the script.
//
//	at 5s                                   near: a bound is, from now on
//	fact ORDER visit /page [at=1s] [links=COUNT]        fact ORDER robots [at=1s]        fact ORDER finished
//	report        repeat AFTER        stored SEQ        break [/page]
//
// What follows is what comes out of the commands, and what is kept then.
func TestScripts(t *testing.T) {
	scripttest.Play(t, func(said *strings.Builder) (func([]string) error, func()) {
		p := &player{now: begun, said: said}
		p.lease = New(7, "http://a.test", p)
		return p.play, func() {
			fmt.Fprintf(said, "kept: %d facts\n", p.facts)
			if p.lease.Waiting() {
				said.WriteString("facts wait\n")
			}
		}
	})
}

// begun is the moment 0 of every script.
var begun = time.Unix(1_000_000_020, 0).UTC()

// player plays one script, and is the account of its lease.
type player struct {
	now          time.Time
	lease        Lease
	facts, bytes int
	near         bool
	said         *strings.Builder
}

func (p *player) Keep(facts, bytes int) { p.facts, p.bytes = p.facts+facts, p.bytes+bytes }
func (p *player) Filling() bool         { return p.near }

func (p *player) play(words []string) error {
	named, plain := map[string]string{}, []string{}
	for _, word := range words[1:] {
		if key, value, found := strings.Cut(word, "="); found {
			named[key] = value
		} else {
			plain = append(plain, word)
		}
	}
	var number int
	var span time.Duration
	var err error
	switch words[0] {
	case "fact", "stored":
		number, err = strconv.Atoi(plain[0])
	case "at", "repeat":
		span, err = time.ParseDuration(plain[0])
	}
	if err != nil {
		return err
	}
	switch words[0] {
	case "at":
		p.now = begun.Add(span)
	case "near":
		p.near = true
	case "fact":
		f := &Fact{Order: uint64(number), Message: &messages.Fact{}}
		if at, ok := named["at"]; ok {
			if span, err = time.ParseDuration(at); err != nil {
				return err
			}
			f.Started = begun.Add(span)
		}
		switch plain[1] {
		case "visit":
			f.Message.Visited = &messages.PageVisited{Url: plain[2]}
			links, _ := strconv.Atoi(named["links"])
			if links > 0 {
				f.Message.Visited.Links = linkSet(links)
			}
		case "robots":
			f.Message.Rules = &messages.RulesVisited{}
		case "finished":
			f.Message.Finished = &messages.LeaseFinished{Why: "done"}
		}
		if !p.lease.Put(f) {
			p.said.WriteString("known\n")
		}
	case "break":
		var visit *messages.PageVisited
		if len(plain) > 0 {
			visit = &messages.PageVisited{Url: plain[0]}
		}
		p.lease.Break(p.now, visit)
	case "repeat":
		p.lease.Repeat(p.now, span)
		p.report()
	case "report":
		p.report()
	case "stored":
		if p.lease.Forget(uint64(number)) {
			p.said.WriteString("over\n")
		}
		if (p.facts == 0) != (p.bytes == 0) {
			return fmt.Errorf("%d bytes of %d facts are kept", p.bytes, p.facts)
		}
	default:
		return fmt.Errorf("no such command")
	}
	return nil
}

// report shows each report on a line.
func (p *player) report() {
	for _, report := range p.lease.Report(p.now) {
		p.said.WriteString("report:")
		for i, f := range report {
			if i > 0 {
				p.said.WriteString(",")
			}
			fmt.Fprintf(p.said, " %d", f.Seq)
			ago := int64(0)
			switch {
			case f.Visited != nil:
				ago = f.Visited.AgoNs
				fmt.Fprintf(p.said, " %s", f.Visited.Url)
				if n := len(f.Visited.Links.GetUrls()); n > 0 {
					fmt.Fprintf(p.said, " with %d links", n)
				}
			case f.Rules != nil:
				ago = f.Rules.AgoNs
				p.said.WriteString(" robots")
			case f.More != nil:
				fmt.Fprintf(p.said, " %d links", len(f.More.Urls))
			case f.Finished != nil:
				fmt.Fprintf(p.said, " finished, %s", f.Finished.Why)
			}
			if ago > 0 {
				fmt.Fprintf(p.said, " %v ago", time.Duration(ago))
			}
			if f.Pressing {
				p.said.WriteString(" pressing")
			}
			if f.Lease != 7 || f.Host != "http://a.test" {
				fmt.Fprintf(p.said, " of lease %d of %s", f.Lease, f.Host)
			}
		}
		p.said.WriteString("\n")
	}
}
