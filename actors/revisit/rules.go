package revisit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"henro/messages/weburl"
)

// Rule is a person's decision about some pages of a host: they are visited every so often, whatever their timetable.
type Rule struct {
	Pages Pattern       `json:"pages"`
	Every time.Duration `json:"every_ns"`
}

// Pattern names pages: a URL, or all whose URLs begin with what stands before a * at its end.
type Pattern string

// ParsePattern reads what people write: a URL, a beginning of URLs with * behind it, or a host, scheme://name[:port]
// without a slash behind it, which is all its pages.
func ParsePattern(text string) (Pattern, error) {
	if !strings.Contains(text, "://") {
		return "", fmt.Errorf("pages %q have no scheme: write https://%s", text, text)
	}
	beginning, many := strings.CutSuffix(text, "*")
	u, err := weburl.Parse(beginning)
	if err != nil {
		return "", fmt.Errorf("pages %q: %w", text, err)
	}
	_, name, _ := strings.Cut(beginning, "://")
	if many || !strings.Contains(name, "/") {
		return Pattern(u.String() + "*"), nil
	}
	return Pattern(u.String()), nil
}

// Host is the host of the pages, scheme://name[:port].
func (p Pattern) Host() string { return weburl.HostOf(strings.TrimSuffix(string(p), "*")) }

// Matches reports whether a page is among those named.
func (p Pattern) Matches(url string) bool {
	if beginning, many := strings.CutSuffix(string(p), "*"); many {
		return strings.HasPrefix(url, beginning)
	}
	return url == string(p)
}

// exactness orders the patterns that match a page: the page itself, then the longer beginning.
func (p Pattern) exactness() int {
	if strings.HasSuffix(string(p), "*") {
		return len(p)
	}
	return math.MaxInt
}

// Rules are those of one host, the most exact pattern first: of two that match a page it holds.
type Rules []Rule

// MaxRules bounds the rules of one host: each page that is timed is held against all of them.
const MaxRules = 64

// ErrManyRules is returned when a host has MaxRules already.
var ErrManyRules = errors.New("no more than 64 rules for the pages of one host: revisit --auto ends one")

// ErrRules is returned by Rules.UnmarshalBinary for bytes that MarshalBinary cannot have made.
var ErrRules = errors.New("revisit: corrupt rules")

// Of returns how often a page is to be visited by a person's rule; 0: there is none for it.
func (r Rules) Of(url string) time.Duration {
	for i := range r {
		if r[i].Pages.Matches(url) {
			return r[i].Every
		}
	}
	return 0
}

// With returns the rules with one more, in the place of one for the same pages; Every 0 ends that.
func (r Rules) With(rule Rule) (Rules, error) {
	all := slices.DeleteFunc(slices.Clone(r), func(old Rule) bool { return old.Pages == rule.Pages })
	if rule.Every <= 0 {
		return all, nil
	}
	if len(all) >= MaxRules {
		return r, ErrManyRules
	}
	all = append(all, rule)
	slices.SortFunc(all, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(b.Pages.exactness(), a.Pages.exactness()), cmp.Compare(a.Pages, b.Pages))
	})
	return all, nil
}

// MarshalBinary writes the rules for the store; no rules are no bytes.
func (r Rules) MarshalBinary() ([]byte, error) {
	if len(r) == 0 {
		return nil, nil
	}
	return json.Marshal([]Rule(r))
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (r *Rules) UnmarshalBinary(b []byte) error {
	*r = nil
	if len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, (*[]Rule)(r)); err != nil {
		return fmt.Errorf("%w: %w", ErrRules, err)
	}
	if len(*r) > MaxRules || slices.ContainsFunc(*r, func(rule Rule) bool { return rule.Every <= 0 }) {
		return fmt.Errorf("%w: %d of them", ErrRules, len(*r))
	}
	return nil
}
