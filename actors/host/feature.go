package host

import (
	"time"

	"henro/actors/admission"
	"henro/actors/protocol"
	"henro/actors/stoplist"
	"henro/messages"
	"henro/messages/outlink"
	"henro/store"
)

// Feature is something known of a host beside its clock, its robots.txt and its timetable: it learns from visits,
// decides about links, and keeps a note beside the record of the host.
type Feature interface {
	// Name is that of its note, which no other feature has.
	Name() string
	// Restore begins with the note as it is on disk; nil: there is none.
	Restore(note []byte) error
	// Saw learns from a visit that is not tried again.
	Saw(v *Visit)
	// Refuses says why a link of the host's pages to another of them is not taken; admission.None: it may be.
	Refuses(url string, now time.Time) admission.Reason
	// Follows reports whether links may be followed inside leases, by slaves that do not ask the feature.
	Follows() bool
	// Changed returns the note if it is to be written now; a nil note is removed. leaseEnds: this write ends the lease.
	Changed(leaseEnds bool) (note []byte, is bool)
}

// Visit is a visit as features see it.
type Visit struct {
	Fact  *messages.PageVisited
	Page  *store.Page // the record after the visit
	Links []outlink.Outlink
	First bool // the page was not visited before
	At    time.Time
	Write *protocol.Write // takes what follows beside the note
}

// Asked asks for what is kept of the host.
func (b *Book) Asked() *protocol.HostAsked {
	asked := &protocol.HostAsked{Host: b.name}
	for _, f := range b.features {
		asked.Notes = append(asked.Notes, f.Name())
	}
	return asked
}

// noteChanges adds the notes that have changed to a write.
func (b *base) noteChanges(w *protocol.Write, leaseEnds bool) {
	for _, f := range b.features {
		if note, changed := f.Changed(leaseEnds); changed {
			w.Notes = append(w.Notes, protocol.Note{Host: b.name, Name: f.Name(), Bytes: note})
		}
	}
}

// defaults are what a feature does where it has no method of its own: it learns nothing and refuses nothing.
type defaults struct{}

func (defaults) Restore([]byte) error                       { return nil }
func (defaults) Saw(*Visit)                                 {}
func (defaults) Refuses(string, time.Time) admission.Reason { return admission.None }
func (defaults) Follows() bool                              { return true }
func (defaults) Changed(bool) (note []byte, is bool)        { return nil, false }

// stopFeature is the stop list of the host, its note the evidence for more entries.
type stopFeature struct {
	defaults
	judge *judge
}

// StopsNote is the name of the note that has the evidence of the stop list.
const StopsNote = "stops"

func (r *stopFeature) Name() string              { return StopsNote }
func (r *stopFeature) Restore(note []byte) error { return r.judge.known.Stops.UnmarshalBinary(note) }

func (r *stopFeature) Refuses(url string, now time.Time) admission.Reason {
	return (&admission.Host{Stops: r.judge.known.Stops}).Takes(&r.judge.o.Admission, url, now)
}

// listFeature are the entries of the stop list, which are written less often than the evidence and may be long.
type listFeature struct {
	defaults
	judge *judge
}

// StopListNote is the name of the note that has the entries of the stop list.
const StopListNote = "stoplist"

func (r *listFeature) Name() string              { return StopListNote }
func (r *listFeature) Restore(note []byte) error { return r.judge.known.Stops.UnmarshalEntries(note) }

func (r *listFeature) Changed(bool) (note []byte, is bool) {
	if r.judge.known.Stops.Changed()&stoplist.Listed == 0 {
		return nil, false
	}
	note, _ = r.judge.known.Stops.MarshalEntries() // never fails
	return note, true
}

// sessionFeature are the session ids of URLs that were taken.
type sessionFeature struct {
	defaults
	judge *judge
}

// SessionsNote is the name of the note that has the session ids.
const SessionsNote = "sessions"

// Follows reports that none were found: which were taken is known here alone.
func (r *sessionFeature) Follows() bool { return !r.judge.known.Sessions.Found() }

func (r *sessionFeature) Name() string { return SessionsNote }
func (r *sessionFeature) Restore(note []byte) error {
	return r.judge.known.Sessions.UnmarshalBinary(note)
}

func (r *sessionFeature) Refuses(url string, now time.Time) admission.Reason {
	return (&admission.Host{Sessions: r.judge.known.Sessions}).Takes(&r.judge.o.Admission, url, now)
}

// Changed writes them when a lease ends: if they are lost, some are found again.
func (r *sessionFeature) Changed(leaseEnds bool) (note []byte, is bool) {
	if !leaseEnds || !r.judge.known.Sessions.Changed() {
		return nil, false
	}
	note, _ = r.judge.known.Sessions.MarshalBinary() // never fails
	return note, true
}
