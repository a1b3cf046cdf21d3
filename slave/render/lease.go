package render

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"time"

	"henro/actors/living"
	"henro/messages/weburl"
)

const (
	// Samples bounds the pages of a lease whose scripts are run to learn what pages like them need. The others wait.
	Samples = 8
	// Renderings is how often a page is shown while something of it is missing and it does not go on.
	Renderings = 3
)

// Lease says under a lease which pages have their scripts run; a nil Lease runs none. Its methods may be called from
// any goroutine.
type Lease struct {
	*Renderer
	Mode      string           // auto, all; else only Patterns count
	Patterns  []*regexp.Regexp // of pages whose scripts are run in any case
	Behaviour string           // the user's script for the host

	mu      sync.Mutex // guards what follows
	living  living.Host
	sampled []string // URLs of pages that were shown to learn from
}

// Knows takes what rendering showed of the host's pages before.
func (l *Lease) Knows(note []byte) error { return l.living.UnmarshalBinary(note) }

// Recalled is Archived for a capture that an earlier process made.
func (l *Lease) Recalled(url weburl.URL, at time.Time, file string, offset int64) {
	if l != nil {
		l.Archived(url.String(), at, file, offset)
	}
}

// Full reports that enough pages of the lease were shown to learn from.
func (l *Lease) Full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sampled) >= Samples
}

// samples reports whether a page is one to learn from.
func (l *Lease) samples(url string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.sampled, url) {
		if len(l.sampled) >= Samples {
			return false
		}
		l.sampled = append(l.sampled, url)
	}
	return true
}

// Decide says what is done with a page that was fetched; scripted and runs are what its static scan says.
func (l *Lease) Decide(url string, scripted, runs bool) living.Decision {
	ordered := func(pattern *regexp.Regexp) bool { return pattern.MatchString(url) }
	switch {
	case l.Mode == "all", slices.ContainsFunc(l.Patterns, ordered):
		return living.Render
	case l.Mode == "auto":
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.living.Decide(url, scripted, runs)
	}
	return living.Static
}

// Expand returns the URLs that rules name for a page.
func (l *Lease) Expand(url string, html []byte) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.living.Expand(url, html)
}

// Learn lets the pages of the lease have what the one before showed, and returns it for the Host, which learns it once
// it is stored; nil: nothing. Where all pages are shown it decides nothing, but what rules name is there when a page is
// shown for the first time.
func (l *Lease) Learn(s *living.Sample) []byte {
	if l.Mode != "auto" && l.Mode != "all" {
		return nil
	}
	finding := s.Finding()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.living.Learn(s.URL, &finding)
	note, _ := finding.MarshalBinary() // never fails
	return note
}

// Show takes a page from the archive, and has its scripts run: if that is decided, if something has come of what it
// lacked the last time, and, where it is one to learn from, if the lease has not had enough of those. What rules name
// for it is asked for first, once: it is in Missing, and the page is not shown. ErrAbsent: the page is not there. never
// is as in Run.
func (l *Lease) Show(ctx context.Context, url weburl.URL, attempts uint16,
	never func(weburl.URL, string) bool) (*Page, error) {
	if l == nil {
		return nil, ErrAbsent
	}
	page, err := l.Read(ctx, url)
	if err != nil {
		return nil, err
	}
	page.Attempts, page.Vain = attempts, l.vain(url.String(), attempts)
	decision := l.Decide(url.String(), true, true)
	if decision != living.Render && decision != living.Sampled ||
		page.Vain < Renderings && l.Lacks(ctx, url.String()) ||
		decision == living.Sampled && attempts < Renderings && !l.samples(url.String()) {
		return page, nil
	}
	if attempts <= 1 {
		bad := func(url string) bool { to, err := weburl.Parse(url); return err != nil || never(to, "fetch") }
		page.Missing = slices.DeleteFunc(l.lacking(ctx, l.absent(l.Expand(url.String(), page.Body))), bad)
	}
	if len(page.Missing) == 0 {
		l.Run(ctx, page, l.Behaviour, never)
	}
	return page, nil
}
