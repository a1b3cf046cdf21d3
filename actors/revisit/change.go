package revisit

import "math/bits"

// Evidence is what a visit knows of a page's content.
type Evidence struct {
	Status int      // of the answer; 0 when it is not known: taken for a success
	Digest [20]byte // of the payload; zero when there was none
	Main   uint64   // hash of the main content, without navigation and the like; 0 when there is no text
	Sim    uint64   // SimHash of the main content's shingles; 0 when there is too little text
}

// Change says what became of a page between two visits, from nothing to everything.
type Change uint8

const (
	First       Change = iota // there is nothing to compare with
	NotModified               // status 304
	Identical                 // the same payload, byte for byte
	// another payload around the same main content: dates, counters, advertisements, navigation
	Trivial
	Slight      // the main content differs in no more than Options.Near bits of its SimHash
	Substantial // another page
	Vanished    // an error instead of the page, or the page again instead of an error
)

// Significant reports whether the change counts for the timetable. All changes are archived.
func (c Change) Significant() bool { return c == Substantial || c == Vanished }

// Changed compares what two visits of a page found, in the order of certainty: a 304 (which is believed), the exact
// digest, the digest of the main content, the distance of the SimHashes. What was not computed is not compared: without
// main content (an image, say) another digest is a substantial change.
func Changed(old, new Evidence, o *Options) Change {
	ok := func(status int) bool { return status == 0 || status >= 200 && status < 300 || status == 304 }
	switch {
	case old == Evidence{}:
		return First
	case new.Status == 304:
		return NotModified
	case ok(old.Status) != ok(new.Status):
		return Vanished
	case !ok(new.Status) && old.Status == new.Status: // error pages carry dates and trace numbers
		return Identical
	case !ok(new.Status):
		return Slight
	case old.Digest == new.Digest && new.Digest != [20]byte{}:
		return Identical
	case new.Main != 0 && old.Main == new.Main:
		return Trivial
	case old.Sim != 0 && new.Sim != 0 && bits.OnesCount64(old.Sim^new.Sim) <= o.Near:
		return Slight
	}
	return Substantial
}
