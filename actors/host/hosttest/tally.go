// Package hosttest has a feature of hosts as somebody would add one, for a test that plugs it in: it counts the pages
// of a host, and takes none of some shape.
package hosttest

import (
	"encoding/binary"
	"errors"
	"time"

	"henro/actors/admission"
	"henro/actors/host"
	"henro/store/fingerprint"
)

// Tally counts the pages that a host has answered.
type Tally struct {
	pages   uint64
	changed bool
}

// New makes the feature for a host.
func New(string) host.Feature { return &Tally{} }

// Note is the name of its note.
const Note = "tally"

// Name implements host.Feature.
func (t *Tally) Name() string { return Note }

var errNote = errors.New("no tally")

// version begins the note; the count follows.
const version = 1

// Restore implements host.Feature.
func (t *Tally) Restore(note []byte) (err error) {
	t.pages, err = Read(note)
	return err
}

// Read reads a note: how many pages were counted.
func Read(note []byte) (pages uint64, err error) {
	if note == nil {
		return 0, nil
	}
	if note[0] != version {
		return 0, errNote
	}
	pages, n := binary.Uvarint(note[1:])
	if n <= 0 {
		return 0, errNote
	}
	return pages, nil
}

// Saw implements host.Feature.
func (t *Tally) Saw(v *host.Visit) {
	if v.First && v.Page.Status != 0 {
		t.pages++
		t.changed = true
	}
}

// Refuses implements host.Feature.
func (t *Tally) Refuses(url string, _ time.Time) admission.Reason {
	if Unwanted(url) {
		return admission.StopList
	}
	return admission.None
}

// Unwanted reports whether a URL is of the pages that are not taken, one in eight.
func Unwanted(url string) bool { return fingerprint.URL(url)%8 == 0 }

// Follows implements host.Feature: slaves do not know what is unwanted.
func (t *Tally) Follows() bool { return false }

// Changed implements host.Feature.
func (t *Tally) Changed(bool) (note []byte, is bool) {
	if !t.changed {
		return nil, false
	}
	t.changed = false
	return binary.AppendUvarint([]byte{version}, t.pages), true
}
