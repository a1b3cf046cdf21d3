// Package watchlist shows the list of pages that henro watch watches, and changes it, for the dashboard.
package watchlist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"henro/actors/reading"
	"henro/actors/revisit"
	"henro/messages"
	"henro/messages/weburl"
)

// Page is a page of a list, as its line has it.
type Page struct {
	URL          string
	Every        time.Duration // 0: the timetable decides
	Tag          string        // "": none
	Watch, Leave string        // CSS selectors; "": none
	Paused       bool

	Changed time.Time // when the last change of it was told; zero: none was
	Late    bool      // it is visited only once henro watch was started again
	Misses  bool      // where its selectors look, its last capture has no text
}

// List is a list that is watched. Any goroutine may use it.
type List interface {
	// Pages are those of the list, in its order, and the file in which they are changed.
	Pages() (pages []Page, file string)
	// Put puts a page in the place of another one, or at the end where before is "". An error says what is wrong.
	Put(ctx context.Context, before string, p Page) error
	// Remove takes a page out of the list.
	Remove(ctx context.Context, url string) error
	// Teach has the page of a change learn that it was noise, or that it was news.
	Teach(ctx context.Context, id string, noise bool) error
	// Receivers are the names of those that are told; Test sends a message to each.
	Receivers() []string
	Test(ctx context.Context) error
}

// ErrUnknown is returned by Do for what it does not do.
var ErrUnknown = errors.New("no such order")

// errNone is returned where no list is watched.
var errNone = errors.New("no list is watched here: henro watch watches one")

// Refusal says in English why an order was not carried out.
type Refusal struct{ Err error }

func (r Refusal) Error() string { return r.Err.Error() }

// Teach has a page learn that a change, by its id, was noise, or that it was news.
type Teach func(ctx context.Context, id string, noise bool) error

// Do carries out what a form asks for: watch, unwatch, pause-page, go-on, dismiss, keep or tell-test. Where no list is
// watched, elsewhere learns. An error is ErrUnknown or a Refusal.
func Do(list List, elsewhere Teach, r *http.Request) error {
	err := do(list, elsewhere, r)
	if err == nil || errors.Is(err, ErrUnknown) {
		return err
	}
	return Refusal{err}
}

