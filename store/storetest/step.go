package storetest

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"henro/store"
)

// Step is one batch, before it is filled into a store.Batch.
type Step struct {
	Now     time.Time
	Rejudge uint64 // page numbers given elsewhere, plus one; 0: no links are judged again
	Visits  []store.Visited
	Admits  []store.Candidate
	Moves   []store.Entry
	Drops   []store.Entry
	Renews  []store.Entry
	Forgets []store.Position
	Hosts   []store.HostRecord
	Leases  []store.Lease
	Ended   []uint64
	Sends   []store.Parcel
	Sent    [][]byte
	Relaxed []store.Relaxation
	Meta    map[string][]byte
}

// Batch fills the step into a batch.
func (s *Step) Batch() *store.Batch {
	b := store.NewBatch(s.Now)
	for _, v := range s.Visits {
		b.Visit(v)
	}
	for _, c := range s.Admits {
		b.Admit(c)
	}
	for _, e := range s.Moves {
		b.Move(e.Position, e.Page)
	}
	for _, e := range s.Drops {
		b.Drop(e.Position, e.Page)
	}
	for _, e := range s.Renews {
		b.Renew(e.Position, e.Page)
	}
	b.Forget(s.Forgets...)
	for _, h := range s.Hosts {
		b.PutHost(h)
	}
	for _, l := range s.Leases {
		b.PutLease(l)
	}
	for _, id := range s.Ended {
		b.DeleteLease(id)
	}
	for _, p := range s.Sends {
		b.Send(p.Partition, p.Candidates)
	}
	b.Sent(s.Sent...)
	for _, r := range s.Relaxed {
		b.Relaxed(r)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Meta)) {
		b.PutMeta(name, s.Meta[name])
	}
	if s.Rejudge > 0 {
		b.Rejudge(s.Rejudge - 1)
	}
	return b
}

// Drawn collects which fields of batches, and of what lies in them, had a value. What a change does to a partition
// goes through a field of the batch, so a change that the suite does not know shows as a field that never had one.
type Drawn map[string]bool

// Note looks at a batch as it was committed.
func (d Drawn) Note(b *store.Batch) { d.note(reflect.ValueOf(b).Elem()) }

func (d Drawn) note(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			name := v.Type().String() + "." + v.Type().Field(i).Name
			d[name] = d[name] || !v.Field(i).IsZero()
			d.note(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.note(v.Index(i))
		}
	}
}

// Missing lists the fields that never had a value.
func (d Drawn) Missing() (names []string) {
	for name, had := range d {
		if !had {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
