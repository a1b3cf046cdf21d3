// Package render has the scripts of archived pages run: in the slave's browser, against what the slave has archived.
//
// A page is rendered after it was fetched, and nothing is asked for on its behalf: what is not in the archive is
// missing, is named, and comes as any requisite comes, at its host's pace. Then the page is rendered again.
package render

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/sirupsen/logrus"

	"henro/actors/living"
	"henro/messages/weburl"
	"henro/slave/browser"
	"henro/slave/render/lacks"
	"henro/slave/render/wanted"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

// ErrAbsent is returned for a page that this slave has no capture of: another slave has it, or its file was collected.
var ErrAbsent = errors.New("this slave has no capture of the page")

// ErrNever is returned for what was asked for, and did not come.
var ErrNever = errors.Join(ErrAbsent, errors.New("none will come"))

const (
	// maxKnown bounds the URLs whose captures are found: at some 60 bytes each.
	maxKnown = 2 << 20
	// maxBody bounds one body that is read for a page, in bytes.
	maxBody = 64 << 20
	// maxComing bounds the captures on their way that are waited for, each maxSync at most.
	maxComing = 1 << 16
	maxSync   = 3 * time.Second
	// maxTried bounds what is counted of what a page tries and no archive can answer.
	maxTried = 1000
	// Wait is how long a page waits for what it is made of, the first time; four times as long each time in vain.
	Wait = 5 * time.Second
)

// After is how long a page waits that was tried so often in vain.
func After(attempts uint32) time.Duration { return Wait << (2 * min(attempts, 5)) }

// Browser is what shows pages: a browser.Browser, or another in tests.
type Browser interface {
	Render(ctx context.Context, p browser.Page, source browser.Source) (*browser.Rendering, error)
	Close() error
}

// Others are the other slaves of a crawl: hosts go from one to another, and what a page is made of comes from several.
type Others interface {
	// Serve lets the others have what is here.
	Serve(have func(ctx context.Context, url weburl.URL, whole bool) (*Page, error))
	// Ask returns what another has, as Have does.
	Ask(ctx context.Context, url weburl.URL, whole bool) (*Page, error)
}

// Renderer has the pages of one archive rendered. Its methods may be called from any goroutine.
type Renderer struct {
	browser Browser
	others  Others // nil: there are none
	dir     string
	log     *logrus.Entry

	mu      sync.Mutex
	known   map[uint64]place         // by wanted.Key; the latest capture
	archive *captures.Archive        // nil until it is first read
	coming  map[uint64]chan struct{} // closed once the capture is synced
	lacks   lacks.Book               // of pages that were shown, by wanted.Key
}

// place is where a capture lies; without a file it will not come.
type place struct {
	at     int64 // Unix seconds
	offset int64
	file   unique.Handle[string]
}

// New makes the renderer of an archive, by a browser that it closes in the end. others may be nil.
func New(b Browser, others Others, dir string, log *logrus.Entry) *Renderer {
	r := &Renderer{browser: b, others: others, dir: dir, log: log, known: map[uint64]place{},
		coming: map[uint64]chan struct{}{}}
	if others != nil {
		others.Serve(r.Have)
	}
	return r
}

// Close ends the browser.
func (r *Renderer) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.browser.Close()
	if r.archive != nil {
		err = errors.Join(err, r.archive.Close())
	}
	return err
}

// Never is when what was asked for, and did not come, counts as archived.
var Never = time.Unix(0, 0)

// Archived notes a capture that is synced; without a file, and a time, one that could not be written, and with Never
// that no page needs to wait for it.
func (r *Renderer) Archived(url string, at time.Time, file string, offset int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !at.IsZero() {
		r.note(url, at, file, offset)
	}
	key := wanted.Key(url)
	if c := r.coming[key]; c != nil {
		close(c)
		delete(r.coming, key)
	}
}

// Coming notes a capture that is on its way to the archive: Read waits for it.
func (r *Renderer) Coming(url string) {
	key := wanted.Key(url)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.coming[key] == nil && len(r.coming) < maxComing {
		r.coming[key] = make(chan struct{})
	}
}

// await waits for a capture that is on its way.
func (r *Renderer) await(ctx context.Context, url string) {
	r.mu.Lock()
	c := r.coming[wanted.Key(url)]
	r.mu.Unlock()
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxSync)
	defer cancel()
	select {
	case <-c:
	case <-ctx.Done():
	}
}

