package dashboard

import (
	"bytes"
	"encoding/base32"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"henro/actors/floor"
	"henro/master"
	"henro/master/watchlist"
	"henro/messages/weburl"
	"henro/store/report/brought"
)

// view is one page of the dashboard.
type view struct {
	name  string // of its template, and of its stream
	path  string
	tab   string        // that it belongs to
	parts []string      // templates that are rendered again while somebody looks
	every time.Duration // how often
	build func(d *Dashboard, r *http.Request, p *page) (any, error)
}

// views are all pages. A host and a page of the web are reached from the hosts.
var views = []*view{
	{"now", "/{$}", "now", []string{"state", "idle", "ahead", "figures", "totals", "errors", "slaves", "mailboxes"},
		time.Second, (*Dashboard).now},
	{"hosts", "/hosts", "hosts", []string{"state", "rows"}, 3 * time.Second, (*Dashboard).hostList},
	{"host", "/host", "hosts", []string{"state", "facts"}, 2 * time.Second, (*Dashboard).host},
	{"page", "/page", "page", []string{"state", "facts"}, 2 * time.Second, (*Dashboard).page},
	{"fetches", "/fetches", "fetches", []string{"state", "latest"}, time.Second, (*Dashboard).fetches},
	{"failed", "/failed", "now", []string{"state", "urls"}, 5 * time.Second, (*Dashboard).failed},
	{"missing", "/missing", "now", []string{"state", "lacking"}, 10 * time.Second, (*Dashboard).missing},
	{"nodes", "/nodes", "nodes", []string{"state", "masters", "slaves"}, 2 * time.Second, (*Dashboard).nodes},
	{"revisit", "/revisit", "revisit", []string{"state", "figures"}, 10 * time.Second, (*Dashboard).revisits},
	{"changes", "/changes", "changes", []string{"state", "changes"}, 2 * time.Second, (*Dashboard).changed},
	{"week", "/week", "changes", []string{"state", "week"}, time.Minute, showWeek},
	{"watched", "/watched", "changes", []string{"state", "rows"}, 3 * time.Second, (*Dashboard).watched},
	{"log", "/log", "log", []string{"state", "lines"}, time.Second, (*Dashboard).log},
	{"help", "/help", "help", []string{"state"}, 5 * time.Second,
		func(*Dashboard, *http.Request, *page) (any, error) { return nil, nil }},
}

// tab is one entry of the navigation.
type tab struct {
	Name, Path string
	Shortcut   string // after g
}

var tabs = []tab{{"now", "/", "n"}, {"hosts", "/hosts", "h"}, {"page", "/page", "p"}, {"nodes", "/nodes", "s"},
	{"revisit", "/revisit", "r"}, {"changes", "/changes", "c"}, {"fetches", "/fetches", "f"}, {"log", "/log", "l"}}

// trouble is the page that says what went wrong.
var trouble = &view{name: "trouble", parts: []string{"state"}}

// page is what every template is given.
type page struct {
	View   string
	Tab    string
	Theme  string // light, dark, or empty: as the system has it
	Path   string // of this page, to come back to
	Said   string // what was done just now, in words
	Dir    string
	Now    time.Time
	Zone   string         // of the times shown: that of the master's machine
	East   int            // seconds of it, east of Greenwich
	Status *master.Status // nil: the crawl has not answered yet
	Behind time.Duration  // since it answered, if that is long
	V      any            // of the view

	words *words
}

// zoneForm is a zone by its name and by its distance from Greenwich: some have no other name.
const zoneForm = "MST (UTC-07:00)"

// behindAfter is how long the crawl may send nothing before people are told.
const behindAfter = 10 * time.Second

func (d *Dashboard) newPage(r *http.Request, v *view) *page {
	w := wordsOf(r)
	p := &page{View: v.name, Tab: v.tab, Theme: themeOf(r), Path: r.URL.RequestURI(), Dir: d.crawl.Options().Dir,
		Now: floor.Now(), words: w}
	p.Zone = p.Now.Format(zoneForm)
	_, p.East = p.Now.Zone()
	var at time.Time
	if p.Status, at = d.history.latest(); p.Status != nil && p.Now.Sub(at) > behindAfter {
		p.Behind = p.Now.Sub(at)
	}
	if said := r.URL.Query().Get("said"); said != "" {
		if text, ok := w.text["said."+said]; ok {
			p.Said = text
		}
		p.Path = withoutSaid(r.URL)
	}
	return p
}

func withoutSaid(u *url.URL) string {
	query := u.Query()
	query.Del("said")
	return (&url.URL{Path: u.Path, RawQuery: query.Encode()}).RequestURI()
}

