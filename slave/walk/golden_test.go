package walk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"henro/actors/admission"
	"henro/actors/robots"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/scripttest"
	"henro/messages/weburl"
)

// The commands of the scripts. Moments are counted from the start of the script, paths are of the host.
//
//	lease [/page…] [req:/style.css] [interval=1s] [first=0s] [until=1m] [budget=9] [pages=2]
//	      [ratio=0] [parallel=1] [follow] [malformed] [known] [disallow=/x]
//	      known: the rules are, which disallow nothing or what is given
//	at 5s        until 2m        finish WHY      scarce | roomy
//	ask          answer STATUS [of=/page] [took=0s] [reason=TIMEOUT] [stale] [to=URL] [disallow=/x] [delay=9s] [tdm]
//	parsed [/page…] [req:/style.css] [render:/page]   of a page      parsed rules: of the last answer for them
//	absent       the page whose scripts are to be run is not archived here
//
// What follows is what comes out of the commands, and what is to be done then.
func TestScripts(t *testing.T) {
	scripttest.Play(t, func(said *strings.Builder) (func([]string) error, func()) {
		p := &player{now: begun, said: said}
		return p.play, p.step
	})
}

const host = "http://a.test"

// begun is the moment 0 of every script.
var begun = time.Unix(1_000_000_020, 0).UTC()

// player plays one script.
type player struct {
	now    time.Time
	walk   *Walk
	scarce bool
	file   *File // after the last answer for the rules
	said   *strings.Builder
}

// step says what is to be done.
func (p *player) step() {
	switch p.walk.Step(p.now, p.scarce) {
	case Await:
		for _, v := range p.walk.Asked() {
			p.say("awaits %s", v.URL)
		}
	case Rest:
		p.say("rests until %v", p.walk.At().Sub(begun))
	case Ask:
		p.say("asks")
	case Wait:
		p.say("waits for a parser")
	case End:
		end := p.walk.Finished()
		p.say("ends: %s, %d visits", end.Why, end.Visits)
	}
}

func (p *player) say(format string, a ...any) { fmt.Fprintf(p.said, format+"\n", a...) }

func (p *player) tell(visits []*messages.PageVisited) {
	for _, v := range visits {
		p.say("fact: %s %v", v.Url, v.Reason)
	}
}

func rulesText(named map[string]string) string {
	text := "User-agent: *\nDisallow: " + named["disallow"] + "\n"
	if d, err := time.ParseDuration(named["delay"]); err == nil {
		text += fmt.Sprintf("Crawl-delay: %v\n", d.Seconds())
	}
	return text
}

// visits are those of the words with a slash.
func visits(words []string) (all []Visit) {
	for _, word := range words {
		path, isRequisite := strings.CutPrefix(word, "req:")
		path, renders := strings.CutPrefix(path, "render:")
		if u, err := weburl.Parse(host + path); err == nil && strings.HasPrefix(path, "/") {
			v := Visit{URL: u, Left: 2, Depth: 1}
			if isRequisite {
				v.Requisite = 1
			}
			v.Render = renders
			all = append(all, v)
		}
	}
	return all
}

func (p *player) play(words []string) error {
	named, plain, flags := map[string]string{}, []string{}, map[string]bool{}
	for _, word := range words[1:] {
		key, value, found := strings.Cut(word, "=")
		if found {
			named[key] = value
		} else {
			plain, flags[word] = append(plain, word), true
		}
	}
	span := func(key string, otherwise time.Duration) time.Duration {
		if d, err := time.ParseDuration(named[key]); err == nil {
			return d
		}
		return otherwise
	}
	number := func(key string, otherwise int) int {
		if n, err := strconv.Atoi(named[key]); err == nil {
			return n
		}
		return otherwise
	}
	switch words[0] {
	case "lease":
		interval := span("interval", time.Second)
		task := &messages.HostTask{Host: host, IntervalNs: int64(interval), Follow: flags["follow"],
			FirstAfterNs: int64(span("first", 0)),
			PageBudget:   uint32(number("budget", 9)), PageLimit: int32(number("pages", 0)),
			Ratio: float64(number("ratio", 0)), Parallel: uint32(number("parallel", 0))}
		if flags["known"] {
			task.Robots, _ = robots.Parse([]byte(rulesText(named)), "henro").MarshalBinary()
		}
		for _, v := range visits(plain) {
			task.Tasks = append(task.Tasks, &messages.Task{Url: v.URL.String(), DepthLeft: v.Left,
				Requisite: uint32(v.Requisite), Render: v.Render})
		}
		if flags["malformed"] {
			task.Tasks = append(task.Tasks, &messages.Task{Url: "http://[::1"})
		}
		var malformed []*messages.PageVisited
		p.walk, malformed = New(p.now, Lease{Task: task, Until: p.now.Add(span("until", time.Minute)),
			Links: &admission.Options{MaxRedirects: 20}})
		p.tell(malformed)
	case "at", "until":
		d, err := time.ParseDuration(plain[0])
		if words[0] == "at" {
			p.now = begun.Add(d)
		} else {
			p.walk.Until = begun.Add(d)
		}
		return err
	case "scarce", "roomy":
		p.scarce = words[0] == "scarce"
	case "finish":
		p.walk.Finish(strings.Join(plain, " "))
	case "ask":
		v, denied := p.walk.Ask(p.now)
		p.tell(denied)
		if v != nil {
			kind := "a page"
			switch {
			case v.Render:
				kind = "to be shown"
			case v.File != nil:
				kind = "the rules"
			case v.Requisite == outlink.PageToo:
				kind = "a page and requisite"
			case v.isRequisite():
				kind = "a requisite"
			}
			p.say("asked for %s, %s", v.URL, kind)
		}
	case "answer":
		return p.answer(named, plain, flags, span("took", 0))
	case "parsed":
		var file *File
		if flags["rules"] {
			file = p.file
		}
		found := visits(plain)
		links := slices.DeleteFunc(slices.Clone(found), func(v Visit) bool { return v.Render })
		p.walk.Parsed(p.now, file, links)
		for _, v := range found {
			if v.Render {
				p.walk.Render(v, links)
			}
		}
	case "absent":
		p.walk.Absent(p.walk.Asked()[0])
	default:
		return fmt.Errorf("no such command")
	}
	return nil
}

func (p *player) answer(named map[string]string, plain []string, flags map[string]bool, took time.Duration) error {
	status, err := strconv.Atoi(plain[0])
	v := p.walk.Asked()[0]
	for _, other := range p.walk.Asked() {
		if other.URL.String() == host+named["of"] {
			v = other
		}
	}
	a := &Answer{URL: v.URL, Status: status, Location: named["to"], Took: took, Stale: flags["stale"],
		Reason: messages.Reason(messages.Reason_value[named["reason"]])}
	switch {
	case v.File == nil:
	case v.File.TDM():
		a.Body = []byte(`[{"location": "/", "tdm-reservation": 1}]`)
	default:
		a.Body = []byte(rulesText(named))
	}
	if !p.walk.Answered(p.now, v, a) {
		p.say("nothing to parse")
		return err
	}
	if v.File != nil {
		file := v.File.Answered(a, "henro", flags["tdm"])
		p.file = &file
		switch {
		case file.Elsewhere:
			p.say("rules elsewhere: %s", file.Ask)
		case file.Rules == nil:
			p.say("rules next: %s", file.Ask)
		default:
			p.say("rules: %s", strings.Join(strings.Fields(file.Rules.String()), " "))
		}
	}
	return err
}
