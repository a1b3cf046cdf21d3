package news

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/andybalholm/cascadia"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"

	"henro/messages/weburl"
)

// WatchesName is the name of the file of watches in the directory of a crawl.
const WatchesName = "watch.yaml"

// Bounds of a file of watches.
const (
	maxFileBytes = 1 << 20
	maxWatches   = 1000
	maxWords     = 32  // selectors, patterns or words of one kind in a watch
	maxWord      = 500 // bytes of one
	maxTag       = 50  // bytes
)

// Watch is what a reader wants to know of some pages.
type Watch struct {
	Pages  Pages    `yaml:"pages"`            // a URL, all that begin with what stands before a *, or a host
	Only   []string `yaml:"watch,omitempty"`  // CSS selectors: only of what lies in these; none: of the main text
	Leave  []string `yaml:"leave,omitempty"`  // CSS selectors of what is left out
	Ignore []string `yaml:"ignore,omitempty"` // RE2 patterns: what matches is taken out of each block
	Least  int      `yaml:"least,omitempty"`  // letters that must have changed
	Come   []string `yaml:"come,omitempty"`   // one of these words must have come, whatever its case …
	Go     []string `yaml:"go,omitempty"`     // … or one of these have gone
	Tag    string   `yaml:"tag,omitempty"`    // a word of the reader's for what changes there, which feeds ask for
	// false: not of links, of pictures; all that changes is told, whatever the record says
	Links    *bool `yaml:"links,omitempty"`
	Pictures *bool `yaml:"pictures,omitempty"`
	Learn    *bool `yaml:"learn,omitempty"`

	only, leave []cascadia.SelectorGroup
	ignore      []*regexp.Regexp
}

var none Watch

// Watches are those of a file.
type Watches struct{ all []*Watch }

// ParseWatches reads a file of watches: a list in YAML, each with the keys of Watch. An error names the line.
func ParseWatches(file io.Reader) (*Watches, error) {
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxFileBytes)
	}
	var nodes []yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&nodes); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("want a list of watches, each beginning with - pages: URL: %w", err)
	}
	if len(nodes) > maxWatches {
		return nil, fmt.Errorf("line %d: more than %d watches", nodes[maxWatches].Line, maxWatches)
	}
	watches := &Watches{}
	for i := range nodes {
		r, err := parseWatch(&nodes[i])
		if err != nil {
			return nil, err
		}
		watches.all = append(watches.all, r)
	}
	// the most exact first
	slices.SortStableFunc(watches.all, func(a, b *Watch) int { return cmp.Compare(len(b.Pages), len(a.Pages)) })
	return watches, nil
}

func parseWatch(n *yaml.Node) (*Watch, error) {
	r := &Watch{}
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: want a watch that begins with - pages: URL", n.Line)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !slices.Contains([]string{"pages", "watch", "leave", "ignore", "least", "come", "go", "links", "pictures",
			"learn", "tag"}, key.Value) {
			return nil, fmt.Errorf("line %d: %q: want pages, watch, leave, ignore, least, come, go, links, pictures, "+
				"learn or tag", key.Line, key.Value)
		}
		if err := r.checkWords(key, value); err != nil {
			return nil, err
		}
	}
	if err := n.Decode(r); err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "yaml: unmarshal errors:\n  ", ""))
	}
	pages, err := ParsePages(string(r.Pages))
	if err != nil {
		return nil, fmt.Errorf("line %d: pages %q: %w", n.Line, r.Pages, err)
	}
	r.Pages = pages
	return r, CheckTag(r.Tag)
}

// CheckTag says why a text is no tag: a word of at most 50 bytes. Without one, "", is fine too.
func CheckTag(tag string) error {
	if len(tag) > maxTag || !utf8.ValidString(tag) ||
		strings.ContainsFunc(tag, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return fmt.Errorf("tag %q: want one word of at most %d bytes", tag, maxTag)
	}
	return nil
}

// checkWords reads the selectors and patterns of a watch, each of which has a line of its own to name.
func (r *Watch) checkWords(key, value *yaml.Node) error {
	if value.Kind != yaml.SequenceNode {
		return nil
	}
	if len(value.Content) > maxWords {
		return fmt.Errorf("line %d: more than %d in %s", value.Line, maxWords, key.Value)
	}
	for _, word := range value.Content {
		if len(word.Value) > maxWord || word.Value == "" {
			return fmt.Errorf("line %d: want 1 to %d bytes in %s", word.Line, maxWord, key.Value)
		}
		switch key.Value {
		case "watch", "leave":
			sel, err := cascadia.ParseGroup(word.Value)
			if err != nil {
				return fmt.Errorf("line %d: %q is no CSS selector: %w", word.Line, word.Value, err)
			}
			if key.Value == "watch" {
				r.only = append(r.only, sel)
			} else {
				r.leave = append(r.leave, sel)
			}
		case "ignore":
			like, err := regexp.Compile(word.Value)
			if err != nil {
				return fmt.Errorf("line %d: %q is no regular expression: %w", word.Line, word.Value, err)
			}
			r.ignore = append(r.ignore, like)
		}
	}
	return nil
}

// Pages names pages: a URL, all whose URLs begin with what stands before a * at its end, or a host.
type Pages string

// ParsePages reads such a name, and brings it into the one form of URLs.
func ParsePages(text string) (Pages, error) {
	begin, all := strings.CutSuffix(text, "*")
	switch {
	case text == "*":
		return "*", nil
	case text == "":
		return "", errors.New("want a URL, one that ends in *, a host, or * for all")
	case !strings.Contains(begin, "://"):
		if strings.Contains(begin, "/") || all {
			return "", errors.New("want https:// or http:// before it")
		}
		_, err := weburl.Parse("https://" + begin + "/")
		return Pages(strings.ToLower(begin)), err
	}
	u, err := weburl.Parse(begin)
	if all {
		return Pages(u.String() + "*"), err
	}
	return Pages(u.String()), err
}

// Has reports whether a page is among those named. url is in the form of package weburl.
func (p Pages) Has(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	begin, all := strings.CutSuffix(string(p), "*")
	return url == string(p) || host == string(p) || all && strings.HasPrefix(url, begin)
}

// For returns the watch for a page, the most exact of those that hold for it; nil: none does. url is in the form of
// package weburl.
func (rs *Watches) For(url string) *Watch {
	if rs == nil {
		return nil
	}
	if i := slices.IndexFunc(rs.all, func(r *Watch) bool { return r.Pages.Has(url) }); i >= 0 {
		return rs.all[i]
	}
	return nil
}

// Learns reports whether noise is to be told from news.
func (r *Watch) Learns() bool { return r == nil || r.Learn == nil || *r.Learn }

func (r *Watch) links() bool    { return r.Links == nil || *r.Links }
func (r *Watch) pictures() bool { return r.Pictures == nil || *r.Pictures }

func (r *Watch) wants(n *html.Node) bool  { return matches(r.only, n) }
func (r *Watch) leaves(n *html.Node) bool { return matches(r.leave, n) }

func matches(all []cascadia.SelectorGroup, n *html.Node) bool {
	return slices.ContainsFunc(all, func(s cascadia.SelectorGroup) bool { return s.Match(n) })
}

// clean takes what is to be ignored out of a text.
func (r *Watch) clean(text string) string {
	if len(r.ignore) == 0 {
		return text
	}
	for _, like := range r.ignore {
		text = like.ReplaceAllString(text, "")
	}
	return fold(text)
}
