package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"henro/.ci/lab/process"
	"henro/.ci/lab/tab"
)

// slave is one of three, in a process of its own.
type slave struct {
	name string
	http string // where it answers
}

// cluster starts a master and three slaves that crawl the same web. A lease is short, so that hosts change hands.
func (t *trial) cluster() (base string, slaves []slave, err error) {
	ports := make([]string, 6)
	for i := range ports {
		if ports[i], err = process.FreePort(); err != nil {
			return "", nil, err
		}
	}
	gossip := ports[1]
	arguments := append([]string{"--dir", filepath.Join(t.dir, "cluster"), "--listen-http", ports[0], "--gossip",
		gossip, "--actors", ports[2], "--page-budget", "5"}, t.crawls...)
	if _, err := t.group.Start("master", filepath.Join(t.bin, "henro-master"),
		append(arguments, t.seeds...)...); err != nil {
		return "", nil, err
	}
	for i, name := range []string{"pc-01", "pc-02", "pc-03"} {
		s := slave{name, ports[3+i]}
		if _, err := t.group.Start(name, filepath.Join(t.bin, "henro-slave"), "--join", gossip, "--name", name, "--dir",
			filepath.Join(t.dir, name), "--connections", "30", "--listen-http", s.http); err != nil {
			return "", nil, err
		}
		slaves = append(slaves, s)
	}
	return "http://" + ports[0], slaves, nil
}

// stands are what the master says of its slaves.
func (b *browser) stands() (map[string]stand, error) {
	body, err := b.get(b.base + "/api/slaves")
	if err != nil {
		return nil, err
	}
	var all []stand
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	byName := map[string]stand{}
	for _, s := range all {
		byName[s.Name] = s
	}
	return byName, nil
}

type stand struct {
	Name, State string
	Leases      int
	Mailboxes   []struct{ Kind string }
}

func (b *browser) get(url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(b.ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := (&http.Client{Timeout: patience}).Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

var visitCount = regexp.MustCompile(`(?m)^henro_slave_visits_total (\S+)$`)

// visits is how many a slave has made, by its own count.
func (b *browser) visits(s slave) (float64, error) {
	body, err := b.get("http://" + s.http + "/metrics")
	if err != nil {
		return 0, err
	}
	found := visitCount.FindSubmatch(body)
	if found == nil {
		return 0, fmt.Errorf("%s does not count its visits", s.name)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// hostsOf are the hosts that the page of nodes shows with a slave.
func (b *browser) hostsOf(name string) (hosts []string, err error) {
	err = b.do(tab.Evaluate(fmt.Sprintf(`[...document.querySelectorAll("li.card")].filter(c => `+
		`c.querySelector("h2").textContent.trim().startsWith(%q)).flatMap(c => [...c.querySelectorAll(".chips `+
		`a")].map(a => a.textContent))`, name), &hosts))
	return hosts, err
}

// press presses the button of a slave. The page may be renewed meanwhile, so it is tried until the master has heard of
// it.
func (b *browser) press(action, name, said string) error {
	button := "form[action='/do/" + action + "'] input[value='" + name + "'] ~ button"
	var last error
	err := until(b.ctx, func() bool {
		text := ""
		if last = b.do(b.to("/nodes"), chromedp.Focus(chromedp.CSS(button)), chromedp.KeyEvent("\r"),
			chromedp.WaitVisible(chromedp.CSS(".said"))); last == nil {
			text, last = b.text(".said")
		}
		return last == nil && strings.Contains(text, said)
	})
	return errors.Join(err, last)
}

func (b *browser) drain() error {
	base, slaves, err := b.cluster()
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.base, b.bases = base, append(b.bases, base)
	b.mu.Unlock()
	drained := slaves[1]
	if err := until(b.ctx, func() bool {
		stands, err := b.stands()
		holding := 0
		for _, s := range stands {
			if s.Leases > 0 && len(s.Mailboxes) > 0 {
				holding++
			}
		}
		return err == nil && holding == len(slaves)
	}); err != nil {
		return fmt.Errorf("every slave has hosts: %w", err)
	}
	if err := b.do(b.to("/nodes"), chromedp.WaitVisible(chromedp.CSS("li.card:nth-of-type(3) .boxes"))); err != nil {
		return fmt.Errorf("mailboxes of three slaves: %w", err)
	}
	var had []string
	if err := until(b.ctx, func() bool {
		had, err = b.hostsOf(drained.name)
		return err == nil && len(had) > 0
	}); err != nil {
		return fmt.Errorf("hosts of %s: %w", drained.name, err)
	}
	if err := b.press("drain", drained.name, "gives its hosts back"); err != nil {
		return fmt.Errorf("drain %s: %w", drained.name, err)
	}
	if err := b.do(chromedp.WaitVisible(chromedp.CSS(".tag.s-drained"))); err != nil { // by the stream of events
		return fmt.Errorf("%s is drained: %w", drained.name, err)
	}
	if b.pictures != "" {
		if err := errors.Join(b.take(picture{"dashboard-nodes", "/nodes", "light", "en", 1280, 1240}),
			b.look("light", "en", 1280, 860)); err != nil {
			return err
		}
	}
	before, err := b.visits(drained)
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for _, host := range had {
		left[host] = true
	}
	since := time.Now()
	if err := until(b.ctx, func() bool {
		for _, other := range []slave{slaves[0], slaves[2]} {
			hosts, err := b.hostsOf(other.name)
			if err != nil {
				return false
			}
			for _, host := range hosts {
				delete(left, host)
			}
		}
		return len(left) == 0 && time.Since(since) > 3*time.Second
	}); err != nil {
		return fmt.Errorf("%d of the %d hosts of %s went to nobody: %w", len(left), len(had), drained.name, err)
	}
	after, err := b.visits(drained)
	stands, asked := b.stands()
	if err := errors.Join(err, asked); err != nil {
		return err
	}
	if s := stands[drained.name]; after != before || s.Leases > 0 || s.State != "drained" {
		return fmt.Errorf("%s made %.0f visits after it was drained, holds %d hosts and is %s", drained.name,
			after-before, s.Leases, s.State)
	}
	if err := b.press("undrain", drained.name, "lent hosts again"); err != nil {
		return fmt.Errorf("put %s back to work: %w", drained.name, err)
	}
	if err := until(b.ctx, func() bool {
		stands, err := b.stands()
		return err == nil && stands[drained.name].Leases > 0
	}); err != nil {
		return fmt.Errorf("%s has hosts again: %w", drained.name, err)
	}
	return nil
}
