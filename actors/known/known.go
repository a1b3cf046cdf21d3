// Package known reads what the features of hosts (package host) have kept of them, from a state that is open.
//
// It is as old as the last commit: a Host that is awake may know more.
package known

import (
	"errors"
	"fmt"

	"henro/actors/alias"
	"henro/actors/host"
	"henro/actors/living"
	"henro/actors/partition"
	"henro/actors/revisit"
	"henro/actors/stoplist"
	"henro/actors/traps"
	"henro/actors/urlrules"
	"henro/store"
)

// StopList reads the stop list of a host, with the evidence for folders that are not on it yet.
func StopList(disk *store.Partition, name string) (*stoplist.List, error) {
	list := &stoplist.List{}
	return list, errors.Join(read(disk, name, host.StopListNote, list.UnmarshalEntries),
		read(disk, name, host.StopsNote, list.UnmarshalBinary))
}

// EachStop calls fn for all entries of the stop lists of a partition, also of hosts of which nothing was ever admitted.
func EachStop(disk *store.Partition, fn func(stoplist.Entry) error) error {
	return partition.Notes(disk, host.StopListNote, func(_ store.HostID, note []byte) error {
		var list stoplist.List
		if err := list.UnmarshalEntries(note); err != nil {
			return fmt.Errorf("stop list: %w", err)
		}
		for _, e := range list.Entries() {
			if err := fn(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Sessions reads the session ids of a host.
func Sessions(disk *store.Partition, name string) (sessions traps.Sessions, err error) {
	err = read(disk, name, host.SessionsNote, sessions.UnmarshalBinary)
	return sessions, err
}

// Living reads what rendering showed of a host's pages.
func Living(disk *store.Partition, name string) (pages living.Host, err error) {
	err = read(disk, name, host.LivingNote, pages.UnmarshalBinary)
	return pages, err
}

// URLRules reads the URL rules of a host.
func URLRules(disk *store.Partition, name string) (rules urlrules.Set, err error) {
	err = read(disk, name, host.URLRulesNote, rules.UnmarshalBinary)
	return rules, err
}

// Intervals reads the intervals that persons set for pages of a host.
func Intervals(disk *store.Partition, name string) (rules revisit.FixedIntervals, err error) {
	err = read(disk, name, host.IntervalsNote, rules.UnmarshalBinary)
	return rules, err
}

// EachInterval calls fn for all intervals that persons set for pages of a partition.
func EachInterval(disk *store.Partition, fn func(revisit.FixedInterval)) error {
	return partition.EachNote(disk, host.IntervalsNote, func(name string, _ []byte) error {
		rules, err := Intervals(disk, name)
		for _, rule := range rules {
			fn(rule)
		}
		return err
	})
}

// EachURLRules calls fn for all hosts of a partition of which URL rules are known.
func EachURLRules(disk *store.Partition, fn func(host string, rules *urlrules.Set)) error {
	return partition.EachNote(disk, host.URLRulesNote, func(name string, note []byte) error {
		rules := &urlrules.Set{}
		if err := rules.UnmarshalBinary(note); err != nil {
			return fmt.Errorf("URL rules of %s: %w", name, err)
		}
		fn(name, rules)
		return nil
	})
}

// Form reads which page of a host was visited under a key; nil: none was.
func Form(disk *store.Partition, name string, key uint64) (*urlrules.Form, error) {
	note, err := partition.NoteOf(disk, name, host.FormsNote, host.FormKey(key))
	return host.ReadForm(note), err
}

// Alias is what is known of a host being another under a second name.
type Alias struct {
	Host string `json:"host"`
	alias.Beliefs
	Order *alias.Decision `json:"order,omitempty"` // what an operator decided
}

// AliasOf reads what is known of one host.
func AliasOf(disk *store.Partition, name string) (a Alias, err error) {
	a.Host = name
	err = errors.Join(read(disk, name, host.BeliefsNote, a.UnmarshalBinary),
		read(disk, name, host.OrderNote, func(note []byte) (err error) {
			a.Order, err = host.ReadOrder(note)
			return err
		}))
	return a, err
}

// EachAlias calls fn for all hosts of a partition of which there is evidence, or that an operator decided on.
func EachAlias(disk *store.Partition, fn func(*Alias) error) error {
	names := map[string]struct{}{}
	for _, note := range []string{host.BeliefsNote, host.OrderNote} {
		if err := partition.EachNote(disk, note, func(name string, _ []byte) error {
			names[name] = struct{}{}
			return nil
		}); err != nil {
			return err
		}
	}
	for name := range names {
		a, err := AliasOf(disk, name)
		if err == nil {
			err = fn(&a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func read(disk *store.Partition, name, note string, unmarshal func([]byte) error) error {
	b, err := partition.NoteOf(disk, name, note, "")
	if err == nil {
		err = unmarshal(b)
	}
	if err != nil {
		err = fmt.Errorf("note %s of %s: %w", note, name, err)
	}
	return err
}
