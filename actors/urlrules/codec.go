package urlrules

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrCorrupt is returned for bytes that this package has not written.
var ErrCorrupt = errors.New("URL rules cannot be read")

// MarshalBinary writes the rules with their evidence, as JSON: some kilobytes at most. The texts of pages are not
// written: of two pages that were visited before and after a restart nothing is learnt.
func (s *Set) MarshalBinary() ([]byte, error) { return json.Marshal(s.Rules()) }

// UnmarshalBinary reads what MarshalBinary wrote; nothing is a host of which nothing is known.
func (s *Set) UnmarshalBinary(b []byte) error {
	*s = Set{}
	if len(b) == 0 {
		return nil
	}
	var rules []Rule
	if err := json.Unmarshal(b, &rules); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if len(rules) > MaxRules {
		return ErrCorrupt
	}
	s.begin()
	for _, r := range rules {
		if len(r.Name) > maxName+1 || len(r.Values) > MaxValues || len(r.Texts) > enough<<maxDoubled ||
			r.Person != "" && r.Person != Apply && r.Person != Forget {
			return ErrCorrupt
		}
		for _, v := range r.Values {
			if len(v.Texts) > enough {
				return ErrCorrupt
			}
		}
		if known := s.rule(r.id()); known != nil {
			*known = r
		} else {
			s.rules = append(s.rules, r)
		}
	}
	s.stale, s.noting = true, len(rules) > 0
	return nil
}

// Changed reports whether there is anything new since it was last asked.
func (s *Set) Changed() bool {
	changed := s.changed
	s.changed = false
	return changed
}

// MarshalBinary writes a form: text8 ‖ minutes4 ‖ left1 ‖ url4 ‖ by × rule4, little endian.
func (f *Form) MarshalBinary() ([]byte, error) {
	b := binary.LittleEndian.AppendUint64(nil, f.Text)
	b = append(binary.LittleEndian.AppendUint32(b, minutes(f.At)), f.Left)
	b = binary.LittleEndian.AppendUint32(b, f.URL)
	for _, id := range f.By {
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	return b, nil
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (f *Form) UnmarshalBinary(b []byte) error {
	if len(b) < 17 || len(b) > 17+4*MaxRules || len(b)%4 != 1 {
		return ErrCorrupt
	}
	f.Text, f.Left, f.URL = binary.LittleEndian.Uint64(b), b[12], binary.LittleEndian.Uint32(b[13:])
	f.At = time.Unix(int64(binary.LittleEndian.Uint32(b[8:]))*60, 0)
	for f.By = nil; len(b) > 17; b = b[:len(b)-4] {
		f.By = append(f.By, binary.LittleEndian.Uint32(b[len(b)-4:]))
	}
	return nil
}