// policy lets a page load from this origin alone, and run no script that is written into it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// show answers a page.
func (d *Dashboard) show(w http.ResponseWriter, r *http.Request, v *view) {
	p := d.newPage(r, v)
	var err error
	if p.V, err = v.build(d, r, p); err != nil {
		d.fail(w, r, err)
		return
	}
	d.write(w, v, p, http.StatusOK)
}

// misuse is an error in a request; key is that of its text in the catalogue.
type misuse struct {
	key    string
	values []any // in the text
}

func wrong(key string, values ...any) misuse { return misuse{key, values} }

func (m misuse) Error() string { return fmt.Sprint(m.key, m.values) }

// noHost is the error for a host of which nothing is known, by its name.
type noHost string

func (n noHost) Error() string { return "no host " + string(n) }

// fail answers with a page that says what went wrong.
func (d *Dashboard) fail(w http.ResponseWriter, r *http.Request, err error) {
	p, code, text := d.newPage(r, trouble), http.StatusServiceUnavailable, err.Error()
	var m misuse
	var none noHost
	var list watchlist.Refusal
	switch {
	case errors.As(err, &list):
		code, text = http.StatusBadRequest, p.words.t("wrong.watched", list.Err)
	case errors.As(err, &m):
		code, text = http.StatusBadRequest, p.words.t(m.key, m.values...)
	case errors.As(err, &none):
		code, text = http.StatusNotFound, p.words.t("trouble.nothost", string(none))
	}
	p.V = struct {
		Code int
		Text string
	}{code, text}
	if r.Method != http.MethodGet {
		p.Path = local(r.PostFormValue("back")) // where a form was filled in
	}
	d.write(w, trouble, p, code)
}

func (d *Dashboard) write(w http.ResponseWriter, v *view, p *page, code int) {
	var body bytes.Buffer
	if err := d.pages[p.words.code][v.name].ExecuteTemplate(&body, "frame", p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", policy)
	header.Set("Content-Language", p.words.code)
	w.WriteHeader(code)
	_, _ = w.Write(body.Bytes()) // the reader is gone: the error has no receiver
}

// parse reads the templates of one view in one language.
func parse(w *words, name string) (*template.Template, error) {
	return template.New(name).Funcs(functions(w)).ParseFS(templates, "templates/frame.html", "templates/changes.html",
		"templates/"+name+".html")
}

// parsedURL reads a URL that somebody typed.
func parsedURL(raw string) (weburl.URL, error) {
	u, err := weburl.Parse(raw)
	if err != nil {
		return u, wrong("wrong.url", raw)
	}
	return u, nil
}

func hostPath(name string) string { return "/host?name=" + url.QueryEscape(name) }
func errorPath(word string) string {
	return hostQuery{Error: word, Sort: "-errors", Page: 1}.path()
}
func failedPath(word string) string { return "/failed?cause=" + url.QueryEscape(word) }
func logPath(level, node string) string {
	return "/log?" + url.Values{"level": {level}, "node": {node}}.Encode()
}
func pagePath(raw string) string { return "/page?url=" + url.QueryEscape(raw) }

// functions are what templates can say beside the words of the language.
func functions(w *words) template.FuncMap {
	return template.FuncMap{
		"t": w.t, "say": w.say, "lang": func() string { return w.code }, "word": w.word,
		"n": n, "size": size, "span": w.span, "seconds": w.seconds, "clock": w.clock, "relative": w.relative,
		"ails": w.ails, "stamp": w.stamp,
		"percent":   func(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) },
		"iso":       func(at time.Time) string { return at.UTC().Format(time.RFC3339) },
		"errorpath": errorPath, "failedpath": failedPath, "logpath": logPath,
		"hostpath": hostPath, "pagepath": pagePath, "bare": bareName,
		"static": staticPath, "spark": spark, "bar": bar, "area": area,
		"otherlang": func() string { return map[string]string{"en": "ja", "ja": "en"}[w.code] },
		"split":     splitURL,
		"tabs":      func() []tab { return tabs },
		"silent":    silentFor(w), "words": w.terms, "about": w.about,
		"version": func() string { return version },
		"rows":    brought.Rows, "brought": brought.By,
		"sha1": func(digest [20]byte) string { return base32.StdEncoding.EncodeToString(digest[:]) },
	}
}

// splitURL cuts a URL after its host, so that the part that tells pages apart can be shown stronger.
func splitURL(raw string) [2]string {
	host := weburl.HostOf(raw)
	return [2]string{host, raw[len(host):]}
}

// silentFor writes how long a slave has sent nothing, as its status has it.
func silentFor(w *words) func(string) string {
	return func(silent string) string {
		d, err := time.ParseDuration(silent)
		if err != nil {
			return silent
		}
		if d < time.Second {
			return w.t("now")
		}
		return w.t("ago", w.span(d.Round(time.Second)))
	}
}
