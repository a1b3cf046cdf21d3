package partition

import (
	"fmt"
	"strconv"
	"strings"

	"henro/actors/protocol"
	"henro/store"
)

// noteMeta is where a note of a host is kept, in its partition.
func noteMeta(host, name, key string) string {
	meta := fmt.Sprintf("note/%s/%016x", name, uint64(store.IDOf(host)))
	if key != "" {
		meta += "/" + key
	}
	return meta
}

func putNotes(batch *store.Batch, notes []protocol.Note) {
	for i := range notes {
		n := &notes[i]
		batch.PutMeta(noteMeta(n.Host, n.Name, n.Key), n.Bytes)
	}
}

// NoteOf reads a note of a host as it is on disk; nil: there is none.
func NoteOf(disk *store.Partition, host, name, key string) ([]byte, error) {
	note, err := disk.Metas.Get(noteMeta(host, name, key))
	if err != nil {
		return nil, fmt.Errorf("note %s of %s: %w", name, host, err)
	}
	return note, nil
}

// EachNote calls fn for the note of every host under a name that has no keys. A host without a record is left out:
// nothing of it was ever admitted.
func EachNote(disk *store.Partition, name string, fn func(host string, note []byte) error) error {
	notes := map[store.HostID][]byte{}
	if err := Notes(disk, name, func(id store.HostID, note []byte) error {
		notes[id] = append([]byte{}, note...)
		return nil
	}); err != nil {
		return err
	}
	for id, note := range notes {
		record, err := hostOf(disk, id, "")
		if err == nil && record.Name != "" {
			err = fn(record.Name, note)
		}
		if err != nil {
			return fmt.Errorf("notes %s: %w", name, err)
		}
	}
	return nil
}

// Notes calls fn for every note of a name that has no key, by the id of its host; the note is valid until fn returns.
func Notes(disk *store.Partition, name string, fn func(id store.HostID, note []byte) error) error {
	prefix := "note/" + name + "/"
	return disk.Metas.Each(prefix, func(meta string, note []byte) error {
		id, err := strconv.ParseUint(strings.TrimPrefix(meta, prefix), 16, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", meta, err)
		}
		return fn(store.HostID(id), note)
	})
}

// notesOf reads the notes of a host by their names.
func notesOf(disk *store.Partition, m *protocol.HostAsked) (map[string][]byte, error) {
	notes := map[string][]byte{}
	for _, name := range m.Notes {
		note, err := NoteOf(disk, m.Host, name, "")
		if err != nil {
			return nil, err
		}
		if note != nil {
			notes[name] = note
		}
	}
	return notes, nil
}

// pageNotes reads the notes of pages.
func pageNotes(disk *store.Partition, host string, of *protocol.PageNotes, pages ...[]store.Entry,
) (map[string][]byte, error) {
	notes := map[string][]byte{}
	for _, entries := range pages {
		for i := range entries {
			key := of.KeyOf(&entries[i].Page)
			if key == "" {
				continue
			}
			note, err := NoteOf(disk, host, of.Name, key)
			if err != nil {
				return nil, err
			}
			if note != nil {
				notes[string(entries[i].Position)] = note
			}
		}
	}
	return notes, nil
}
