package telling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nicholas-fedor/shoutrrr"
	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"henro/messages/ticks"
	"henro/slave/fetch"
	"henro/store/fsync"
	"henro/store/journal"
	"henro/store/report/changes"
)

// Names of the files in the folder of the feed.
const (
	cursorsName = "told.json"
	SendsName   = "sends.jsonl" // of each attempt to send
)

// Bounds of sending.
const (
	backlog   = 10_000 // changes that wait for one receiver; of older ones the number is told
	maxSends  = 16 << 20
	sendLimit = 30 * time.Second // for one message; the next waits as long
	firstWait = time.Minute      // after a failure; doubled each time, up to lastWait
	lastWait  = time.Hour
	gather    = 2 * time.Second // before what comes at once is sent
)

// Teller tells changes to the receivers of a crawl. Its methods may be called by several goroutines.
type Teller struct {
	folder string
	now    func() time.Time
	send   func(r *Receiver, title, text string) error

	mu     sync.Mutex
	queues []*queue
}

// queue is what waits for one receiver.
type queue struct {
	*Receiver
	waits   []changes.Change // the earliest first
	dropped int
	last    string    // id of the change that was sent last
	next    time.Time // not before
	sent    []time.Time
	failed  int
}

// cursors are kept: by name of receiver, the id of the last change that it was sent.
type cursors map[string]string

// Open finds which changes of the crawl in dir its receivers have not been sent. One that is new gets what comes from
// now on.
func Open(dir string, receivers []*Receiver) (*Teller, error) {
	t := &Teller{folder: filepath.Join(dir, changes.Folder), now: time.Now, send: guardFor(receivers).send}
	if len(receivers) == 0 {
		return t, nil
	}
	known := cursors{}
	text, err := os.ReadFile(filepath.Join(t.folder, cursorsName))
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read which changes were sent: %w", err)
	}
	latest, err := changes.Recent(t.folder, backlog)
	if err != nil {
		return nil, err
	}
	newest := "none"
	if len(latest) > 0 {
		newest = latest[0].ID
	}
	for _, r := range receivers {
		q := &queue{Receiver: r, last: newest}
		if last, ok := known[r.Name]; ok {
			q.last = last
			at := slices.IndexFunc(latest, func(c changes.Change) bool { return c.ID == last })
			if at < 0 {
				at = len(latest) // all since: what is older was rotated away
			}
			for _, c := range slices.Backward(latest[:at]) {
				q.take(&c)
			}
		}
		if len(q.waits) > 0 && q.every > 0 {
			q.next = t.now().Truncate(q.every).Add(q.every)
		}
		t.queues = append(t.queues, q)
	}
	return t, errors.Join(t.recall(), t.keep())
}

// recall counts what an earlier process has sent: it may have been within the hour.
func (t *Teller) recall() error {
	all, err := journal.RecentJSON[sent](filepath.Join(t.folder, SendsName), maxMost*len(t.queues), lineBytes)
	for _, s := range all {
		if i := slices.IndexFunc(t.queues, func(q *queue) bool { return q.Name == s.To }); i >= 0 {
			t.queues[i].sent = append(t.queues[i].sent, s.At)
		}
	}
	return err
}

// Tell has a change sent.
func (t *Teller) Tell(c *changes.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.queues {
		if len(l.waits) == 0 {
			begin := t.now().Add(gather)
			if l.every > 0 {
				begin = t.now().Truncate(l.every).Add(l.every)
			}
			l.next = later(l.next, begin)
		}
		l.take(c)
	}
}

