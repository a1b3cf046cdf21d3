package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Site is one of those that make.mjs made.
type Site struct {
	Name, Host string
	Pages      []string // paths, as a browser that has followed all links has them
	Fallback   bool     // what is no file is answered with the page at the root, whose router knows it
	Of         string   // the site whose pages ask this one; empty: it has pages of its own
	address    string
}

const (
	private  = "/private/"  // what robots.txt keeps from crawlers
	excluded = "/excluded/" // what --exclude keeps from this crawl
	trap     = "trap.living.test"
	trapAt   = "127.9.9.9" // outside the networks that a crawl is allowed
)

// asked is a request that came.
type asked struct {
	at                 time.Time
	host, method, path string // with its query
	body               [sha256.Size]byte
	agent              string
}

// Web serves all sites, each at an address of its own, and notes what came.
type Web struct {
	mu   sync.Mutex
	came []asked
	log  io.Writer
}

// take returns what came since it was called last.
func (w *Web) take() []asked {
	w.mu.Lock()
	defer w.mu.Unlock()
	came := w.came
	w.came = nil
	return came
}

// count is how many requests came since take was called last.
func (w *Web) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.came)
}

// serve starts a server for each site until the process ends.
func (w *Web) serve(dir string, sites []*Site, port int) error {
	listen := func(address string, h http.Handler) error {
		l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			return err
		}
		server := &http.Server{Handler: w.noted(h), ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(l) }() // until the process ends
		return nil
	}
	for i, s := range sites {
		if s.address = fmt.Sprintf("127.0.0.%d", 61+i); strings.HasSuffix(s.Host, ".localhost") {
			s.address = "127.0.0.1" // where browsers look for it
		}
		handler := s.files(filepath.Join(dir, s.Name))
		if s.Name == "api" || s.Name == "cors" || s.Name == "total" {
			handler = answers(handler)
		}
		if err := listen(s.address, handler); err != nil {
			return err
		}
	}
	return listen(trapAt, http.NotFoundHandler())
}

// maxBody bounds what a request may send to the lab, in bytes.
const maxBody = 1 << 20

// noted notes each request before it is answered.
func (w *Web) noted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		at := time.Now()
		body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, maxBody))
		if err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = r.Host
		}
		w.mu.Lock()
		w.came = append(w.came, asked{at: at, host: name, method: r.Method, path: r.URL.RequestURI(),
			body: sha256.Sum256(body), agent: r.UserAgent()})
		fmt.Fprintf(w.log, "%s %s %s %s %d %q\n", at.UTC().Format("15:04:05.000000"), r.Method, r.Host,
			r.URL.RequestURI(), len(body), r.UserAgent())
		w.mu.Unlock()
		h.ServeHTTP(out, r)
	})
}

// files serves a folder. Where crawlers are not to go, there is nothing for anybody: a page is the same without it.
func (s *Site) files(root string) http.Handler {
	files := http.FileServer(http.Dir(root))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, private) || strings.HasPrefix(r.URL.Path, excluded) {
			http.Error(w, "not for you", http.StatusForbidden)
			return
		}
		file := filepath.Join(root, filepath.FromSlash(path.Clean(r.URL.Path)))
		if _, err := os.Stat(file + ".html"); err == nil { // as hosts of static exports do
			http.ServeFile(w, r, file+".html")
			return
		}
		_, err := os.Stat(file)
		if err != nil && s.Fallback && path.Ext(r.URL.Path) == "" {
			http.ServeFile(w, r, filepath.Join(root, "index.html"))
			return
		}
		files.ServeHTTP(w, r)
	})
}

// answers answers GET and POST with words made of what was asked, to pages of any origin.
func answers(files http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if from := r.Header.Get("Origin"); from != "" {
			h.Set("Access-Control-Allow-Origin", from)
			h.Set("Access-Control-Allow-Credentials", "true")
			h.Set("Vary", "Origin")
		}
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Headers", "Content-Type, X-Asks")
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		of, known := r.FormValue("n"), false
		switch r.URL.Path {
		case "/get":
			known, of = r.Method == http.MethodGet, of+r.FormValue("at")
		case "/list":
			known, of = r.Method == http.MethodGet, of+" "+r.FormValue("page")
			paged(h, r)
		case "/moved":
			http.Redirect(w, r, "http://"+strings.Replace(r.Host, "api", "cors", 1)+"/get?n="+of, http.StatusFound)
			return
		case "/query", "/mine", "/place", "/work", "/text", "/said", "/form", "/own", "/bytes", "/none", "/xhr":
			known = r.Method == http.MethodPost
			body, _ := io.ReadAll(r.Body) // in memory
			of += string(body)
		}
		if !known {
			files.ServeHTTP(w, r)
			return
		}
		h.Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"text": words(r.Method + r.URL.Path + of)})
	})
}

