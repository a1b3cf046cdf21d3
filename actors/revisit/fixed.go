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

// FixedInterval is a person's decision about some pages of a host: they are visited every so often, whatever their
// timetable.
type FixedInterval struct {
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

// FixedIntervals are those of one host, the most exact pattern first: of two that match a page it holds.
type FixedIntervals []FixedInterval

// MaxFixed bounds the intervals of one host: each page that is timed is held against all of them.
const MaxFixed = 64

// ErrManyFixed is returned when a host has MaxFixed already.
var ErrManyFixed = errors.New("no more than 64 intervals for the pages of one host: revisit --auto ends one")

// ErrFixed is returned by FixedIntervals.UnmarshalBinary for bytes that MarshalBinary cannot have made.
var ErrFixed = errors.New("revisit: corrupt intervals")

// Of returns how often a page is to be visited as a person has fixed it; 0: nobody has.
func (r FixedIntervals) Of(url string) time.Duration {
	for i := range r {
		if r[i].Pages.Matches(url) {
			return r[i].Every
		}
	}
	return 0
}

// With returns the intervals with one more, in the place of one for the same pages; Every 0 ends that.
func (r FixedIntervals) With(fixed FixedInterval) (FixedIntervals, error) {
	all := slices.DeleteFunc(slices.Clone(r), func(old FixedInterval) bool { return old.Pages == fixed.Pages })
	if fixed.Every <= 0 {
		return all, nil
	}
	if len(all) >= MaxFixed {
		return r, ErrManyFixed
	}
	all = append(all, fixed)
	slices.SortFunc(all, func(a, b FixedInterval) int {
		return cmp.Or(cmp.Compare(b.Pages.exactness(), a.Pages.exactness()), cmp.Compare(a.Pages, b.Pages))
	})
	return all, nil
}

// MarshalBinary writes the intervals for the store; no intervals are no bytes.
func (r FixedIntervals) MarshalBinary() ([]byte, error) {
	if len(r) == 0 {
		return nil, nil
	}
	return json.Marshal([]FixedInterval(r))
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (r *FixedIntervals) UnmarshalBinary(b []byte) error {
	*r = nil
	if len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, (*[]FixedInterval)(r)); err != nil {
		return fmt.Errorf("%w: %w", ErrFixed, err)
	}
	if len(*r) > MaxFixed || slices.ContainsFunc(*r, func(fixed FixedInterval) bool { return fixed.Every <= 0 }) {
		return fmt.Errorf("%w: %d of them", ErrFixed, len(*r))
	}
	return nil
}
