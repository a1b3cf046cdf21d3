package origin

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

// looked is how many captures of a path are looked at.
const looked = 2_000

// Alike returns the capture nearest to a moment of a URL that differs in what does not matter: parameters of the query
// that only keep caches from answering, or name a function of the page. It looks at looked captures of the path.
func Alike(a *captures.Archive, u weburl.URL, at time.Time) (captures.Place, error) {
	if u.Query() == "" {
		return captures.Place{}, captures.ErrNotArchived
	}
	path, _, _ := strings.Cut(u.IndexKey(), "?")
	matters, lines := Essential(u.Query()), 0
	var like weburl.URL
	err := a.Lines(path, func(line []byte) bool {
		own, _, _ := bytes.Cut(line, []byte(" "))
		if lines++; lines > looked || !bytes.HasPrefix(own, []byte(path)) {
			return false
		}
		e, err := cdxj.Parse(line)
		found, bad := weburl.Parse(e.URL)
		if err == nil && bad == nil && found.Path() == u.Path() && Essential(found.Query()) == matters {
			like = found
		}
		return like.IsZero()
	})
	if err != nil || like.IsZero() {
		return captures.Place{}, cmp.Or(err, captures.ErrNotArchived)
	}
	return a.Closest(like, at)
}

// Essential is what of a query matters: all but parameters of common names for callbacks and cache busters, and those
// whose value is a moment or a random number.
func Essential(query string) string {
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if !busters[strings.ToLower(name)] && !moment.MatchString(value) {
			kept = append(kept, part)
		}
	}
	slices.Sort(kept)
	return strings.Join(kept, "&")
}

// moment is a value in milliseconds or seconds, or a random fraction.
var moment = regexp.MustCompile(`^(1\d{9}|1\d{12}|0\.\d{8,})$`)

var busters = map[string]bool{"": true, "_": true, "cb": true, "callback": true, "jsonp": true, "_dc": true, "ts": true,
	"timestamp": true, "rand": true, "random": true, "nocache": true, "cachebuster": true, "_t": true, "_rsc": true}
