package frontiertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"henro/master/frontier"
	"henro/messages/scripttest"
)

// Scripts plays the golden scripts of testdata. The commands:
//
//	new POLICY [t=2s] [b=4] [h=2], and further numbers by the name of a setting
//	add HOST/NAME… [band=3]    link HOST HOST    done HOST… [rest=5s]
//	at 3s                      next [LIMIT]      more HOST LIMIT
//
// Host h7 has number 7; others are numbered as they come.
func Scripts(t *testing.T, begin func(frontier.Options, Numbers) (frontier.Frontier[string], error)) {
	t.Helper()
	scripttest.Play(t, func(said *strings.Builder) (func([]string) error, func()) {
		p := player{begin: begin, hosts: map[string]uint64{}}
		return func(words []string) error {
			answer, err := p.play(words)
			said.WriteString(answer)
			return err
		}, nil
	})
}

// Numbers gives the number of a setting, or the one that it has without.
type Numbers func(setting string, otherwise int) int

// player plays one script.
type player struct {
	begin func(frontier.Options, Numbers) (frontier.Frontier[string], error)
	f     frontier.Frontier[string]
	now   time.Duration
	hosts map[string]uint64
}

func (p *player) host(name string) uint64 {
	if n, err := strconv.ParseUint(strings.TrimPrefix(name, "h"), 10, 64); err == nil {
		return n
	}
	if _, ok := p.hosts[name]; !ok {
		p.hosts[name] = uint64(len(p.hosts))
	}
	return p.hosts[name]
}

func (p *player) play(words []string) (string, error) {
	settings := map[string]string{}
	args := slices.DeleteFunc(words[1:], func(w string) bool {
		key, value, ok := strings.Cut(w, "=")
		if ok {
			settings[key] = value
		}
		return ok
	})
	number := func(key string, fallback int) int {
		if n, err := strconv.Atoi(settings[key]); err == nil {
			return n
		}
		return fallback
	}
	span := func(word string) time.Duration {
		d, _ := time.ParseDuration(word)
		return d
	}
	switch words[0] {
	case "new":
		o := frontier.DefaultOptions()
		o.Policy, o.Interval = frontier.Policy(args[0]), span(settings["t"])
		o.SlotsB, o.SlotsH = number("b", o.SlotsB), number("h", o.SlotsH)
		p.now, p.hosts = 0, map[string]uint64{}
		var err error
		p.f, err = p.begin(o, number)
		return "", err
	case "add":
		var out strings.Builder
		for _, url := range args {
			host, _, _ := strings.Cut(url, "/")
			if lost, dropped := p.f.Add(frontier.Item[string]{Key: url, Host: p.host(host),
				Band: uint8(number("band", 0))}); dropped {
				fmt.Fprintf(&out, "lost %s\n", lost.Key)
			}
		}
		return out.String(), nil
	case "link":
		p.f.(interface{ Linked(from, to uint64) }).Linked(p.host(args[0]), p.host(args[1]))
		return "", nil
	case "at":
		p.now = span(args[0])
		return "", nil
	case "next":
		limit := 1000
		if len(args) > 0 {
			limit, _ = strconv.Atoi(args[0])
		}
		batch := p.f.Next(p.now, limit, nil)
		return fmt.Sprintf("%v: %s\n", p.now, keys(batch)), nil
	case "more":
		limit, err := strconv.Atoi(args[1])
		return keys(p.f.More(p.host(args[0]), limit, nil)) + "\n", err
	case "done":
		for _, host := range args {
			p.f.Done(p.host(host), p.now, span(settings["rest"]))
		}
		return "", nil
	}
	return "", fmt.Errorf("no such command")
}

func keys(batch []frontier.Item[string]) string {
	if len(batch) == 0 {
		return "nothing"
	}
	var names []string
	for _, item := range batch {
		names = append(names, item.Key)
	}
	return strings.Join(names, " ")
}
