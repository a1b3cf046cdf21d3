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
	prefix := "note/" + name + "/"
	if err := disk.Metas.Each(prefix, func(meta string, note []byte) error {
		id, err := strconv.ParseUint(strings.TrimPrefix(meta, prefix), 16, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", meta, err)
		}
		notes[store.HostID(id)] = append([]byte{}, note...)
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

// keptOf reads what is kept of a host beside its record.
func keptOf(disk *store.Partition, m *protocol.HostAsked) (kept protocol.Kept, err error) {
	kept.Notes = map[string][]byte{}
	for _, name := range m.Notes {
		note, err := NoteOf(disk, m.Host, name, "")
		if err != nil {
			return kept, err
		}
		if note != nil {
			kept.Notes[name] = note
		}
	}
	kept.Stops, err = disk.Stops.Below(m.Host+"/", stopsKept)
	return kept, err
}

// stopsKept bounds the stop entries read of one host: the default of stoplist.Options.MaxFolders.
const stopsKept = 512

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