func (r *Renderer) note(url string, at time.Time, file string, offset int64) {
	key := wanted.Key(url)
	before, known := r.known[key]
	if !known && len(r.known) >= maxKnown || before.at > at.Unix() {
		return
	}
	r.known[key] = place{at.Unix(), offset, unique.Make(file)}
}

// open reads the index of what earlier processes archived, once.
func (r *Renderer) open() (*captures.Archive, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.archive != nil {
		return r.archive, nil
	}
	a, err := captures.Open(r.dir, func(what string) { r.log.WithField("what", what).Warn("it cannot be rendered") })
	if err != nil {
		return nil, err
	}
	if err := a.Requisites(func(e cdxj.Entry) bool {
		r.note(wanted.Captured(&e), e.At, filepath.Base(e.Filename), e.Offset)
		return true
	}); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	r.archive = a
	return a, nil
}

// at returns where the latest capture of a URL lies. Of a host that did not answer for its robots.txt none will come.
func (r *Renderer) at(url string) (p place, known bool) {
	if p, known = r.known[wanted.Key(url)]; !known {
		p, known = r.known[wanted.Key(weburl.HostOf(url)+"/robots.txt")]
		known = known && p.file.Value() == ""
	}
	return p, known
}

// find returns the latest capture of a URL.
func (r *Renderer) find(url string) (cdxj.Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, known := r.at(url)
	if !known {
		return cdxj.Entry{}, false
	}
	return cdxj.Entry{URL: url, At: time.Unix(p.at, 0).UTC(), Filename: p.file.Value(), Offset: p.offset}, true
}

// vain is how many attempts to show a page came after the last one that brought it further.
func (r *Renderer) vain(url string, attempts uint16) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return uint32(r.lacks.Vain(wanted.Key(url), attempts))
}

// maxLooked bounds the URLs of a page for which others are asked before it is shown.
const maxLooked = 16

// Lacks reports that nothing has come of what a page lacked when it was shown last.
func (r *Renderer) Lacks(ctx context.Context, url string) bool {
	r.mu.Lock()
	lacked := r.lacks.Now(wanted.Key(url))
	r.mu.Unlock()
	absent := r.absent(lacked)
	return len(lacked) > 0 && len(absent) == len(lacked) && len(r.lacking(ctx, absent)) == len(lacked)
}

// absent returns those of some URLs that neither came here nor are on their way.
func (r *Renderer) absent(urls []string) (absent []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, url := range urls {
		if _, come := r.at(url); !come && r.coming[wanted.Key(url)] == nil {
			absent = append(absent, url)
		}
	}
	return absent
}

// lacking leaves of URLs that are absent here those that no other slave has, and that may come.
func (r *Renderer) lacking(ctx context.Context, absent []string) []string {
	asked := 0
	return slices.DeleteFunc(absent, func(url string) bool {
		if asked++; r.others == nil || asked > maxLooked {
			return false
		}
		to, err := weburl.Parse(url)
		if err == nil {
			_, err = r.others.Ask(ctx, to, false)
		}
		return err == nil || errors.Is(err, ErrNever)
	})
}

// Page is what the archive has of a page, and what its scripts made of it.
type Page struct {
	URL           weburl.URL
	Status        int
	Header        http.Header
	Payload, Body []byte    // with and without its content coding
	At            time.Time // of the capture
	Attempts      uint16    // before this one, of all kinds
	Vain          uint32    // of those, how many came after the last one that brought it further

	Rendering *browser.Rendering // nil: the scripts were not run
	Missing   []string           // what the page asks for and the archive has not yet, in the form of URLs here
	Stuck     bool               // it lacked of that before, or too much
	Err       error              // why the scripts could not be run
}

// Read returns what the archive has of a page, or that of another slave: ErrAbsent if there is nothing.
func (r *Renderer) Read(ctx context.Context, url weburl.URL) (*Page, error) {
	p, err := r.Have(ctx, url, true)
	if r.others != nil && errors.Is(err, ErrAbsent) {
		if of, asked := r.others.Ask(ctx, url, true); asked == nil || errors.Is(asked, ErrNever) {
			p, err = of, asked
		}
	}
	return p, err
}

