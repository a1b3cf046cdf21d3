package robots

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// What publishers say of the use of a page once it is fetched. It forbids no request: it is kept with the page, and
// obeyed where a crawl says so. A statement is one line, where it stands and what it says:
//
//	robots.txt Content-Usage: train-ai=n             draft-ietf-aipref-attach; also as a header, "Content-Usage: …"
//	robots.txt Content-Signal: search=yes, ai-train=no  contentsignals.org; also as a header
//	tdmrep.json tdm-reservation: 1                   TDMRep; also as a header and in a meta element
//	robots.txt License: https://example.org/l.xml    RSL, of the whole host; what the file says is not read
//	robots: noarchive                                X-Robots-Tag and <meta name=robots>

// Uses are what a publisher may say no to, in the words of --obey.
func Uses() []string { return []string{"ai-train", "ai-input", "search", "tdm", "noarchive"} }

// useOf is the use that a word of a statement means; empty: none that is known.
func useOf(word string) string {
	switch word = strings.ToLower(trim(word)); word {
	case "train-ai", "train-genai": // of the IETF's vocabulary, now and in drafts that are out there
		return "ai-train"
	case "ai-train", "ai-input", "search":
		return word
	}
	return ""
}

// Reserved returns the first of the uses that a statement says no to; empty: none. Of statements that disagree the one
// that says no counts.
func Reserved(statements, uses []string) string {
	if len(uses) == 0 {
		return ""
	}
	for _, s := range statements {
		where, text, _ := strings.Cut(s, ": ")
		for item := range strings.SplitSeq(text, ",") {
			word, value, _ := strings.Cut(item, "=")
			value, _, _ = strings.Cut(value, ";")
			use, value := useOf(word), strings.ToLower(trim(value))
			no := (value == "n" || value == "no") && where != license.String() // an address, whatever is in it
			switch {
			case strings.HasSuffix(where, reservation):
				first, _, _ := strings.Cut(trim(item), " ")
				use, no = "tdm", first == "1"
			case where == "robots" && strings.EqualFold(trim(item), "noarchive"):
				use, no = "noarchive", true
			}
			if no && slices.Contains(uses, use) {
				return use
			}
		}
	}
	return ""
}

// reservation is the property of TDMRep that says whether rights are reserved.
const reservation = "tdm-reservation"

// Bounds of what is kept of a host: what is longer or more is left out.
const (
	maxUsages = 100
	maxUsage  = 255 // octets of a pattern, and of what is said
)

// origin says where a statement about the paths of a host stands.
type origin uint8

const (
	contentUsage origin = iota
	contentSignal
	tdmRep
	license
	origins
)

func (o origin) String() string {
	return [origins]string{"robots.txt Content-Usage", "robots.txt Content-Signal", "tdmrep.json " + reservation,
		"robots.txt License"}[o]
}

// usage is a statement about the paths that a pattern matches, which is weighed like that of a rule.
type usage struct {
	origin        origin
	pattern, text string
}

// usageOf reads the value of a line "[PATH] STATEMENT"; without a path it is about all of them.
func usageOf(o origin, value string) (u usage, ok bool) {
	u = usage{origin: o, pattern: "/", text: value}
	if value != "" && value[0] == '/' {
		i := strings.IndexAny(value, " \t")
		if i < 0 {
			return u, false
		}
		u.pattern, u.text = value[:i], trim(value[i:])
	}
	u.pattern, ok = normalPattern(u.pattern)
	return u, ok && u.text != "" && len(u.pattern) <= maxUsage && len(u.text) <= maxUsage
}

// compact sorts statements and bounds them.
func compact(all []usage) []usage {
	slices.SortFunc(all, func(a, b usage) int {
		return cmp.Or(cmp.Compare(a.origin, b.origin), cmp.Compare(len(b.pattern), len(a.pattern)),
			strings.Compare(a.pattern, b.pattern), strings.Compare(a.text, b.text))
	})
	all = slices.Compact(all)
	return all[:min(len(all), maxUsages)]
}

// Usage returns the statements about a request URI: of each origin those with the longest pattern that matches.
func (r *Rules) Usage(requestURI string) (statements []string) {
	if r == nil || len(r.usage) == 0 {
		return nil
	}
	var longest [origins]int
	for _, u := range r.usage { // the longest come first
		if n := longest[u.origin]; len(u.pattern) < n {
			continue
		}
		one := Rules{rules: []rule{{u.pattern, false}}}
		if one.compile(); one.Allowed(requestURI) {
			continue
		}
		longest[u.origin] = len(u.pattern)
		statements = append(statements, u.origin.String()+": "+u.text)
	}
	return statements
}

// Reserve returns r with what a tdmrep.json says. What is broken says nothing.
func (r *Rules) Reserve(file []byte) *Rules {
	var entries []struct {
		Location    string          `json:"location"`
		Reservation json.RawMessage `json:"tdm-reservation"`
		Policy      string          `json:"tdm-policy"`
	}
	if r.Unreachable() || json.Unmarshal(bytes.TrimPrefix(file, []byte("\xef\xbb\xbf")), &entries) != nil {
		return r
	}
	with := *r
	with.usage = slices.Clone(r.usage)
	for _, e := range entries {
		value := strings.Trim(string(e.Reservation), `"`)
		if value != "0" && value != "1" || !strings.HasPrefix(e.Location, "/") {
			continue
		}
		if e.Policy != "" && !strings.ContainsAny(e.Policy, " ,") {
			value += " " + e.Policy
		}
		if u, ok := usageOf(tdmRep, e.Location+" "+value); ok {
			with.usage = append(with.usage, u)
		}
	}
	with.usage = compact(with.usage)
	return &with
}

// TDMFile is where TDMRep's file stands on a host.
const TDMFile = "/.well-known/tdmrep.json"
