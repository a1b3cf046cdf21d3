package robots

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// group collects the rules for one of the two candidates: the groups that name the agent, and those for "*".
// Groups that name the same agent are one group (RFC 9309 2.2.1).
type group struct {
	seen  bool // some line User-agent names it
	rules []rule
	usage []usage
	delay int64
}

// Parse reads a robots.txt for one agent, named by its product token ("henro"); of a whole User-Agent header the part
// before the first "/" or space is taken. Several names may be given, separated by commas: groups for any of them
// apply. What cannot be understood is skipped, as the RFC wants: there is no error.
func Parse(body []byte, agent string) *Rules {
	r := &Rules{kind: parsed, delay: -1}
	whole := len(body) <= MaxBody
	if !whole {
		// The last, unfinished line is dropped: a cut "Allow: /a" would allow more than was written.
		body = body[:MaxBody]
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
		r.cut = true
	}
	names := agentTokens(agent)
	specific, global := group{delay: -1}, group{delay: -1}

	// in* say which candidates the lines that follow belong to. Two ends are kept because Crawl-delay and what is
	// said of use are no rules of the RFC: they must not close a list of User-agent lines for the rules, but do so for
	// further ones.
	var inSpecific, inGlobal, closed bool
	var delaySpecific, delayGlobal, delayClosed bool
	var licenses []usage
	add := func(pattern string, allow bool) {
		if !inSpecific && !inGlobal {
			return
		}
		closed, delayClosed = true, true
		p, ok := normalPattern(pattern)
		if !ok {
			return
		}
		if inSpecific {
			specific.rules = append(specific.rules, rule{p, allow})
		}
		if inGlobal {
			global.rules = append(global.rules, rule{p, allow})
		}
	}

	for line, cut := range lines(trimBOM(body)) {
		key, value, ok := split(line)
		if !ok {
			continue
		}
		switch classify(key) {
		case keyAgent:
			if closed {
				inSpecific, inGlobal, closed = false, false, false
			}
			if delayClosed {
				delaySpecific, delayGlobal, delayClosed = false, false, false
			}
			if value != "" && value[0] == '*' && (len(value) == 1 || isSpace(value[1])) {
				inGlobal, delayGlobal, global.seen = true, true, true
			} else if token := lineToken(value); token != "" &&
				slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, token) }) {
				inSpecific, delaySpecific, specific.seen = true, true, true
			}
		case keyAllow:
			if cut {
				r.cut = true
				break
			}
			add(value, true)
			// google/robotstxt's reading of Allow: /index.html as including the directory itself.
			if i := strings.LastIndexByte(value, '/'); i >= 0 && strings.HasPrefix(value[i:], "/index.htm") {
				add(value[:i+1]+"$", true)
			}
		case keyDisallow:
			r.cut = r.cut || cut
			add(value, false)
		case keyDelay:
			delayClosed = true
			if ms, ok := parseDelay(value); ok {
				if delaySpecific && specific.delay < 0 {
					specific.delay = ms
				}
				if delayGlobal && global.delay < 0 {
					global.delay = ms
				}
			}
		case keyUsage, keySignal:
			delayClosed = true
			u, ok := usageOf(contentUsage, value)
			if classify(key) == keySignal {
				u.origin = contentSignal
			}
			if ok && delaySpecific {
				specific.usage = append(specific.usage, u)
			}
			if ok && delayGlobal {
				global.usage = append(global.usage, u)
			}
		case keyLicense:
			if !cut && value != "" && len(value) <= maxUsage {
				licenses = append(licenses, usage{license, "/", value})
			}
		case keySitemap:
			r.addSitemap(value, cut)
		case keyAddress:
			// "Sitemap:" forgotten, seen in the wild: the address alone on its line.
			if address := strings.TrimSpace(line); strings.HasPrefix(value, "//") &&
				strings.Contains(strings.ToLower(address), "sitemap") {
				r.addSitemap(address, cut)
			}
		}
	}

	applies := &global
	if specific.seen {
		applies = &specific
	}
	r.rules, r.delay, r.usage = canonical(applies.rules), applies.delay, compact(append(applies.usage, licenses...))
	r.compile()
	return r
}

func (r *Rules) addSitemap(address string, cut bool) {
	if address == "" || cut || slices.Contains(r.sitemaps, address) {
		return
	}
	if len(r.sitemaps) >= maxSitemaps {
		r.cut = true
		return
	}
	r.sitemaps = append(r.sitemaps, strings.Clone(address))
}

