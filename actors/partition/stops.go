package partition

import (
	"fmt"

	"henro/actors/host"
	"henro/actors/stoplist"
	"henro/actors/traps"
	"henro/store"
)

// stopsKept bounds the entries read of one host: as many as stoplist.Options.MaxFolders ever are by default.
const stopsKept = 512

// StopListOf reads the stop list of one host as it is on disk, with the evidence for folders that are not on it yet.
func StopListOf(disk *store.Partition, name string) (*stoplist.List, error) {
	entries, err := disk.Stops(name+"/", stopsKept)
	if err != nil {
		return nil, err
	}
	list := &stoplist.List{}
	for _, e := range entries {
		list.Restore(host.StopEntry(e))
	}
	b, err := disk.Meta(evidenceMeta(name))
	if err == nil {
		err = list.UnmarshalBinary(b)
	}
	if err != nil {
		err = fmt.Errorf("evidence of %s: %w", name, err)
	}
	return list, err
}

// SessionsOf reads the session ids of one host as they are on disk.
func SessionsOf(disk *store.Partition, name string) (traps.Sessions, error) {
	var sessions traps.Sessions
	b, err := disk.Meta(sessionsMeta(name))
	if err == nil {
		err = sessions.UnmarshalBinary(b)
	}
	if err != nil {
		err = fmt.Errorf("session ids of %s: %w", name, err)
	}
	return sessions, err
}

// sessionsMeta is where the session ids of a host are kept, in its partition.
func sessionsMeta(name string) string { return fmt.Sprintf("sessions/%016x", uint64(store.IDOf(name))) }

// evidenceMeta is where the evidence of the stop list of a host is kept, in its partition.
func evidenceMeta(name string) string { return fmt.Sprintf("evidence/%016x", uint64(store.IDOf(name))) }
