package replay

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"henro/cmd/replay/timeline"
	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/report/search"
)

//go:embed static
var static embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"stamp": cdxj.Stamp,
	"clock": func(t time.Time) string { return t.UTC().Format("15:04:05") },
	"at":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
}).ParseFS(static, "static/*.html"))

// interiorPolicy is the content security policy of our own pages.
const interiorPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' " +
	"data:; form-action 'self'; base-uri 'none'; frame-ancestors "

// page is what the templates of all our pages are given.
type page struct {
	words
	Query string
}

// show renders a page of ours.
func (s *Server) show(w http.ResponseWriter, r *http.Request, status int, name string, content any) error {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, content); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	ancestors := "'none'"
	if isInside(r) { // the page about what is not archived is within the frame
		// Without an origin no capture reaches its window. With a referrer our own style sheet would be looked for in
		// the archive.
		ancestors = "'self' " + s.captured.All() + " http://" + s.own + "; sandbox allow-scripts"
		h.Set("Referrer-Policy", "no-referrer")
	}
	h.Set("Content-Security-Policy", interiorPolicy+ancestors+"; frame-src "+s.captured.All())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "Accept-Language")
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	return s.lost(err, weburl.URL{})
}

// interior answers our own pages.
func (s *Server) interior(w http.ResponseWriter, r *http.Request) error {
	switch path := r.URL.Path; {
	case path == "/":
		return s.start(w, r)
	case strings.HasPrefix(path, "/capture/"):
		return s.describe(w, r)
	case path == timeline.PicturePath:
		return timeline.Show(w, r, s.archive)
	case path == "/static/replay.css" || path == "/static/replay.js" ||
		path == "/static/missing.js" || path == "/static/icon.svg":
		http.ServeFileFS(w, r, static, path[1:])
		return nil
	case path == "/favicon.ico":
		http.ServeFileFS(w, r, static, "static/icon.svg")
		return nil
	}
	return &problem{http.StatusNotFound, errors.New("no such page; the archive begins at /")}
}

// listed is how many rows a list has before it is continued.
const listed = 100

// row is a page or a host in a list.
type row struct {
	Name   string
	URL    string // the page, or one of the host
	IsHost bool
}

// start shows the hosts, or what a search found.
func (s *Server) start(w http.ResponseWriter, r *http.Request) error {
	query := strings.TrimSpace(r.FormValue("q"))
	content := struct {
		page
		Files      int
		Rows       []row
		Next       string // continue here
		After      string
		Incomplete bool           // the search gave up
		Texts      []search.Found // with the words in their text, where there is an index
	}{page: page{wordsFor(r), query}, Files: len(s.archive.Merged().Files), After: r.FormValue("after")}
	var err error
	if query == "" {
		content.Rows, content.Next, err = s.hosts(content.After)
	} else {
		content.Rows, content.Next, content.Incomplete, err = s.search(query, content.After)
	}
	if err == nil && query != "" && content.After == "" {
		content.Texts, err = s.texts(r.Context(), query)
	}
	if err != nil {
		return err
	}
	return s.show(w, r, http.StatusOK, "start.html", content)
}

// textFor bounds a search in texts.
const textFor = 5 * time.Second

// texts searches the index that henro search makes beside the folder; nothing where there is none.
func (s *Server) texts(ctx context.Context, query string) ([]search.Found, error) {
	ctx, cancel := context.WithTimeout(ctx, textFor)
	defer cancel()
	index, err := search.Open(ctx, filepath.Dir(filepath.Clean(s.archive.Dir())), false)
	if errors.Is(err, search.ErrNoIndex) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer index.Close()
	found, err := index.Search(ctx, search.Question{Words: query, Most: listed})
	if errors.Is(err, search.ErrQuery) || ctx.Err() != nil {
		return nil, nil
	}
	return found, err
}

// hosts lists hosts by skipping from one to the next in the index.
func (s *Server) hosts(after string) (rows []row, next string, err error) {
	from := after
	for len(rows) < listed {
		found := false
		err = s.archive.Lines(from, func(line []byte) bool {
			e, err := cdxj.Parse(line)
			if err != nil {
				return true
			}
			host, _, ok := strings.Cut(e.Key, ")")
			if !ok {
				from = e.Key + "!" // dns: and the like; the next key
				return true
			}
			from, found = host+"*", true // the byte after )
			if u, err := weburl.Parse(e.URL); err == nil {
				rows = append(rows, row{Name: strings.TrimPrefix(u.Host(), u.Scheme()+"://"), URL: u.Host() + "/",
					IsHost: true})
			}
			return false
		})
		if err != nil || !found {
			return rows, "", err
		}
	}
	return rows, from, nil
}

