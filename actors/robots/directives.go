package robots

import (
	"slices"
	"strings"
	"time"
)

// Directives are the wishes about one page that come with the page: <meta name="robots"> and X-Robots-Tag. They are no
// part of RFC 9309; names and meaning are those that search engines document. The zero value wishes nothing.
type Directives struct {
	NoIndex     bool // "noindex" or "none": do not keep this page
	NoFollow    bool // "nofollow" or "none": do not follow its links
	NoArchive   bool // "noarchive" or "nocache": do not show a stored copy
	NoImageKeep bool // "noimageindex": do not keep its images
	// UnavailableAfter is the moment after which the page is not to be kept, zero without one.
	UnavailableAfter time.Time
}

// And returns the wishes of both, which is the stricter of each.
func (d Directives) And(e Directives) Directives {
	d.NoIndex = d.NoIndex || e.NoIndex
	d.NoFollow = d.NoFollow || e.NoFollow
	d.NoArchive = d.NoArchive || e.NoArchive
	d.NoImageKeep = d.NoImageKeep || e.NoImageKeep
	if !e.UnavailableAfter.IsZero() && (d.UnavailableAfter.IsZero() || e.UnavailableAfter.Before(d.UnavailableAfter)) {
		d.UnavailableAfter = e.UnavailableAfter
	}
	return d
}

// ParseTag reads the values of all X-Robots-Tag headers of one response for one agent. A value may begin with the name
// of an agent ("otherbot: noindex, nofollow") and then speaks to that one only, up to the next name or its end.
func ParseTag(values []string, agent string) Directives {
	var d Directives
	names := agentTokens(agent)
	for _, value := range values {
		mine := true
		for item := range strings.SplitSeq(value, ",") {
			item = trim(item)
			if name, rest, ok := strings.Cut(item, ":"); ok && isToken(trim(name)) && !takesValue(trim(name)) {
				mine, item = addressed(trim(name), names), trim(rest)
			}
			if mine {
				d.add(item)
			}
		}
		if mine {
			d.date(value)
		}
	}
	return d
}

func addressed(name string, agents []string) bool {
	return name == "*" || strings.EqualFold(name, "robots") ||
		slices.ContainsFunc(agents, func(a string) bool { return strings.EqualFold(a, name) })
}

func (d *Directives) add(item string) {
	switch strings.ToLower(item) {
	case "noindex":
		d.NoIndex = true
	case "nofollow":
		d.NoFollow = true
	case "none":
		d.NoIndex, d.NoFollow = true, true
	case "noarchive", "nocache":
		d.NoArchive = true
	case "noimageindex":
		d.NoImageKeep = true
	}
}

const unavailableAfter = "unavailable_after"

// date looks for unavailable_after, whose date may contain commas, in a whole value.
func (d *Directives) date(value string) {
	i := 0
	for ; i+len(unavailableAfter) <= len(value) && !strings.EqualFold(value[i:i+len(unavailableAfter)],
		unavailableAfter); i++ {
	}
	if i+len(unavailableAfter) > len(value) {
		return
	}
	value = trim(strings.TrimPrefix(trim(value[i+len(unavailableAfter):]), ":"))
	// the longest beginning that is a date
	for end := len(value); end > 0; end = strings.LastIndexByte(value[:end], ',') {
		for _, layout := range dateLayouts {
			if t, err := time.Parse(layout, trim(value[:end])); err == nil {
				*d = d.And(Directives{UnavailableAfter: t.UTC()})
				return
			}
		}
	}
}

// dateLayouts are those that Google names: RFC 822, RFC 850, ISO 8601, and what its own examples use.
var dateLayouts = [...]string{
	"02 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 MST", "02-Jan-2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
	time.RFC1123, time.RFC1123Z, time.RFC850, time.RFC822, time.RFC822Z,
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02",
}

// takesValue says which directives are written "name: value", so that their name is no agent's.
func takesValue(name string) bool {
	switch strings.ToLower(name) {
	case unavailableAfter, "max-snippet", "max-image-preview", "max-video-preview":
		return true
	}
	return false
}

func isToken(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !unreserved(s[i]) && s[i] != '*' {
			return false
		}
	}
	return true
}
