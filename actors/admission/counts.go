package admission

import (
	"encoding/json"
	"fmt"
)

// Counts counts by reason. As JSON it is an object from the words of the reasons that occur.
type Counts [reasons]uint64

func (c *Counts) Add(other *Counts) {
	for i, n := range other {
		c[i] += n
	}
}

// MarshalJSON writes what is not zero.
func (c Counts) MarshalJSON() ([]byte, error) {
	words := map[Reason]uint64{}
	for i, n := range c {
		if n > 0 {
			words[Reason(i)] = n
		}
	}
	return json.Marshal(words)
}

// UnmarshalJSON reads what MarshalJSON wrote. Reasons of another version are left out.
func (c *Counts) UnmarshalJSON(b []byte) error {
	words := map[string]uint64{}
	if err := json.Unmarshal(b, &words); err != nil {
		return fmt.Errorf("counts by reason: %w", err)
	}
	*c = Counts{}
	for word, n := range words {
		var r Reason
		if r.UnmarshalText([]byte(word)) == nil {
			c[r] = n
		}
	}
	return nil
}
