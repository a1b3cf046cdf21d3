package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"henro/messages"
	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

// Why is why an archive lacks a URL.
type Why uint8

// The reasons. WhyUnread is the zero value.
const (
	WhyUnread    Why = iota // no state lies beside the archive, or it could not be read in time
	WhyFailed               // its visits failed, or it was given up
	WhyWaiting              // it is known and was not visited yet
	WhyRefused              // a rule of the crawl keeps it out
	WhyElsewhere            // it was visited: its capture is not synced yet, not in this folder, or was left out
	WhyUnknown              // no page that was read links to it
)

// Absence is why an archive lacks a URL, as the state beside it has it.
type Absence struct {
	Why   Why
	Cause messages.Cause // why visits of it, or of its host, failed
	Says  string         // what else is known, in English
}

// absenceFor is how long a reader waits for the reason.
const absenceFor = 5 * time.Second

// way leads from a page that is missing to one that is there.
type way struct{ Name, Href string }

// isPlain reports whether an error is answered in one line of text: to programs, and to what only a page asks for.
func isPlain(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "":
		return !strings.Contains(r.Header.Get("Accept"), "text/html")
	case "document", "iframe", "frame", "embed", "object":
		return false
	}
	return true
}

// asked is the moment and the URL that a capture was asked for; false if none was.
func (s *Server) asked(r *http.Request) (stamp string, u weburl.URL, ok bool) {
	if stamp, origin, err := s.captured.Read(r.Host); err == nil {
		u, err := weburl.Parse(origin + target(r))
		return stamp, u, err == nil
	}
	path, ok := strings.CutPrefix(target(r), "/web/")
	stamp, raw, whole := strings.Cut(path, "/")
	if !ok || !whole {
		return "", weburl.URL{}, false
	}
	if strings.Trim(stamp, "0123456789*") != "" && !strings.HasSuffix(stamp, "_") {
		stamp, raw = "", path
	}
	u, err := parseTarget(raw)
	return strings.TrimRight(stamp, letters+"*"), u, err == nil
}

// fail says what went wrong; if a page is not archived, why not, and which captures are near.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	var p *problem
	missing, empty := errors.Is(err, captures.ErrNotArchived), errors.Is(err, captures.ErrNoOriginal)
	switch {
	case errors.As(err, &p):
		status = p.status
	case missing, empty, errors.Is(err, fs.ErrNotExist):
		status = http.StatusNotFound
	default:
		s.log.WithField("err", err).WithField("url", r.URL.String()).Error("a capture cannot be shown")
	}
	if isPlain(r) {
		http.Error(w, err.Error(), status)
		return
	}
	stamp, u, ok := s.asked(r)
	content := struct {
		page
		Title, Text, Says string
		Ways              []way
		Host, Back        string
		Own               bool   // our own page: in the frame of captures is no way to the search
		Leads             string // the banner around this frame goes to our own page of this error
	}{page: page{wordsFor(r), ""}, Title: fmt.Sprint(status), Text: err.Error(), Own: !isInside(r)}
	if ok {
		content.Query, content.Host = u.String(), strings.TrimPrefix(u.Host(), u.Scheme()+"://")
	}
	if content.Own {
		content.Back = back(r)
	}
	if missing || empty {
		content.Title, content.Text = content.Say("missing"), content.Say("missing-content")
		content.Ways = s.ways(u, stamp, content.Own, empty)
	}
	if missing {
		if !content.Own {
			content.Leads = "/web/" + stamp + "mp_/" + u.String()
		}
		absence := s.absence(r.Context(), u)
		content.Text, content.Says = content.Say(whyWords[absence.Why]), absence.Says
		if !absence.Cause.IsZero() {
			content.Text += " " + absence.Cause.String()
		}
	}
	_ = s.show(w, r, status, "fail.html", content)
}

// whyWords are the keys of the words for a reason.
var whyWords = [...]string{WhyUnread: "missing-why", WhyFailed: "missing-failed", WhyWaiting: "missing-waiting",
	WhyRefused: "missing-refused", WhyElsewhere: "missing-elsewhere", WhyUnknown: "missing-unknown"}

// absence asks the state why a URL is missing, one question at a time.
func (s *Server) absence(ctx context.Context, u weburl.URL) (a Absence) {
	if s.o.Absence == nil {
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, absenceFor)
	defer cancel()
	if s.questions.Acquire(ctx, 1) != nil {
		return a
	}
	defer s.questions.Release(1)
	a, err := s.o.Absence(ctx, u.String())
	if err != nil {
		s.log.WithField("err", err).WithField("url", u.String()).Warn("the state does not say why a page is missing")
		return Absence{}
	}
	return a
}

// back is the page of ours that led here, if one did.
func back(r *http.Request) string {
	from, err := url.Parse(r.Referer())
	if err != nil || from.Host != r.Host || from.RequestURI() == target(r) {
		return ""
	}
	return from.RequestURI()
}

// ways are captures near to one that is missing: of the same page at another time, if it has none with a content, or
// else of pages whose URLs are alike.
func (s *Server) ways(u weburl.URL, stamp string, own, again bool) (ways []way) {
	at, err := cdxj.ParseStamp(stamp)
	if err != nil {
		at = time.Now()
	}
	add := func(name string, e cdxj.Entry, at time.Time) {
		to := "/web/" + cdxj.Stamp(at) + "/" + e.URL
		if !own {
			to, _ = s.captured.Lead(cdxj.Stamp(at), e.URL)
		}
		ways = append(ways, way{name, to})
	}
	if again {
		for _, e := range s.archive.Whole(u, at) {
			add(e.At.UTC().Format("2006-01-02 15:04:05 UTC"), e, e.At)
		}
		return ways
	}
	for _, e := range s.archive.Near(u) {
		add(e.URL, e, at)
	}
	return ways
}
