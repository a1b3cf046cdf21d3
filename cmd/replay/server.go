package replay

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"henro/actors/console"
	"henro/actors/living"
	"henro/cmd/replay/cdx"
	"henro/cmd/replay/fields"
	"henro/cmd/replay/origin"
	"henro/cmd/replay/posts"
	"henro/messages/ticks"
	"henro/messages/weburl"
	"henro/slave/charset"
	"henro/slave/mediatype"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

// Options say how an archive is shown.
type Options struct {
	// NoScripts keeps the scripts of captures from running. Default off: pages that build themselves would stay empty.
	NoScripts bool
	// Absence says why a URL is missing. Default nil: no state lies beside the archive.
	Absence func(ctx context.Context, url string) (Absence, error)
}

// refreshEvery is how often the merged index takes in files that were finished. What still grows is looked at when it
// is asked for.
const refreshEvery = 30 * time.Second

// Server shows an archive.
type Server struct {
	archive *captures.Archive
	o       Options
	log     *logrus.Entry
	budget  *budget
	// questions to the state, which may read all links, are asked one at a time
	questions *semaphore.Weighted

	own      string      // host and port of our own pages, as they name them
	captured origin.Port // of captures
}

// NewServer returns a Server of an archive.
func NewServer(a *captures.Archive, o Options, log *logrus.Entry) *Server {
	return &Server{archive: a, o: o, log: log, budget: newBudget(), questions: semaphore.NewWeighted(1)}
}

// Listeners are where a Server answers. Own and Content are two ports, so that browsers take them for two origins.
type Listeners struct {
	Own     net.Listener
	Content []net.Listener // the same port of all addresses of localhost
}

// Serve answers until the context ends, and looks for new files meanwhile.
func (s *Server) Serve(ctx context.Context, l Listeners) error {
	s.own = l.Own.Addr().String()
	s.captured = portOf(l.Content[0])
	group, inner := errgroup.WithContext(ctx)
	serve := func(handler http.HandlerFunc, listeners ...net.Listener) {
		server := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler(console.Steady(w), r)
			}),
			ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Minute,
			MaxHeaderBytes: 64 << 10,
		}
		crowd := console.NewCrowd(readers)
		crowd.Watch(server)
		for i, l := range listeners {
			listeners[i] = crowd.Listen(l)
		}
		group.Go(func() error { return console.Serve(inner, server, 2*time.Second, listeners...) })
	}
	serve(s.ServeHTTP, l.Own)
	serve(s.captures, slices.Clone(l.Content)...)
	group.Go(func() error {
		for range ticks.Every(inner, refreshEvery) {
			if err := s.archive.Refresh(); err != nil {
				s.log.WithField("err", err).Warn("new files of the archive are not shown")
			}
		}
		return nil
	})
	return group.Wait()
}

// portOf is the port at which captures are.
func portOf(l net.Listener) origin.Port {
	_, port, _ := net.SplitHostPort(l.Addr().String()) // an address of the system
	return origin.Port(port)
}

// ownHost is the host of our own pages for a request.
func (s *Server) ownHost(r *http.Request) string {
	if isInside(r) || strings.HasPrefix(r.Host, "localhost") {
		return s.own
	}
	return r.Host
}

// admitted reports whether a request may be answered; if not, it has refused it.
func admitted(w http.ResponseWriter, r *http.Request, known bool) bool {
	h := w.Header()
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch {
	case !known:
		http.Error(w, "this archive is shown to this machine only: open it as 127.0.0.1", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead && !(r.Method == http.MethodPost && forCapture(r)):
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "ask by GET: only captures have answers to POST", http.StatusMethodNotAllowed)
	case r.Header.Get("Service-Worker") != "":
		http.Error(w, "a service worker would outlive the capture", http.StatusForbidden)
	default:
		return true
	}
	return false
}

