package replay

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

// memento sets the fields of RFC 7089 on the answer that is a memento.
func (s *Server) memento(h http.Header, r *http.Request, u weburl.URL, p captures.Place) {
	h.Set("Memento-Datetime", p.At.UTC().Format(http.TimeFormat))
	h.Set("Link", s.mementoLinks(r, u, p))
}

// mementoLinks are the links from a page to itself, to its time gate, to its time map, and to the captures around one,
// if one is given.
func (s *Server) mementoLinks(r *http.Request, u weburl.URL, p captures.Place) string {
	host := "http://" + s.ownHost(r)
	text := fmt.Sprintf(`<%s>; rel="original", <%s/timegate/%s>; rel="timegate", <%s/timemap/link/%s>; `+
		`rel="timemap"; type="application/link-format"`,
		u, host, u, host, u)
	for _, l := range []struct {
		rel string
		at  time.Time
	}{{"first memento", p.First}, {"prev memento", p.Previous}, {"memento", p.At}, {"next memento", p.Next},
		{"last memento", p.Last}} {
		if !l.at.IsZero() {
			text += fmt.Sprintf(`, <%s>; rel="%s"; datetime="%s"`, mementoURL(s.ownHost(r), u, l.at), l.rel,
				l.at.UTC().Format(http.TimeFormat))
		}
	}
	return text
}

func mementoURL(host string, u weburl.URL, at time.Time) string {
	return "http://" + host + "/web/" + cdxj.Stamp(at) + "mp_/" + u.String()
}

// timegate leads to the memento nearest to Accept-Datetime, or to the last one (RFC 7089 4.2.1).
func (s *Server) timegate(w http.ResponseWriter, r *http.Request, raw string) error {
	u, err := parseTarget(raw)
	if err != nil {
		return err
	}
	w.Header().Set("Vary", "accept-datetime")
	w.Header().Set("Link", s.mementoLinks(r, u, captures.Place{}))
	at := time.Now()
	if wish := r.Header.Get("Accept-Datetime"); wish != "" {
		if at, err = http.ParseTime(wish); err != nil {
			return &problem{http.StatusBadRequest, fmt.Errorf("Accept-Datetime %q is no date of HTTP", wish)}
		}
	}
	p, err := s.archive.Closest(u, at)
	if err != nil {
		return err
	}
	w.Header().Set("Link", s.mementoLinks(r, u, p))
	w.Header().Set("Location", mementoURL(s.ownHost(r), u, p.At))
	w.WriteHeader(http.StatusFound)
	return nil
}

// timemap lists the mementos of a page as application/link-format (RFC 7089 5).
func (s *Server) timemap(w http.ResponseWriter, r *http.Request, raw string) error {
	u, err := parseTarget(raw)
	if err != nil {
		return err
	}
	p, err := s.archive.Closest(u, time.Now())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/link-format")
	out := bufio.NewWriter(w)
	host := "http://" + s.ownHost(r)
	fmt.Fprintf(out, "<%s>; rel=\"original\",\n<%s/timegate/%s>; rel=\"timegate\",\n", u, host, u)
	fmt.Fprintf(out, "<%s/timemap/link/%s>; rel=\"self\"; type=\"application/link-format\"; from=\"%s\"; until=\"%s\"",
		host, u, p.First.UTC().Format(http.TimeFormat), p.Last.UTC().Format(http.TimeFormat))
	n := 0
	err = s.archive.Captures(u, func(e cdxj.Entry) bool {
		n++
		rel := "memento"
		switch {
		case p.Count == 1:
			rel = "first last memento"
		case n == 1:
			rel = "first memento"
		case n == p.Count:
			rel = "last memento"
		}
		fmt.Fprintf(out, ",\n<%s>; rel=\"%s\"; datetime=\"%s\"", mementoURL(s.ownHost(r), u, e.At), rel,
			e.At.UTC().Format(http.TimeFormat))
		return true
	})
	fmt.Fprintln(out)
	return s.lost(errors.Join(err, out.Flush()), u)
}