// Have returns what this slave has of a page: ErrAbsent if it has nothing, and ErrNever, which is an ErrAbsent, if
// nothing will come either. Unless the whole is wanted, only the moment of the capture is there.
func (r *Renderer) Have(ctx context.Context, url weburl.URL, whole bool) (*Page, error) {
	r.await(ctx, url.String())
	a, err := r.open()
	if err != nil {
		return nil, err
	}
	e, known := r.find(url.String())
	if !known {
		return nil, ErrAbsent
	} else if e.Filename == "" {
		return nil, ErrNever
	} else if !whole {
		return &Page{URL: url, At: e.At}, nil
	}
	c, err := a.Read(e)
	if err != nil {
		return nil, errors.Join(ErrAbsent, err)
	}
	defer c.Close()
	p := &Page{URL: url, Status: c.Status, Header: http.Header{}, At: e.At}
	for _, f := range c.Header {
		p.Header.Add(f.Name, f.Value)
	}
	if p.Payload, err = io.ReadAll(io.LimitReader(c.Body, maxBody)); err == nil {
		err = p.Decode()
	}
	if err != nil {
		return nil, errors.Join(ErrAbsent, err)
	}
	return p, nil
}

// Waits reports that a page has to wait for another lease: it was not shown, since nothing has come of what it lacked,
// or it lacks something of another host, or, where it was lent to be shown, what was asked for before. p may be nil.
func (p *Page) Waits(host string, lent bool) bool {
	if p == nil {
		return false
	}
	elsewhere := func(url string) bool { return !strings.HasPrefix(url, host) }
	shown := p.Rendering != nil || p.Err != nil
	return !shown && (len(p.Missing) == 0 || lent) || slices.ContainsFunc(p.Missing, elsewhere)
}

// Decode makes the body of a page of its payload.
func (p *Page) Decode() error {
	body, err := captures.Uncoded(bytes.NewReader(p.Payload), strings.Join(p.Header["Content-Encoding"], ","))
	if err == nil {
		p.Body, err = io.ReadAll(io.LimitReader(body, maxBody))
	}
	return err
}

// Run has the scripts of a page run, the user's own script behind ours. What goes wrong is in p.Err. never tells of a
// URL, and of the browser's word for what is asked for, that nobody will ask for it.
func (r *Renderer) Run(ctx context.Context, p *Page, behaviour string, never func(weburl.URL, string) bool) {
	var mu sync.Mutex // the browser asks from several goroutines
	var tried living.Tried
	met, asked := map[string]bool{}, map[uint64]bool{}
	p.Rendering, p.Err = r.browser.Render(ctx, browser.Page{URL: p.URL.String(), Behaviour: behaviour},
		func(ctx context.Context, q *browser.Request) *browser.Answer {
			as := *q
			if q.Method == http.MethodHead {
				as.Method = http.MethodGet
			}
			to, _, err := wanted.URL(&as)
			mu.Lock()
			if count := wanted.Tried(q, err, &tried); count != nil && !met[q.Method+q.URL] && len(met) < maxTried {
				met[q.Method+q.URL] = true
				*count++
			}
			mu.Unlock()
			if err != nil {
				return nil
			}
			part, err := r.Read(ctx, to)
			mu.Lock()
			defer mu.Unlock()
			asked[wanted.Key(to.String())] = true
			if err == nil {
				return &browser.Answer{Status: part.Status, Header: part.Header, Body: part.Body, At: part.At}
			}
			waits := !errors.Is(err, ErrNever) && !never(to, q.Kind)
			if url := to.String(); waits && !slices.Contains(p.Missing, url) {
				p.Missing = append(p.Missing, url)
			}
			return nil
		})
	mu.Lock()
	if p.Rendering != nil {
		tried.Sockets = p.Rendering.Tried.Sockets
		p.Rendering.Tried = tried
	}
	mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	key := wanted.Key(p.URL.String())
	again := func(url string) bool { return asked[wanted.Key(url)] }
	if p.Stuck = r.lacks.Note(key, p.Missing, again); !p.Stuck && p.Err == nil {
		r.lacks.Went(key, p.Attempts)
	}
	p.Vain = uint32(r.lacks.Vain(key, p.Attempts))
}