// listed is how many entries each list of the lab has, in pages of listPage.
const (
	listed   = 23
	listPage = 5
)

// paged sets the fields by which APIs say how long a list is, and where its next page is. No body says so.
func paged(h http.Header, r *http.Request) {
	page, _ := strconv.Atoi(r.FormValue("page"))
	to := func(page int) string {
		return fmt.Sprintf("http://%s/list?n=%s&page=%d", r.Host, url.QueryEscape(r.FormValue("n")), page)
	}
	if h.Get("Access-Control-Allow-Origin") == "" { // whoever asks
		h.Set("Access-Control-Allow-Origin", "*")
	}
	h.Set("Access-Control-Expose-Headers", "X-Total-Count, Link, Content-Range, ETag")
	h.Set("X-Total-Count", strconv.Itoa(listed))
	h.Set("X-Unshared", "for pages of the same origin")
	h.Set("Content-Range", fmt.Sprintf("items %d-%d/%d", page*listPage, min((page+1)*listPage, listed)-1, listed))
	h.Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(r.URL.RawQuery)))[:12]+`"`)
	if link := fmt.Sprintf(`<%s>; rel="first"`, to(0)); (page+1)*listPage < listed {
		h.Set("Link", fmt.Sprintf(`%s, <%s>; rel="next"`, link, to(page+1)))
	} else {
		h.Set("Link", link)
	}
}

// words are twelve words that a seed always gives.
func words(seed string) string {
	syllables := []string{"ka", "mo", "ri", "shi", "ten", "no", "ba", "lu", "per", "von", "dra", "so"}
	var b strings.Builder
	for i := range 12 {
		h := fnv.New32a()
		fmt.Fprint(h, seed, i)
		for n := h.Sum32() | 1<<20; n > 0; n /= 37 {
			b.WriteString(syllables[n%uint32(len(syllables))])
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// Manners is what the log of the servers says of a crawl.
type Manners struct {
	Requests, Robots, Excluded, Guarded, Twice, Early int
	Lost                                              int           // asked again, since a kill may have lost it
	Oldest                                            time.Duration // before the kill they came at most
	Agents                                            []string
	worst                                             []string // a few of each, for people
}

// ok reports whether the crawl went nowhere and asked for nothing more often than it may.
func (m Manners) ok() bool { return m.Robots+m.Excluded+m.Guarded+m.Twice+m.Early == 0 }

// pacing is how much of the interval must have gone by between two requests as they come to the server: one may have
// been on its way for longer than the next.
const pacing = 0.9

// judge counts what a crawl asked for that it may not, twice, or too early. A host is asked for robots.txt once too.
func judge(came []asked, delay time.Duration, killed *kills) Manners {
	m := Manners{Requests: len(came)}
	type question struct {
		host, method, path string
		body               [sha256.Size]byte
	}
	seen := map[question]time.Time{} // when it came last
	last := map[string]asked{}
	note := func(n *int, what string, a asked) {
		if *n++; *n <= 3 {
			m.worst = append(m.worst, fmt.Sprintf("%s: %s %s%s", what, a.method, a.host, a.path))
		}
	}
	for _, a := range came {
		switch {
		case a.host == trap:
			note(&m.Guarded, "past the guard of addresses", a)
		case strings.HasPrefix(a.path, private):
			note(&m.Robots, "past robots.txt", a)
		case strings.HasPrefix(a.path, excluded):
			note(&m.Excluded, "past --exclude", a)
		}
		if q := (question{a.host, a.method, a.path, a.body}); a.method != http.MethodOptions {
			before, twice := seen[q]
			age, killed := killed.after(before)
			switch {
			case !twice:
			case killed && age < lostWithin:
				m.Lost++
				m.Oldest = max(m.Oldest, age)
			default:
				note(&m.Twice, fmt.Sprintf("twice, %v before a kill", age.Round(time.Millisecond)), a)
			}
			seen[q] = a.at
		}
		if before, ok := last[a.host]; ok && a.at.Sub(before.at) < time.Duration(pacing*float64(delay)) {
			note(&m.Early, fmt.Sprintf("%v after the one before", a.at.Sub(before.at).Round(time.Millisecond)), a)
		}
		last[a.host] = a
		if !slices.Contains(m.Agents, a.agent) {
			m.Agents = append(m.Agents, a.agent)
		}
	}
	return m
}
