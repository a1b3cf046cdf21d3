package fakeweb

import (
	"bytes"
	"strconv"
	"time"
)

// request is what the web needs to know of one HTTP request.
type request struct {
	method, host  string // host as in the Host header, lower case, port included
	target        []byte
	agent         string
	noneMatch     string
	modifiedSince string
	secure        bool // over TLS
	close         bool // the client wants the connection closed
}

// answer is what the web says to one request. It is reused from request to request.
type answer struct {
	status int
	head   []byte             // header lines but Date, Content-Length and Connection, each ending in CRLF
	body   []byte             // empty for 304
	fault  fate               // timeout, reset or cut: what becomes of the answer; well otherwise
	raw    func(*Stage) error // a guest writes its answer by itself
}

func (a *answer) header(key, value string) {
	a.head = append(a.head, key...)
	a.head = append(a.head, ": "...)
	a.head = append(a.head, value...)
	a.head = append(a.head, "\r\n"...)
}

func (a *answer) html(h *Host) {
	a.head = append(a.head, "Content-Type: text/html"...)
	if h.Declared&InHeader != 0 {
		a.head = append(a.head, "; charset="...)
		a.head = append(a.head, h.Charset.String()...)
	}
	a.head = append(a.head, "\r\n"...)
}

// origin gives the scheme and port the request came under.
func (q *request) origin() origin {
	o := origin{scheme: "http"}
	if q.secure {
		o.scheme = "https"
	}
	if i := bytes.LastIndexByte([]byte(q.host), ':'); i >= 0 {
		o.port = q.host[i:]
	}
	return o
}

// name gives the host of the request without its port.
func (q *request) name() string {
	for i := len(q.host) - 1; i >= 0; i-- {
		if q.host[i] == ':' {
			return q.host[:i]
		}
	}
	return q.host
}

// answer says what host h says to q at a moment.
func (w *Web) answer(a *answer, h *Host, q *request, now time.Time) {
	*a = answer{status: 200, head: a.head[:0], body: a.body[:0]}
	h.live = w.live(h, now)
	if h.State != Answering {
		a.fault = timeout
		return
	}
	if h.guest != nil && h.guest.Answer != nil && h.guest.Answer(&Reply{w, h, q, a}) {
		return
	}
	if h.redirects != answering && string(q.target) != "/robots.txt" && string(q.target) != "/robots-moved.txt" {
		a.status = [...]int{301, 302, 307, 308}[h.Index%4]
		a.header("Location", string(w.movedTo(h, q.origin(), q.target)))
		a.html(h)
		return
	}
	h = w.inMirror(h, q.target)
	at := w.locate(h, q.target)
	switch at.kind {
	case content:
		w.contentAnswer(a, h, at, q, now)
	case alias:
		r := draw(w.o.Seed, forAlias, uint64(h.Index), uint64(at.n), 1)
		a.status = [...]int{301, 302, 303, 307, 308}[r.below(5)]
		a.head = append(a.head, "Location: "...)
		if r.next()&1 == 0 {
			a.head = q.origin().append(a.head, w, h)
		}
		a.head = w.appendPath(a.head, h, at.n)
		a.head = append(a.head, "\r\n"...)
		a.html(h)
		a.body = w.note(a.body, h, texts(h.Charset).phrases.next)
	case calendar, maze:
		a.html(h)
		a.body = w.trapPage(a.body, h, at, q.origin(), now)
	case robots, robotsMoved:
		w.robotsAnswer(a, h, at.kind, q)
	case sitemap:
		w.sitemapAnswer(a, h, q, now)
	case sitemapPart:
		w.partAnswer(a, h, at.n, q, now)
	case feed:
		w.feedAnswer(a, h, q, now)
	case static:
		a.header("Content-Type", [...]string{"text/css", "image/gif"}[at.n])
		a.body = append(a.body, staticBodies[at.n]...)
		r := draw(w.o.Seed, forTemplate, uint64(at.n))
		for len(a.body) < w.o.TemplateBytes { // letters, which a style sheet does not name anything by
			a.body = append(a.body, byte('a'+r.below(26)))
		}
	default:
		w.errorAnswer(a, h, 404)
		if h.Soft {
			a.status = 200
		}
	}
}