// canonical removes what says nothing (repeats, and a Disallow whose very pattern is also allowed: of equal matches
// Allow wins, RFC 9309 2.2.2) and sorts the rest in order of precedence, so that the first match decides.
func canonical(rules []rule) []rule {
	slices.SortFunc(rules, func(a, b rule) int {
		return cmp.Or(strings.Compare(a.pattern, b.pattern), -compareBool(a.allow, b.allow))
	})
	rules = slices.CompactFunc(rules, func(a, b rule) bool { return a.pattern == b.pattern })
	slices.SortFunc(rules, func(a, b rule) int {
		return cmp.Or(cmp.Compare(len(b.pattern), len(a.pattern)), -compareBool(a.allow, b.allow),
			strings.Compare(a.pattern, b.pattern))
	})
	return rules
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// trimBOM removes a byte order mark, a broken one too, as google/robotstxt does.
func trimBOM(body []byte) []byte {
	for _, c := range []byte{0xEF, 0xBB, 0xBF} {
		if len(body) == 0 || body[0] != c {
			break
		}
		body = body[1:]
	}
	return body
}

// lines yields the lines of body, ended by LF, CR or CRLF, and whether a line was cut to maxLine.
func lines(body []byte) func(yield func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		for len(body) > 0 {
			line, rest := body, body[len(body):]
			if i := bytes.IndexAny(body, "\r\n"); i >= 0 {
				line, rest = body[:i], body[i+1:]
			}
			body = rest
			cut := len(line) > maxLine-1
			if cut {
				line = line[:maxLine-1]
			}
			if len(line) > 0 && !yield(string(line), cut) {
				return
			}
		}
	}
}

// split parts a line into key and value. The colon may be missing when the line has exactly two words.
func split(line string) (key, value string, ok bool) {
	if i := strings.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	line = trim(line)
	i := strings.IndexByte(line, ':')
	if i < 0 {
		i = strings.IndexAny(line, " \t")
		if i < 0 || strings.ContainsAny(trim(line[i:]), " \t") {
			return "", "", false
		}
	}
	key, value = trim(line[:i]), trim(line[i+1:])
	return key, value, key != ""
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// trim removes ASCII white space only: others are bytes of a pattern.
func trim(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

type key uint8

const (
	keyOther key = iota
	keyAgent
	keyAllow
	keyDisallow
	keyDelay
	keySitemap
	keyAddress
	keyUsage
	keySignal
	keyLicense
)

// keys lists beginnings of keys, misspellings included: those that google/robotstxt knows.
var keys = [...]struct {
	name string
	key  key
}{
	{"user-agent", keyAgent}, {"useragent", keyAgent}, {"user agent", keyAgent},
	{"allow", keyAllow},
	{"disallow", keyDisallow}, {"dissallow", keyDisallow}, {"dissalow", keyDisallow}, {"disalow", keyDisallow},
	{"diaslow", keyDisallow}, {"diasllow", keyDisallow}, {"disallaw", keyDisallow},
	{"crawl-delay", keyDelay}, {"crawldelay", keyDelay}, {"crawl delay", keyDelay},
	{"sitemap", keySitemap}, {"site-map", keySitemap},
	{"http", keyAddress},
	{"content-usage", keyUsage}, {"content-signal", keySignal}, {"license", keyLicense},
}

func classify(name string) key {
	for _, k := range keys {
		if len(name) >= len(k.name) && strings.EqualFold(name[:len(k.name)], k.name) {
			return k.key
		}
	}
	return keyOther
}

// agentTokens returns the product tokens of the agents to look for. "*" names none of them, and "Mozilla/5.0", with
// which half of all User-Agent headers begin, no agent.
func agentTokens(agent string) []string {
	var tokens []string
	for name := range strings.SplitSeq(agent, ",") {
		name = trim(name)
		if len(name) >= 8 && strings.EqualFold(name[:8], "Mozilla/") {
			continue
		}
		if i := strings.IndexAny(name, "/ \t"); i >= 0 {
			name = name[:i]
		}
		if name != "" && name != "*" {
			tokens = append(tokens, name)
		}
	}
	return tokens
}

// lineToken returns the product token that a User-agent line begins with.
func lineToken(value string) string {
	for i := 0; i < len(value); i++ {
		if c := value[i] | 0x20; !(c >= 'a' && c <= 'z' || value[i] == '-' || value[i] == '_') {
			return value[:i]
		}
	}
	return value
}

// parseDelay reads a Crawl-delay: seconds, perhaps with a fraction.
func parseDelay(value string) (ms int64, ok bool) {
	s, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(s) || s < 0 {
		return 0, false
	}
	return int64(math.Ceil(min(s, maxDelay.Seconds()) * float64(time.Second/time.Millisecond))), true
}
