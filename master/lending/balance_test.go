package lending

import (
	"maps"
	"testing"

	"henro/master/ledger"
)

func TestSurplusGoesToWhomItBelongs(t *testing.T) {
	for _, c := range []struct {
		says   string
		slaves []ledger.Slave
		moving map[string]int
		want   map[string]int
	}{
		{"even", []ledger.Slave{{Name: "a", Slots: 100, Held: 50}, {Name: "b", Slots: 100, Held: 50}}, nil, nil},
		{"nearly even", []ledger.Slave{{Name: "a", Slots: 100, Held: 56}, {Name: "b", Slots: 100, Held: 44}}, nil, nil},
		{"few hosts", []ledger.Slave{{Name: "a", Slots: 100, Held: 4}, {Name: "b", Slots: 100}}, nil, nil},
		{"one is new", []ledger.Slave{{Name: "a", Slots: 100, Held: 100}, {Name: "b", Slots: 100}}, nil,
			map[string]int{"a": 12}},
		{"some are on their way", []ledger.Slave{{Name: "a", Slots: 100, Held: 100}, {Name: "b", Slots: 100}},
			map[string]int{"a": 10}, map[string]int{"a": 2}},
		{"enough are on their way", []ledger.Slave{{Name: "a", Slots: 100, Held: 100}, {Name: "b", Slots: 100}},
			map[string]int{"a": 12}, nil},
		{"a share is a part of what one is willing to hold",
			[]ledger.Slave{{Name: "a", Slots: 300, Held: 150}, {Name: "b", Slots: 100, Held: 50}}, nil, nil},
		{"several give", []ledger.Slave{{Name: "a", Slots: 100, Held: 90}, {Name: "b", Slots: 100, Held: 90},
			{Name: "c", Slots: 100}}, nil,
			map[string]int{"a": 15, "b": 15}},
		{"no more than others lack", []ledger.Slave{{Name: "a", Slots: 100, Held: 60},
			{Name: "b", Slots: 100, Held: 60}, {Name: "c", Slots: 20, Held: 5}}, nil,
			map[string]int{"a": 4, "b": 2}},
		{"the only one", []ledger.Slave{{Name: "a", Slots: 100, Held: 100}}, nil, nil},
	} {
		if got := surplus(c.slaves, c.moving); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.says, got, c.want)
		}
	}
}
