package captures

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
)

// Bounds of Near.
const (
	nearListed  = 8     // captures that are returned
	nearLooked  = 2_000 // lines of the index that are looked at for them
	nearFolders = 16    // folders above a page that are looked into
)

// Whole returns the captures of a page that hold a content of their own, before and after a moment.
func (a *Archive) Whole(u weburl.URL, at time.Time) (found []cdxj.Entry) {
	var before, after cdxj.Entry
	err := a.Captures(u, func(e cdxj.Entry) bool {
		switch {
		case e.Mime == cdxj.Revisit:
		case e.At.Before(at):
			before = e
		case after.URL == "":
			after = e
		}
		return after.URL == ""
	})
	for _, e := range []cdxj.Entry{before, after} {
		if err == nil && e.URL != "" {
			found = append(found, e)
		}
	}
	return found
}

// Near returns captures of the folder of a page, or of the nearest folder above it that has any, those first whose keys
// are most like its own.
func (a *Archive) Near(u weburl.URL) []cdxj.Entry {
	key := u.IndexKey()
	var found []cdxj.Entry
	folder := key
	for range nearFolders {
		i := strings.LastIndexAny(strings.TrimRight(folder, "/?"), "/?")
		if i < strings.IndexByte(folder, ')') {
			break // above the host
		}
		folder = folder[:i+1]
		lines, last := 0, ""
		err := a.Lines(folder, func(line []byte) bool {
			own, _, _ := bytes.Cut(line, []byte(" "))
			if lines++; lines > nearLooked || !bytes.HasPrefix(own, []byte(folder)) {
				return false
			}
			if string(own) == last {
				return true
			}
			last = string(own)
			if e, err := cdxj.Parse(line); err == nil && (e.Status == 0 || e.Status < 400) {
				found = append(found, e)
			}
			return true
		})
		if err != nil || len(found) > 0 {
			break
		}
	}
	slices.SortStableFunc(found, func(a, b cdxj.Entry) int { return common(b.Key, key) - common(a.Key, key) })
	return found[:min(len(found), nearListed)]
}

// common is how many bytes two keys have in common at their beginning.
func common(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