// forCapture reports that a request is for a capture, and not for a page of ours.
func forCapture(r *http.Request) bool {
	return isInside(r) && !strings.HasPrefix(r.URL.Path, inside+"/") ||
		strings.HasPrefix(r.URL.Path, "/web/") && !cdx.Is(r.URL.Path)
}

// isForeign reports whether a page of another origin sent the request, and not a person who followed a link.
func isForeign(r *http.Request) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return (from == "cross-site" || from == "same-site") && r.Header.Get("Sec-Fetch-Dest") != "document"
}

// target is the path and query asked for, as they were written. It is not read by the mux of the library, which would
// clean the double slash out of http://.
func target(r *http.Request) string {
	path := r.URL.EscapedPath()
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}
	return path
}

// ServeHTTP answers our own pages. No capture runs in their origin: one that is asked for here is given without scripts
// and without an origin.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// another name of this machine comes from a page that was made to point here
	if !admitted(w, r, console.IsLocal(r.Host)) {
		return
	}
	if isForeign(r) {
		http.Error(w, "a page of another site learns nothing of this archive", http.StatusForbidden)
		return
	}
	w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
	path := target(r)
	var err error
	if strings.HasPrefix(r.Host, "localhost") {
		redirect(w, "http://"+s.own+path, http.StatusTemporaryRedirect)
	} else if cdx.Is(r.URL.Path) {
		err = cdx.Answer(w, r, s.archive.Lines)
	} else if rest, ok := strings.CutPrefix(path, "/web/"); ok {
		err = s.web(w, r, rest)
	} else if rest, ok := strings.CutPrefix(path, "/timegate/"); ok {
		err = s.timegate(w, r, rest)
	} else if rest, ok := strings.CutPrefix(path, "/timemap/link/"); ok {
		err = s.timemap(w, r, rest)
	} else {
		err = s.interior(w, r)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// captures answers in the origins of captures, where their scripts run. There is nothing here but captures and what an
// error page needs, so that a script finds no list of what is archived, even through a hole in the rewriting.
func (s *Server) captures(w http.ResponseWriter, r *http.Request) {
	stamp, as, unknown := s.captured.Read(r.Host)
	isShown := unknown == nil                         // besides, no name is answered here
	asks := isShown && r.Method == http.MethodOptions // before a script asks
	if !asks && !admitted(w, r, isShown) || s.share(w, r) {
		return
	}
	path, dest := target(r), r.Header.Get("Sec-Fetch-Dest")
	within, isOwn := strings.CutPrefix(path, inside+"/")
	if isOwn {
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin") // the page of an error has no origin
	} else if r.Header.Get("Sec-Fetch-Site") == "cross-site" && dest != "document" && dest != "iframe" {
		// the policy of a frame says who may show it
		http.Error(w, "a page of another site learns nothing of this archive", http.StatusForbidden)
		return
	}
	var err error
	if isOwn {
		r.URL.Path = "/" + within
		err = s.interior(w, r)
	} else {
		err = s.live(w, r, stamp, as+path)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// inside is where the origins of captures have what the page of an error needs, beside all paths of the web.
const inside = "/.henro"

// live answers in the place of a server of the web, with the capture nearest to a moment.
func (s *Server) live(w http.ResponseWriter, r *http.Request, stamp, url string) error {
	u, err := weburl.Parse(string(s.captured.Told([]byte(url))))
	if err != nil {
		return &problem{http.StatusBadRequest, err}
	}
	if r.Header.Get("Sec-Fetch-Dest") == "document" {
		redirect(w, "http://"+s.own+"/web/"+stamp+"/"+u.String(), http.StatusFound)
		return nil
	}
	at, _ := cdxj.ParseStamp(stamp) // it was read from the name
	p, err := s.closest(r, u, at)
	if err != nil {
		return err
	}
	return s.capture(w, r, u, p, stamp, false)
}

// closest is the capture of a request nearest to a moment, or of one that is like it.
func (s *Server) closest(r *http.Request, u weburl.URL, at time.Time) (captures.Place, error) {
	if r.Method == http.MethodPost {
		return posts.Closest(s.archive, s.captured, r, u, at)
	}
	p, err := s.archive.Closest(u, at)
	if errors.Is(err, captures.ErrNotArchived) {
		p, err = origin.Alike(s.archive, u, at)
	}
	return p, err
}

// redirect is http.Redirect, which would clean the double slash out of http://.
func redirect(w http.ResponseWriter, to string, status int) {
	w.Header().Set("Location", to)
	w.WriteHeader(status)
}

// parseTarget reads the URL at the end of one of our paths. Clients may have cleaned its double slash away.
func parseTarget(raw string) (weburl.URL, error) {
	for _, scheme := range []string{"http:/", "https:/"} {
		if rest, ok := strings.CutPrefix(raw, scheme); ok && !strings.HasPrefix(rest, "/") {
			raw = scheme + "/" + rest
		}
	}
	u, err := weburl.ParseTyped(raw)
	if err != nil {
		return u, &problem{http.StatusBadRequest, err}
	}
	return u, nil
}

// problem is an error with the status it is answered by.
type problem struct {
	status int
	error
}

// letters end a form of /web/TIME/URL.
const letters = "abcdefghijklmnopqrstuvwxyz_"

// web answers /web/TIME/URL in its forms.
func (s *Server) web(w http.ResponseWriter, r *http.Request, rest string) error {
	stamp, raw, ok := strings.Cut(rest, "/")
	if !ok || strings.Trim(stamp, "0123456789*") != "" && !strings.HasSuffix(stamp, "_") {
		stamp, raw = "*", rest // /web/URL
	}
	u, err := parseTarget(raw)
	if err != nil {
		return err
	}
	if year, ok := strings.CutSuffix(stamp, "*"); ok {
		return s.calendar(w, r, u, year)
	}
	digits := strings.TrimRight(stamp, letters)
	at, err := cdxj.ParseStamp(digits)
	if err != nil {
		return &problem{http.StatusBadRequest, err}
	}
	p, err, form := captures.Place{}, error(nil), stamp[len(digits):]
	if r.Method == http.MethodPost {
		p, err = s.closest(r, u, at)
		form = "mp_"
	} else {
		p, err = s.archive.Closest(u, at)
	}
	switch {
	case err != nil:
		return err
	case form == "id_":
		return s.capture(w, r, u, p, cdxj.Stamp(p.At), true)
	case form == "":
		if digits != cdxj.Stamp(p.At) {
			redirect(w, "/web/"+cdxj.Stamp(p.At)+"/"+u.String(), http.StatusFound)
			return nil
		}
		return s.frame(w, r, u, p)
	case r.Header.Get("Sec-Fetch-Dest") == "document":
		redirect(w, "http://"+s.ownHost(r)+"/web/"+cdxj.Stamp(p.At)+"/"+u.String(), http.StatusFound)
		return nil
	default: // mp_, and what others call styles, scripts and pictures: cs_, js_, im_
		return s.capture(w, r, u, p, cdxj.Stamp(p.At), false)
	}
}

// sandbox is what a capture may do: no windows, no leaving its frame.
const sandbox = "allow-scripts allow-same-origin allow-forms"

// sealed is the policy of what may do nothing: no scripts, no origin, nothing fetched, no frame, no way out.
const sealed = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// confine sets the fields that keep a capture from asking anything but the archive: what WebRTC and preconnect open is
// governed by the list of connections alone (Connection-Allowlist, in Chromium since 2026), all else by the policy too.
// Without a word about redirects Chromium follows none, of frames, pictures and fetches alike; where to is ours to say.
func (s *Server) confine(w http.ResponseWriter, r *http.Request, raw, isHTML bool) {
	w.Header().Set("Connection-Allowlist", `("`+s.captured.All()+`");redirects=allow`)
	w.Header().Set("Content-Security-Policy", s.policy(r, raw, isHTML))
}

// policy is the content security policy of captures. Only a frame of ours, and what a page in it asks for, may run
// scripts: nothing would keep a capture that is shown by itself from leaving. In a frame only HTML runs scripts, after
// the one that is put into it.
func (s *Server) policy(r *http.Request, raw, isHTML bool) string {
	dest := r.Header.Get("Sec-Fetch-Dest")
	if _, _, err := s.captured.Read(r.Host); raw || err != nil || dest == "" || dest == "document" {
		return sealed
	}
	all := "'self' " + s.captured.All()
	scripts, sandbox := all+" 'unsafe-inline' 'unsafe-eval' data: blob:", sandbox
	switch {
	case !isHTML && (dest == "iframe" || dest == "frame" || dest == "object" || dest == "embed"):
		scripts, sandbox = "'none'", "" // nor can a page around it reach its window
	case s.o.NoScripts:
		sum := sha256.Sum256([]byte(reporter))
		scripts = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src " + all + " data: blob: 'unsafe-inline'; script-src " + scripts + "; object-src " + all +
		"; frame-src " + all + "; connect-src " + all + " data: blob:; base-uri " + all +
		"; form-action " + all + "; frame-ancestors " + all + " http://" + s.own + "; webrtc 'block'; " +
		"sandbox " + sandbox
}

// capture answers with what a capture holds. Its links lead to what there was at the moment of the stamp.
func (s *Server) capture(w http.ResponseWriter, r *http.Request, u weburl.URL, p captures.Place, stamp string,
	raw bool) error {
	c, err := s.archive.Read(p.Entry)
	if err != nil {
		return err
	}
	defer c.Close()
	h := w.Header()
	s.memento(h, r, u, p)
	h.Set("Content-Location", "http://"+s.own+"/web/"+cdxj.Stamp(p.At)+"mp_/"+p.URL)
	h.Set("Cache-Control", "no-cache") // another crawl may be shown at this address next
	use := fields.Shown
	if raw {
		use = fields.Bytes
	} else if isInside(r) {
		use = fields.Of(r)
	}
	fields.Pass(h, c.Header, use, func(ref string) string {
		to, _ := weburl.Href(ref, u.String())
		to, _ = s.captured.Lead(stamp, to)
		return to
	})
	if raw { // a download: a browser would not show the bytes that the server sent
		h.Set("Content-Disposition", "attachment")
		h.Set("X-Content-Type-Options", "nosniff")
	}
	status := c.Status // of a download that leads elsewhere the browser is to show the answer, and not to follow it
	if status < 200 || status > 599 || raw && status >= 300 && status < 400 {
		status = http.StatusOK
	}
	release, err := s.budget.share(r.Context(), !raw, h.Get("Content-Encoding"))
	if err != nil {
		return err
	}
	defer release()
	media, _, _ := strings.Cut(strings.ToLower(h.Get("Content-Type")), ";")
	media = strings.TrimSpace(media)
	if fields := h.Values("Content-Type"); len(fields) > 1 || strings.Contains(media, ",") {
		t, _ := mediatype.Extract(fields) // which of them a browser goes by
		if media = t.Essence; t.Param("charset") != "" {
			h.Set("Content-Type", media+"; charset="+t.Param("charset"))
		} else {
			h.Set("Content-Type", media)
		}
	}
	s.confine(w, r, raw, media == "text/html")
	if r.Method == http.MethodHead && use == fields.Script {
		fields.Length(h, c.Header, fields.Untold)
	}
	isPage := media == "text/html" || media == "application/xhtml+xml" || media == "image/svg+xml" || media == ""
	if raw || !isPage && media != "text/css" {
		body := io.Reader(c.Body)
		if dest := r.Header.Get("Sec-Fetch-Dest"); !raw && (dest == "worker" || dest == "sharedworker") {
			if body, err = captures.Uncoded(body, h.Get("Content-Encoding")); err != nil {
				return err
			}
			h.Del("Content-Encoding")
			body = io.MultiReader(strings.NewReader(prelude), body)
		} else {
			fields.Length(h, c.Header, c.Length)
		}
		return s.lost(fields.Body(w, r, status, body), u)
	}
	body, err := captures.Uncoded(c.Body, h.Get("Content-Encoding"))
	if err != nil {
		return err
	}
	h.Del("Content-Encoding")
	in := bufio.NewReaderSize(body, peekBytes)
	begin, _ := in.Peek(peekBytes) // an error is reported when it is read
	if media == "" {
		if media = http.DetectContentType(begin); !strings.HasPrefix(media, "text/html") {
			w.WriteHeader(status)
			_, err := io.Copy(w, in)
			return s.lost(err, u)
		}
		media = "text/html"
		s.confine(w, r, raw, true)
	}
	rw := &rewriter{lead: func(href string) (string, bool) { return s.captured.Lead(stamp, href) }, base: u.String(),
		xml: media != "text/html"}
	rw.encoding, _ = charset.Detect(h.Get("Content-Type"), begin)
	rw.enc = charset.Encoding(rw.encoding)
	page := &metered{Reader: in, ctx: r.Context(), large: s.budget.large}
	defer page.release()
	if isWide(rw.encoding) {
		if err := page.big(); err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(in, maxWide))
		if err != nil && len(text) == 0 {
			return err
		}
		if text, err = charset.Decode(text, rw.encoding); err != nil {
			return err
		}
		page.Reader = io.MultiReader(bytes.NewReader(text), rw.enc.NewDecoder().Reader(in))
		rw.encoding = "utf-8"
		h.Set("Content-Type", media+"; charset=utf-8")
	} else if charset.Parameter(h.Get("Content-Type")) == "" && media == "text/html" {
		h.Set("Content-Type", media+"; charset="+rw.encoding) // as the crawler understood it
	}
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return nil
	}
	out := bufio.NewWriterSize(w, 32<<10)
	switch media {
	case "text/css":
		var sheet []byte
		if sheet, err = io.ReadAll(io.LimitReader(page, maxToken)); err == nil {
			rw.sheet(out, sheet)
			_, err = io.Copy(out, page)
		}
	case "text/html":
		rw.insert, rw.inner = "<script>"+reporter+"</script>", "<script>"+reporter+"</script>"
		err = rw.page(out, page)
	default:
		err = rw.page(out, page)
	}
	return s.lost(errors.Join(err, out.Flush()), u)
}

// reporter tells the banner where the frame is, leads what scripts ask of other sites into the archive, and takes away
// WebRTC, which connects to other machines whatever the policy says, from the page and from every window that it makes
// within itself, and makes chance what it was when the page was rendered. It stands first in the head of a capture, and
// removes itself. prelude leads what a worker asks for; it is put before the worker's script.
var reporter, prelude = func() (string, string) {
	line := func(source string) string { return strings.ReplaceAll(strings.TrimSpace(source), "\n", " ") }
	worker := "{" + line(leadSource) + " asks(self);}"
	page := strings.Replace(line(reporterSource), "PRELUDE", strconv.Quote(worker), 1)
	return line(living.Random) + " {" + line(leadSource) + " " + page + "}", worker
}()

//go:embed static/reporter.js
var reporterSource string

//go:embed static/lead.js
var leadSource string

// isWide reports whether bytes of ASCII may mean something else in an encoding, so that tags cannot be found in it.
func isWide(encoding string) bool {
	return strings.HasPrefix(encoding, "utf-16") || encoding == "iso-2022-jp"
}

// lost logs what went wrong after the answer had begun.
func (s *Server) lost(err error, u weburl.URL) error {
	if err != nil {
		s.log.WithFields(logrus.Fields{"url": u.String(), "err": err}).Warn("a capture was not shown to its end")
	}
	return nil
}