// searchFor bounds a search through the whole index, which reads some 300 MB a second.
const searchFor = 3 * time.Second

// search lists pages: those below a URL or host, or if there is none, those with the words in their URL.
func (s *Server) search(query, after string) (rows []row, next string, incomplete bool, err error) {
	var prefix string
	if u, err := parseTarget(query); err == nil && !strings.ContainsAny(query, " ") {
		prefix = u.IndexKey()
		if !strings.Contains(strings.TrimPrefix(strings.TrimPrefix(query, "http://"), "https://"), "/") {
			prefix = strings.TrimSuffix(prefix, "/")
		}
	}
	last := ""
	take := func(line []byte) bool {
		key, _, _ := bytes.Cut(line, []byte(" "))
		if string(key) == last {
			return true
		}
		if len(rows) == listed {
			next = string(key)
			return false
		}
		last = string(key)
		if e, err := cdxj.Parse(line); err == nil {
			rows = append(rows, row{Name: e.URL, URL: e.URL})
		}
		return true
	}
	if prefix != "" {
		err = s.archive.Lines(max(prefix, after), func(line []byte) bool {
			return bytes.HasPrefix(line, []byte(prefix)) && take(line)
		})
		if err != nil || len(rows) > 0 {
			return rows, next, false, err
		}
	}
	words := strings.Fields(strings.ToLower(query))
	end := time.Now().Add(searchFor)
	lines := 0
	err = s.archive.Lines(after, func(line []byte) bool {
		if lines++; lines%1024 == 0 && time.Now().After(end) {
			key, _, _ := bytes.Cut(line, []byte(" "))
			incomplete, next = true, string(key)
			return false
		}
		key, _, _ := bytes.Cut(line, []byte(" "))
		for _, word := range words { // in the key names of hosts are reversed
			if !bytes.Contains(key, []byte(word)) && !bytes.Contains(urlOf(line), []byte(word)) {
				return true
			}
		}
		return take(line)
	})
	return rows, next, incomplete, err
}

// urlOf is the URL of a line of the index, in lower case.
func urlOf(line []byte) []byte {
	_, rest, _ := bytes.Cut(line, []byte(`"url":"`))
	url, _, _ := bytes.Cut(rest, []byte(`"`))
	return bytes.ToLower(url)
}

// moment is one capture in the calendar.
type moment struct {
	At        time.Time
	Class     string // of its status, for its colour: ok, moved, bad
	Unchanged bool   // its content is that of the capture before it
	Describe  string
}

// maxMoments bounds the captures shown of one day.
const maxMoments = 100

type day struct {
	Number  int // 0: a day of another month
	Moments []moment
	Count   int
}

type month struct {
	Name  string
	Days  []day
	Count int
}

type year struct {
	Year, Count int
	Shown       bool
}

// calendar shows all captures of a page, one year at a time: the one wished for, or the last.
func (s *Server) calendar(w http.ResponseWriter, r *http.Request, u weburl.URL, wish string) error {
	content := struct {
		page
		URL         string
		Count       int
		First, Last time.Time
		Years       []year
		Months      []month
		Line        *timeline.Timeline
	}{page: page{wordsFor(r), u.String()}, URL: u.String()}
	err := s.archive.Captures(u, func(e cdxj.Entry) bool {
		if content.Count++; content.Count == 1 {
			content.First = e.At
		}
		content.Last = e.At
		if n := len(content.Years); n == 0 || content.Years[n-1].Year != e.At.Year() {
			content.Years = append(content.Years, year{Year: e.At.Year()})
		}
		content.Years[len(content.Years)-1].Count++
		return true
	})
	if err == nil && content.Count == 0 {
		err = captures.ErrNotArchived
	}
	if err != nil {
		return err
	}
	shown := &content.Years[len(content.Years)-1]
	if i := slices.IndexFunc(content.Years, func(y year) bool { return strconv.Itoa(y.Year) == wish }); i >= 0 {
		shown = &content.Years[i]
	}
	shown.Shown = true
	content.Line = timeline.New(shown.Year)
	var days [13][32]day
	var before *cdxj.Entry
	err = s.archive.Captures(u, func(e cdxj.Entry) bool {
		if e.At.Year() == shown.Year {
			d := &days[e.At.Month()][e.At.Day()]
			if d.Count++; d.Count <= maxMoments {
				d.Moments = append(d.Moments, content.moment(e, before))
			}
		}
		before = &e
		content.Line.Add(&e)
		return true
	})
	if err == nil {
		err = content.Line.End(s.archive, u)
	}
	if err != nil {
		return err
	}
	for m := time.January; m <= time.December; m++ {
		first := time.Date(shown.Year, m, 1, 0, 0, 0, 0, time.UTC)
		grid := make([]day, (int(first.Weekday())+6)%7) // weeks begin on Monday
		for d := 1; d <= first.AddDate(0, 1, -1).Day(); d++ {
			days[m][d].Number = d
			grid = append(grid, days[m][d])
		}
		shown := month{Name: content.T["months"][m-1], Days: grid}
		for i := range days[m] {
			shown.Count += days[m][i].Count
		}
		content.Months = append(content.Months, shown)
	}
	w.Header().Set("Link", s.mementoLinks(r, u, captures.Place{}))
	return s.show(w, r, http.StatusOK, "calendar.html", content)
}

