package master

import (
	"fmt"
	"strings"

	"henro/messages/weburl"
	"henro/store"
)

// PageFound is what is known of one URL.
type PageFound struct {
	Page  store.Page `json:"page"`
	Place string     `json:"place"` // fresh, queue or rest
}

// FindPage finds the record of a URL by reading its partition, running or not; store.ErrNotFound when there is none.
func FindPage(state *store.State, raw string) (*PageFound, error) {
	u, err := weburl.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("page %q: %w", raw, err)
	}
	entry, place, err := state.Partitions[state.PartitionOf(u.Host())].Lookup(u.String())
	if err != nil {
		return nil, fmt.Errorf("page %s: %w", u, err)
	}
	return &PageFound{Page: entry.Page, Place: place.String()}, nil
}

// HostFound is what is known of one host.
type HostFound struct {
	store.HostRecord
	Stops []store.StopEntry `json:"stops"` // its folders on the stop list
}

// stopsShown bounds HostFound.Stops.
const stopsShown = 512

// FindHost finds the record of a host, given as scheme://name[:port] or as a name, which means https and then http.
func FindHost(state *store.State, host string) (*HostFound, error) {
	candidates := []string{strings.TrimSuffix(host, "/")}
	if !strings.Contains(host, "://") {
		candidates = []string{"https://" + host, "http://" + host}
	}
	for _, candidate := range candidates {
		disk := state.Partitions[state.PartitionOf(candidate)]
		if record, err := disk.Host(store.IDOf(candidate)); err == nil {
			stops, err := disk.Stops(candidate+"/", stopsShown)
			return &HostFound{record, stops}, err
		}
	}
	return nil, fmt.Errorf("host %s: %w", host, store.ErrNotFound)
}

// State is what is on disk, to be read beside the crawl.
func (n *Node) State() *store.State { return n.state }

// Options are those of the crawl.
func (n *Node) Options() Options { return n.o }