func (w *Web) errorAnswer(a *answer, h *Host, status int) {
	a.status = status
	a.html(h)
	phrases := &texts(h.Charset).phrases
	if status < 500 {
		a.body = w.note(a.body, h, phrases.notFound)
	} else {
		a.body = w.note(a.body, h, phrases.wrong)
	}
}

func (w *Web) contentAnswer(a *answer, h *Host, at place, q *request, now time.Time) {
	n := at.n
	if w.vanished(h, n, now) {
		status := 410
		if h.Index%2 == 1 {
			status = 404
		}
		w.errorAnswer(a, h, status)
		return
	}
	switch a.fault = w.fate(h, n); a.fault {
	case timeout:
		return
	case notFound, gone, internal, unavailable, throttled:
		status := fateStatus[a.fault]
		switch a.fault {
		case unavailable:
			a.header("Retry-After", "120")
		case throttled:
			a.header("Retry-After", "60")
		}
		a.fault = well
		w.errorAnswer(a, h, status)
		return
	}
	if w.ill(h, n, now) {
		w.errorAnswer(a, h, 500)
		return
	}
	pr := w.changes(h, n)
	version := pr.version(now)
	if h.Validator != 0 && w.validate(a, h, n, &pr, version, q, now) {
		a.status = 304
		return
	}
	a.html(h)
	a.body = w.page(a.body, h, n, version, q.origin(), now)
	switch {
	case h.Counter && n == 0:
		w.changeWords(a.body, h, n, counterWords, uint64(now.UnixNano())^uint64(len(h.Name)))
	case at.form == nearly:
		w.changeWords(a.body, h, n, w.nearWords(h, n), 1)
	case w.differs(h, at):
		w.changeWords(a.body, h, n, 1<<mostWordsLog2, uint64(at.form)<<8+at.sid)
	}
}

var fateStatus = [...]int{notFound: 404, gone: 410, internal: 500, unavailable: 503, throttled: 429}

// ill reports whether a flaky page answers 500 at this moment.
func (w *Web) ill(h *Host, n int, now time.Time) bool {
	e := &h.Errors
	if e.Flaky == 0 || n == 0 {
		return false
	}
	r := draw(w.o.Seed, forFlaky, uint64(h.Index), uint64(n))
	if !r.chance(e.Flaky) {
		return false
	}
	r = draw(w.o.Seed, forFlaky, uint64(h.Index), uint64(n), uint64(now.UnixNano()/int64(e.FlakyFor)))
	return r.next()&1 == 0
}

// validate writes the validators and reports whether the client's copy is still good.
func (w *Web) validate(a *answer, h *Host, n int, pr *process, version uint64, q *request,
	now time.Time) (unchanged bool) {
	var moves int64
	at := w.modified(h, n, pr, h.live, now)
	grown, _ := w.grown(h, n, h.live)
	if h.Trivial {
		var moved time.Time
		if moves, moved = trivial(now); moved.After(at) {
			at = moved
		}
	}
	at = at.Truncate(time.Second)
	conditional := false
	if h.Validator&ETag != 0 {
		var room [24]byte
		tag := append(room[:0], '"')
		tag = strconv.AppendUint(tag, mix(mix(w.o.Seed, pr.host<<32|pr.page),
			mix(version+uint64(grown), uint64(moves))), 16)
		tag = append(tag, '"')
		a.head = append(a.head, "ETag: "...)
		a.head = append(a.head, tag...)
		a.head = append(a.head, "\r\n"...)
		if q.noneMatch != "" {
			conditional = true
			unchanged = string(tag) == q.noneMatch
		}
	}
	if h.Validator&LastModified != 0 {
		a.head = append(a.head, "Last-Modified: "...)
		a.head = appendDate(a.head, at)
		a.head = append(a.head, "\r\n"...)
		if q.modifiedSince != "" && !conditional { // If-None-Match goes before (RFC 9110 13.2.2)
			since, err := time.Parse(dateLayout, q.modifiedSince)
			unchanged = err == nil && !at.After(since)
		}
	}
	return unchanged
}

const dateLayout = "Mon, 02 Jan 2006 15:04:05 GMT"

func appendDate(dst []byte, t time.Time) []byte { return t.UTC().AppendFormat(dst, dateLayout) }