// moment shows a capture, compared with the one before it; nil: it is the first. A first capture may be a revisit too,
// of another page that had the same content.
func (p page) moment(e cdxj.Entry, before *cdxj.Entry) moment {
	m := moment{At: e.At, Unchanged: before != nil && e.Mime == cdxj.Revisit &&
		(e.Digest == "" || e.Digest == before.Digest), Class: "ok"}
	status := strconv.Itoa(e.Status)
	switch {
	case e.Status >= 400:
		m.Class = "bad"
	case e.Status >= 300 && e.Status != 304:
		m.Class = "moved"
	}
	if e.Status == 0 {
		status = ""
	}
	switch {
	case m.Unchanged:
		m.Describe = strings.TrimSpace(p.Say("unchanged") + " " + status)
	case e.Mime == cdxj.Revisit: // of another page, whose index line has the type
		m.Describe = status
	default:
		m.Describe = strings.TrimSpace(status + " " + e.Mime)
	}
	return m
}

// described is what the banner says of a capture.
type described struct {
	URL, At, Stamp        string
	Previous, Next        string // stamps; empty at the ends
	First, Last           string
	Number, Count, Status int
	Revisit               bool
	Unchanged             string // since when, if the content is that of an earlier capture
}

func (s *Server) describePlace(u weburl.URL, p captures.Place) described {
	d := described{
		URL: u.String(), At: p.At.UTC().Format("2006-01-02 15:04:05 UTC"), Stamp: cdxj.Stamp(p.At),
		First: cdxj.Stamp(p.First), Last: cdxj.Stamp(p.Last),
		Number: p.Number, Count: p.Count, Status: p.Status, Revisit: p.Mime == cdxj.Revisit,
	}
	if !p.Previous.IsZero() {
		d.Previous = cdxj.Stamp(p.Previous)
	}
	if !p.Next.IsZero() {
		d.Next = cdxj.Stamp(p.Next)
	}
	if d.Revisit {
		if c, err := s.archive.Read(p.Entry); err == nil {
			if c.Original != nil && c.Original.URL == p.URL { // else another page had this content
				d.Unchanged = c.Original.At.UTC().Format("2006-01-02 15:04:05 UTC")
			}
			c.Close()
		}
	}
	return d
}

// describe tells the banner of the capture to which its frame went: GET /capture/TIME/URL.
func (s *Server) describe(w http.ResponseWriter, r *http.Request) error {
	stamp, raw, _ := strings.Cut(strings.TrimPrefix(target(r), "/capture/"), "/")
	at, err := cdxj.ParseStamp(stamp)
	if err != nil {
		return &problem{http.StatusBadRequest, err}
	}
	u, err := parseTarget(raw)
	if err != nil {
		return err
	}
	p, err := s.closest(r, u, at)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return s.lost(json.NewEncoder(w).Encode(s.describePlace(u, p)), u)
}

// frame shows the banner, and below it the capture.
func (s *Server) frame(w http.ResponseWriter, r *http.Request, u weburl.URL, p captures.Place) error {
	s.memento(w.Header(), r, u, p)
	source, _ := s.captured.Lead(cdxj.Stamp(p.At), u.String())
	return s.show(w, r, http.StatusOK, "frame.html", struct {
		page
		described
		Source, Sandbox string
	}{page{wordsFor(r), u.String()}, s.describePlace(u, p), source, sandbox})
}