func do(list List, elsewhere Teach, r *http.Request) error {
	of, ctx := r.PostFormValue, r.Context()
	word := r.PathValue("what")
	switch word {
	case "watch", "unwatch", "pause-page", "go-on", "dismiss", "keep", "tell-test":
	default:
		return ErrUnknown
	}
	switch {
	case list == nil && (word == "dismiss" || word == "keep"):
		return elsewhere(ctx, of("id"), word == "dismiss")
	case list == nil:
		return errNone
	case word == "watch":
		p := Page{URL: strings.TrimSpace(of("url")), Tag: strings.TrimSpace(of("tag")), Watch: oneLine(of("watch")),
			Leave: oneLine(of("leave")), Paused: of("paused") != ""}
		if every := strings.TrimSpace(of("every")); every != "" {
			var err error
			if p.Every, err = revisit.ParseSpan(every); err != nil {
				return err
			}
		}
		return list.Put(ctx, of("before"), p)
	case word == "tell-test":
		return list.Test(ctx)
	case word == "unwatch":
		return list.Remove(ctx, of("url"))
	case word == "dismiss" || word == "keep":
		return list.Teach(ctx, of("id"), word == "dismiss")
	}
	p := find(list, of("url"))
	if p == nil {
		return fmt.Errorf("%.200q is not in the list", of("url"))
	}
	p.Paused = word == "pause-page"
	return list.Put(ctx, p.URL, *p)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func find(list List, url string) *Page {
	pages, _ := list.Pages()
	if i := slices.IndexFunc(pages, func(p Page) bool { return p.URL == url }); i >= 0 {
		return &pages[i]
	}
	return nil
}

// Row is a page of the list, and how it stands.
type Row struct {
	Page
	Visited, Next time.Time      // zero: never
	Cause         messages.Cause // why the last visit failed, or its host does not answer; zero: it did not
	First         bool           // it waits for its first visit
}

// View is one part of the list.
type View struct {
	On          bool   // a list is watched
	File        string // in which the list is
	Edit        Page   // what the form shows; its URL is empty where a page is to be added
	Search, Tag string
	Tags        []string // all of the list
	Rows        []Row
	Receivers   []string // who is told
	Found       int      // pages that were looked for
	From, To    int      // of which these are shown, from 1
	page        int
}

// perPage is how many pages of a list are shown at once.
const perPage = 100

// Show looks for pages of the list: q, in their URLs; tag; url, the one that is to be changed; page, from 1.
func Show(list List, crawl *reading.Crawl, r *http.Request) *View {
	v := &View{Search: strings.TrimSpace(r.FormValue("q")), Tag: r.FormValue("tag")}
	v.page, _ = strconv.Atoi(r.FormValue("page"))
	if v.On = list != nil; !v.On {
		return v
	}
	pages, file := list.Pages()
	v.File, v.Receivers = file, list.Receivers()
	var found []*Page
	for i := range pages {
		p := &pages[i]
		if p.URL == r.FormValue("url") {
			v.Edit = *p
		}
		if p.Tag != "" && !slices.Contains(v.Tags, p.Tag) {
			v.Tags = append(v.Tags, p.Tag)
		}
		if strings.Contains(strings.ToLower(p.URL), strings.ToLower(v.Search)) && (v.Tag == "" || v.Tag == p.Tag) {
			found = append(found, p)
		}
	}
	slices.Sort(v.Tags)
	v.Found = len(found)
	v.page = min(max(v.page, 1), max(1, (v.Found+perPage-1)/perPage))
	from := (v.page - 1) * perPage
	v.From, v.To = from+1, min(from+perPage, v.Found)
	ails := map[string]messages.Cause{}
	for _, p := range found[from:v.To] {
		row := rowOf(p, crawl)
		if u, err := weburl.Parse(p.URL); row.Cause.IsZero() && err == nil {
			if _, known := ails[u.Host()]; !known {
				ails[u.Host()] = ailmentOf(crawl, u.Host())
			}
			row.Cause = ails[u.Host()]
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// ailmentOf is why a host does not answer; zero: it does, as far as is known.
func ailmentOf(crawl *reading.Crawl, host string) messages.Cause {
	found, err := crawl.Host(host)
	if err != nil {
		return messages.Cause{}
	}
	return found.Cause.Cause
}

func rowOf(p *Page, crawl *reading.Crawl) Row {
	row := Row{Page: *p}
	known, err := crawl.Record(p.URL)
	if row.First = err != nil || known.Page.LastVisit.IsZero(); row.First {
		if err == nil {
			row.Cause = known.Cause
		}
		return row
	}
	row.Visited, row.Next, row.Cause = known.Page.LastVisit, known.Page.Next, known.Cause
	if p.Paused {
		row.Next = time.Time{}
	}
	return row
}

// Before is the path of the part before; empty: there is none.
func (v *View) Before() string { return v.part(v.page-1, v.page > 1) }

// Next is the path of the part behind; empty: there is none.
func (v *View) Next() string { return v.part(v.page+1, v.To < v.Found) }

func (v *View) part(page int, is bool) string {
	if !is {
		return ""
	}
	return "/watched?" + url.Values{"q": {v.Search}, "tag": {v.Tag}, "page": {strconv.Itoa(page)}}.Encode()
}

// EditPath is where a page is changed.
func (r *Row) EditPath() string { return "/watched?" + url.Values{"url": {r.URL}}.Encode() + "#edit" }

// Span is how often a page is visited, as people write it; empty: the timetable decides.
func (p Page) Span() string {
	if p.Every == 0 {
		return ""
	}
	every := revisit.Span(p.Every)
	if text := every.String(); every.Set(text) == nil && time.Duration(every) == p.Every {
		return text
	}
	return p.Every.String()
}

// Line is the line of a page in a list. An error says what of it cannot be written.
func (p *Page) Line() (string, error) {
	u, err := weburl.Parse(p.URL)
	if err != nil {
		return "", fmt.Errorf("%.200q is no URL that can be crawled: %w", p.URL, err)
	}
	line := cmp.Or(u.String(), p.URL)
	for _, part := range [][2]string{{"every", p.Span()}, {"tag", p.Tag}, {"watch", p.Watch}, {"leave", p.Leave}} {
		if part[1] != "" {
			line += " " + part[0] + " " + part[1]
		}
	}
	if p.Paused {
		line += " paused"
	}
	return line, nil
}