func (l *queue) take(c *changes.Change) {
	if !l.pages.Has(c.URL) {
		return
	}
	short := *c
	short.Diff = ""
	if l.waits = append(l.waits, short); len(l.waits) > backlog {
		l.waits = l.waits[1:]
		l.dropped++
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Run sends until the context ends. A receiver that does not answer keeps no other waiting.
func (t *Teller) Run(ctx context.Context, says io.Writer) {
	var sending sync.WaitGroup
	for _, l := range t.queues {
		sending.Go(func() {
			for ticks.Rest(ctx, time.Second) == nil {
				if err := t.step(l); err != nil {
					t.mu.Lock()
					fmt.Fprintf(says, "henro: telling %s: %v\n", l.Name, err)
					t.mu.Unlock()
				}
			}
		})
	}
	sending.Wait()
}

// step sends to one receiver what it is time for.
func (t *Teller) step(l *queue) error {
	t.mu.Lock()
	now := t.now()
	l.sent = slices.DeleteFunc(l.sent, func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	until, quiet := l.isQuiet(now.Local())
	if quiet {
		l.next = later(l.next, until)
	}
	if len(l.waits) == 0 || now.Before(l.next) || len(l.sent) >= l.Most {
		t.mu.Unlock()
		return nil
	}
	batch, dropped := slices.Clone(l.waits), l.dropped
	t.mu.Unlock()

	title, text := message(batch, dropped)
	err := t.send(l.Receiver, title, text)
	t.mu.Lock()
	defer t.mu.Unlock()
	l.sent = append(l.sent, now)
	said := ""
	if err != nil {
		said = l.hide(err.Error())
		l.next = t.now().Add(min(firstWait<<min(l.failed, 10), lastWait))
		l.failed++
	} else {
		l.failed, l.dropped, l.last = 0, 0, batch[len(batch)-1].ID
		at := slices.IndexFunc(l.waits, func(c changes.Change) bool { return c.ID == l.last })
		l.waits = slices.Delete(l.waits, 0, at+1)
	}
	noted := journal.AppendJSON(filepath.Join(t.folder, SendsName), journal.Options{Bytes: maxSends, Older: 1},
		[]sent{{now.UTC(), l.Name, len(batch) + dropped, said}})
	if err == nil {
		return errors.Join(noted, t.keep())
	}
	return errors.Join(errors.New(said), noted)
}

// sent is an attempt to send.
type sent struct {
	At      time.Time `json:"at"`
	To      string    `json:"to"` // name of the receiver
	Changes int       `json:"changes"`
	Error   string    `json:"error,omitempty"`
}

// Flush sends once what needs no gathering, for a process that does not stay.
func (t *Teller) Flush() (err error) {
	for _, l := range t.queues {
		if l.every == 0 {
			l.next = time.Time{}
		}
		if bad := t.step(l); bad != nil {
			err = errors.Join(err, fmt.Errorf("tell %s: %w", l.Name, bad))
		}
	}
	return err
}

// keep writes down what was sent.
func (t *Teller) keep() error {
	known := cursors{}
	for _, l := range t.queues {
		known[l.Name] = l.last
	}
	if err := os.MkdirAll(t.folder, 0o777); err != nil {
		return err
	}
	text, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return fsync.WriteFile(filepath.Join(t.folder, cursorsName), text, 0o666)
}

// Test sends a message to each receiver.
func Test(receivers []*Receiver, out io.Writer) error {
	t := &Teller{send: guardFor(receivers).send}
	for _, r := range receivers {
		t.queues = append(t.queues, &queue{Receiver: r})
	}
	return t.Test(out)
}

// Test sends a message to each receiver. What waits for them waits on.
func (t *Teller) Test(out io.Writer) (err error) {
	if len(t.queues) == 0 {
		return fmt.Errorf("no receiver is in %s", RulesName)
	}
	for _, r := range t.queues {
		if bad := t.send(r.Receiver, "A test of henro", "Changes will be told here.\n"); bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %s", r.Name, r.hide(bad.Error())))
		} else {
			fmt.Fprintf(out, "%s was sent a message\n", r.Name)
		}
	}
	return err
}

func sender(to string) (*router.ServiceRouter, error) { return shoutrrr.CreateSender(to) }

// guard keeps messages from addresses of this machine and network, unless a receiver is said to be there.
type guard struct{ fetch.Options }

// guardFor has the guard stand before all requests by the default transport of HTTP, which shoutrrr uses.
func guardFor(receivers []*Receiver) *guard {
	g := &guard{}
	for _, r := range receivers {
		if r.Private {
			_, addresses, _ := lookUp(r.url)
			g.Addresses = append(g.Addresses, addresses...)
		}
	}
	if len(receivers) > 0 {
		http.DefaultTransport = &http.Transport{TLSHandshakeTimeout: sendLimit / 3, ForceAttemptHTTP2: true,
			DialContext:           (&net.Dialer{Timeout: sendLimit / 3, Control: g.Control}).DialContext,
			ResponseHeaderTimeout: sendLimit, MaxIdleConns: maxReceivers, IdleConnTimeout: sendLimit}
	}
	return g
}

// lookUp finds the addresses of the host that a URL names; services of a fixed place have none.
func lookUp(to string) (port int, addresses []netip.Addr, err error) {
	u, err := url.Parse(to)
	if err != nil || u.Hostname() == "" {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendLimit/3)
	defer cancel()
	addresses, err = net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	for i := range addresses {
		addresses[i] = addresses[i].Unmap()
	}
	port, _ = strconv.Atoi(u.Port())
	return port, addresses, err
}

// send sends one message, within sendLimit. A host that cannot be looked up is the name of a token in some services.
func (g *guard) send(r *Receiver, title, text string) error {
	port, addresses, _ := lookUp(r.url)
	for _, a := range addresses {
		if err := g.Control("", netip.AddrPortFrom(a, uint16(port)).String(), nil); err != nil {
			return fmt.Errorf("%w; say private: true if it is meant", err)
		}
	}
	s, err := sender(r.url)
	if err != nil {
		return err
	}
	s.Timeout = sendLimit
	return errors.Join(s.Send(text, &types.Params{"title": title})...)
}
