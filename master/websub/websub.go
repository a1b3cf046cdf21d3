// Package websub keeps the subscriptions of a crawl at hubs of WebSub (https://www.w3.org/TR/websub/): pages name a hub
// that reports their changes, the hub is asked to, proves that it was meant, and sends what it has, signed.
//
// What a hub sends is read, compared with its signature and thrown away: it says that a page has changed, and nothing
// else is believed. Nothing is sent from here; Due says what is to be sent, and a Host of the crawl has it sent at the
// hub's own pace.
//
// Invariants: a callback and a secret belong to one subscription and cannot be guessed; subscriptions are bounded, and
// so are those at a hub that has confirmed none of them.
package websub

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"henro/messages/weburl"
	"henro/store/fsync"
)

// Bounds. A page may name any URL as its hub: until a hub confirms, it is sent few requests, of which each is one of
// the visits that its host bears.
const (
	most          = 4096 // subscriptions, in memory and in the file; those of a host that come later are not made
	hostMost      = 16   // of the pages of a host
	unprovedMost  = 8    // at a host of hubs, not confirmed
	tries         = 5    // until a subscription that is not confirmed is forgotten
	leaseWanted   = 10 * 24 * time.Hour
	leaseMost     = 30 * 24 * time.Hour
	retryFirst    = time.Hour // after the first try; twice as long after each further one
	challengeMost = 1024      // bytes
	// BodyMost bounds what a hub sends at once.
	BodyMost = 4 << 20
)

// Subscription is one page at one hub.
type Subscription struct {
	Page   string    `json:"page"`  // that named the hub, and is visited when the hub says so
	Topic  string    `json:"topic"` // the URL under which the hub knows it
	Hub    string    `json:"hub"`
	Token  string    `json:"token"` // the last segment of its callback
	Secret string    `json:"secret"`
	Until  time.Time `json:"until"` // confirmed by the hub; zero: not yet
	Next   time.Time `json:"next"`  // when the hub is to be asked
	Tries  int       `json:"tries"` // since it has confirmed

	host string // of the hub
}

// Request is what is to be sent to a hub: a POST of a form.
type Request struct{ Hub, Form string }

// Table holds the subscriptions of a crawl. It is safe for use by any number of goroutines.
type Table struct {
	path     string // of the file
	callback string // public URL of the address for pings, without a slash at its end

	mu      sync.Mutex
	byPage  map[string]*Subscription
	byToken map[string]*Subscription
	ofHost  map[string]int // pages with a subscription, by their host
}

