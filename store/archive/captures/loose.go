package captures

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
)

// looseLooked bounds the lines of the index that Loose looks at.
const looseLooked = 2_000

// passing are parameters, in lower case, by which scripts keep caches from answering, or name what they do with it.
var passing = map[string]bool{"_": true, "cb": true, "cachebuster": true, "callback": true, "jsonp": true,
	"nocache": true, "nonce": true, "rand": true, "random": true, "rnd": true, "t": true, "timestamp": true, "ts": true}

// lasting is a query without what passes, in one order; false: nothing in it passes.
func lasting(query string) (string, bool) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", false
	}
	passes := false
	for name := range values {
		if passing[strings.ToLower(name)] {
			passes = true
			values.Del(name)
		}
	}
	return values.Encode(), passes
}

// Loose returns the capture nearest to a moment whose URL differs in nothing but what passes: a script asks for another
// one each time. It finds none for a URL in which nothing passes.
func (a *Archive) Loose(u weburl.URL, at time.Time) (Place, error) {
	want, passes := lasting(u.Query())
	if !passes {
		return Place{}, ErrNotArchived
	}
	if bare, _, _ := strings.Cut(u.String(), "?"); want == "" {
		if u, err := weburl.Parse(bare); err == nil {
			if p, err := a.Closest(u, at); err == nil {
				return p, nil
			}
		}
	}
	key, _, _ := strings.Cut(u.IndexKey(), "?")
	var best weburl.URL
	var bestAt time.Time
	looked := 0
	err := a.Lines(key+"?", func(line []byte) bool {
		if looked++; looked > looseLooked || !bytes.HasPrefix(line, []byte(key+"?")) {
			return false
		}
		e, err := cdxj.Parse(line)
		if err != nil || !best.IsZero() && e.At.Sub(at).Abs() >= bestAt.Sub(at).Abs() {
			return true
		}
		other, err := weburl.Parse(e.URL)
		if query, _ := lasting(other.Query()); err == nil && query == want && other.Path() == u.Path() {
			best, bestAt = other, e.At
		}
		return true
	})
	if err != nil || best.IsZero() {
		return Place{}, errors.Join(err, ErrNotArchived)
	}
	return a.Closest(best, at)
}
