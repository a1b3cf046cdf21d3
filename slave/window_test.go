package slave

import "testing"

// Where too much is kept, those wait that keep it, and nobody else.
func TestALeaseThatKeepsTooMuchWaitsAlone(t *testing.T) {
	o := DefaultOptions()
	o.Connections, o.KeptBytes, o.UnstoredFacts = 4, 4000, 10
	w := newWindow(&o)
	greedy, modest := &account{window: w}, &account{window: w}
	modest.keep(900)
	greedy.fetched(3000)
	if greedy.full() || modest.full() {
		t.Error("full below the bound")
	}
	greedy.keep(100)
	if !greedy.full() || modest.full() {
		t.Errorf("at the bound: greedy %v, modest %v", greedy.full(), modest.full())
	}
	if !w.filling() {
		t.Error("the master is not pressed")
	}
	greedy.parsed(3000)
	greedy.keep(-100)
	if greedy.full() || w.filling() || greedy.count.Load() != 0 || w.bytes.count.Load() != 900 {
		t.Error("kept after it is gone:", greedy.count.Load(), w.bytes.count.Load())
	}
	w.add(10)
	if !greedy.full() || !modest.full() {
		t.Error("at the bound of facts all wait")
	}
}
