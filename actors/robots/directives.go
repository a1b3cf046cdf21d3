package robots

import (
	"slices"
	"strings"
)

// Directives are the wishes about one page that come with the page: <meta name="robots"> and X-Robots-Tag. They are no
// part of RFC 9309; names and meaning are those that search engines document. The zero value wishes nothing.
type Directives struct {
	NoIndex   bool // "noindex" or "none": do not keep this page
	NoFollow  bool // "nofollow" or "none": do not follow its links
	NoArchive bool // "noarchive" or "nocache": do not show a stored copy
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
	}
}

// takesValue says which directives are written "name: value", so that their name is no agent's.
func takesValue(name string) bool {
	switch strings.ToLower(name) {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
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
