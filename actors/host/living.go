package host

import "henro/actors/living"

// livingFeature is what rendering showed of the host's pages: which have their scripts run, and what the others need.
type livingFeature struct {
	defaults
	known living.Host
	note  []byte // as it is on disk, and as it goes with leases
}

// LivingNote is the name of the note that has it.
const LivingNote = "living"

func (r *livingFeature) Name() string { return LivingNote }

func (r *livingFeature) Restore(note []byte) error {
	r.note = note
	if len(note) == 0 {
		return nil
	}
	return r.known.UnmarshalBinary(note)
}

// Saw learns from a page whose scripts were run, and from what rules have named, whether it is there. What a slave says
// and cannot be read teaches nothing.
func (r *livingFeature) Saw(v *Visit) {
	if found := new(living.Finding); len(v.Fact.Finding) > 0 && found.UnmarshalBinary(v.Fact.Finding) == nil {
		r.known.Learn(v.Page.URL, found)
	}
	if v.First && v.Page.Flags.Embedded() > 0 {
		r.known.Answered(v.Page.URL, v.Fact.Status)
	}
}

func (r *livingFeature) Changed(bool) (note []byte, is bool) {
	if !r.known.Changed() {
		return nil, false
	}
	r.note, _ = r.known.MarshalBinary() // never fails
	return r.note, true
}