// Open reads the subscriptions of a crawl from a file, none if it is not there.
func Open(path, callback string) (*Table, error) {
	t := &Table{path: path, callback: strings.TrimSuffix(callback, "/"), byPage: map[string]*Subscription{},
		byToken: map[string]*Subscription{}, ofHost: map[string]int{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return t, nil
	}
	var kept []*Subscription
	if err == nil {
		err = json.Unmarshal(data, &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("read the subscriptions at hubs from %s (remove the file to have hubs asked again): %w",
			path, err)
	}
	for _, s := range kept {
		t.add(s)
	}
	return t, nil
}

func (t *Table) add(s *Subscription) {
	s.host = weburl.HostOf(s.Hub)
	t.byPage[s.Page], t.byToken[s.Token] = s, s
	t.ofHost[weburl.HostOf(s.Page)]++
}

func (t *Table) remove(s *Subscription) {
	delete(t.byPage, s.Page)
	delete(t.byToken, s.Token)
	host := weburl.HostOf(s.Page)
	if t.ofHost[host]--; t.ofHost[host] == 0 {
		delete(t.ofHost, host)
	}
}

// Found takes note of the hub that a visited page names.
func (t *Table) Found(page, topic, hub string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.byPage[page]
	if known != nil && known.Hub == hub && known.Topic == topic {
		return
	}
	next := now
	if known != nil { // what the old hub sends from now on is unknown here
		// a page that names another hub at each visit has none asked sooner
		if !now.Before(known.Until) && known.Next.After(now) {
			next = known.Next
		}
		t.remove(known)
	}
	if len(t.byPage) >= most || t.ofHost[weburl.HostOf(page)] >= hostMost {
		return
	}
	host, unproved := weburl.HostOf(hub), 0
	for _, s := range t.byPage {
		if s.host == host && !now.Before(s.Until) {
			unproved++
		}
	}
	if unproved >= unprovedMost {
		return
	}
	t.add(&Subscription{Page: page, Topic: topic, Hub: hub, Token: rand.Text(), Secret: rand.Text(), Next: next})
}

// Due returns what is to be sent to hubs now: subscriptions that were not confirmed yet, and those that will end soon.
func (t *Table) Due(now time.Time) (requests []Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byPage {
		switch {
		case s.Next.After(now):
			continue
		case s.Tries >= tries:
			t.remove(s)
			continue
		}
		s.Next = now.Add(retryFirst << s.Tries)
		s.Tries++
		requests = append(requests, Request{s.Hub, url.Values{
			"hub.callback": {t.callback + "/websub/" + s.Token}, "hub.mode": {"subscribe"}, "hub.topic": {s.Topic},
			"hub.secret": {s.Secret}, "hub.lease_seconds": {strconv.Itoa(int(leaseWanted.Seconds()))},
		}.Encode()})
	}
	return requests
}

// Confirm answers a hub that asks whether a subscription was meant: with its challenge, if it was.
func (t *Table) Confirm(token string, q url.Values, now time.Time) (challenge string, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byToken[token]
	if s == nil || q.Get("hub.topic") != s.Topic {
		return "", false, nil
	}
	if q.Get("hub.mode") == "denied" { // the hub has ended it, or does not want it
		s.Tries, s.Until, s.Next = tries-1, time.Time{}, now.Add(leaseWanted)
		return "", true, t.save()
	}
	challenge = q.Get("hub.challenge")
	seconds, err := strconv.ParseInt(q.Get("hub.lease_seconds"), 10, 64)
	if q.Get("hub.mode") != "subscribe" || challenge == "" || len(challenge) > challengeMost ||
		err != nil || seconds <= 0 {
		return "", false, nil
	}
	lease := leaseMost
	if seconds < int64(leaseMost/time.Second) {
		lease = time.Duration(seconds) * time.Second
	}
	s.Until, s.Tries = now.Add(lease), 0
	s.Next = now.Add(max(lease-lease/10, retryFirst)) // a hub of short leases is not asked all the time
	return challenge, true, t.save()
}

// Received reads what a hub sends about a page, and returns the page if the hub has signed it; empty: it has not. It
// reports whether there is such a subscription.
func (t *Table) Received(token, signature string, body io.Reader) (page string, known bool, err error) {
	t.mu.Lock()
	var s Subscription
	if kept := t.byToken[token]; kept != nil {
		s, known = *kept, true
	}
	t.mu.Unlock()
	if !known {
		return "", false, nil
	}
	method, text, _ := strings.Cut(signature, "=")
	hashes := map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384,
		"sha512": sha512.New}
	claimed, err := hex.DecodeString(text)
	if hashes[method] == nil || err != nil {
		return "", true, nil
	}
	mac := hmac.New(hashes[method], []byte(s.Secret))
	if _, err := io.Copy(mac, body); err != nil {
		return "", true, fmt.Errorf("read what a hub sends: %w", err)
	}
	if !hmac.Equal(mac.Sum(nil), claimed) {
		return "", true, nil
	}
	return s.Page, true, nil
}

// save writes the subscriptions that hubs have confirmed; the others are found again. The file is for its owner alone:
// it holds secrets.
func (t *Table) save() error {
	kept := []*Subscription{}
	for _, s := range t.byPage {
		if !s.Until.IsZero() || s.Tries > 0 {
			kept = append(kept, s)
		}
	}
	data, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", t.path, err)
	}
	if err := fsync.WriteFile(t.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep the subscriptions at hubs: %w", err)
	}
	return nil
}
