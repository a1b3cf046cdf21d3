package master

import (
	"fmt"
	"strings"
	"time"

	"henro/actors/known"
	"henro/actors/partition"
	"henro/messages"
	"henro/messages/speech"
	"henro/messages/weburl"
	"henro/store"
)

// PageFound is what is known of one URL.
type PageFound struct {
	Page  store.Page        `json:"page"`
	Role  string            `json:"role"`           // page or requisite
	Cause messages.Cause    `json:"cause,omitzero"` // why its last visit failed, or why it was given up
	Place string            `json:"place"`          // fresh, queue or rest
	Says  []speech.Sentence `json:"says"`           // why the next visit is when it is

	Captures []Capture `json:"captures,omitempty"` // the latest first; see Recall
	Earlier  bool      `json:"earlier,omitempty"`  // there are earlier captures, or they were not looked for

	Requisites []Requisite `json:"requisites,omitempty"` // missing ones first; see FindRequisites
	Lacks      int         `json:"lacks"`                // how many are missing
}

// FindPage finds the record of a URL by reading its partition, running or not; store.ErrNotFound when there is none.
func FindPage(state *store.State, m *Settings, raw string) (*PageFound, error) {
	u, err := weburl.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("page %q: %w", raw, err)
	}
	disk := state.Partitions[state.PartitionOf(u.Host())]
	entry, place, err := disk.Lookup(u.String())
	if err != nil {
		return nil, fmt.Errorf("page %s: %w", u, err)
	}
	host, err := disk.Host(store.IDOf(u.Host()))
	if err != nil {
		return nil, fmt.Errorf("host of page %s: %w", u, err)
	}
	rules, err := partition.RulesOf(disk, u.Host())
	if err != nil {
		return nil, err
	}
	return &PageFound{Page: entry.Page, Role: entry.Page.Flags.Role(), Cause: entry.Page.Cause(), Place: place.String(),
		Says: explainPage(&entry.Page, place, &host, rules, m, time.Now())}, nil
}

// HostFound is what is known of one host.
type HostFound struct {
	store.HostRecord
	Cause    messages.Cause    `json:"cause,omitzero"` // why it failed last; nothing: it has answered since
	Stops    []store.StopEntry `json:"stops"`          // its folders on the stop list
	URLRules []URLRule         `json:"url_rules,omitempty"`
	Schedule *Schedule         `json:"schedule"`
	Says     []speech.Sentence `json:"says"` // why it is asked when it is
}

// stopsShown bounds HostFound.Stops.
const stopsShown = 512

// FindHost finds the record of a host, given as scheme://name[:port] or as a name, which means https and then http.
func FindHost(state *store.State, m *Settings, host string) (*HostFound, error) {
	candidates := []string{strings.TrimSuffix(host, "/")}
	if !strings.Contains(host, "://") {
		candidates = []string{"https://" + host, "http://" + host}
	}
	for _, candidate := range candidates {
		disk := state.Partitions[state.PartitionOf(candidate)]
		if record, err := disk.Host(store.IDOf(candidate)); err == nil {
			stops, err := disk.Stops(candidate+"/", stopsShown)
			if err != nil {
				return nil, err
			}
			rules, err := partition.RulesOf(disk, candidate)
			if err != nil {
				return nil, err
			}
			urls, err := known.URLRules(disk, candidate)
			if err != nil {
				return nil, err
			}
			schedule, says, err := explainHost(&record, m, time.Now())
			if err != nil {
				return nil, err
			}
			for _, rule := range rules {
				says = append(says, speech.Say("A person has said that %s is visited every %s.", string(rule.Pages),
					rule.Every))
			}
			known, of, err := FindAlias(state, m, candidate)
			if err != nil {
				return nil, err
			}
			says = append(says, explainAlias(&known, of)...)
			return &HostFound{record, schedule.Cause, stops, urlRulesShown(&urls), schedule, says}, nil
		}
	}
	return nil, fmt.Errorf("host %s: %w", host, store.ErrNotFound)
}

// State is what is on disk, to be read beside the crawl.
func (n *Node) State() *store.State { return n.state }

// Options are those of the crawl, with S and C as they are now.
func (n *Node) Options() Options {
	o := n.o
	if r := n.resources.sent.Load(); r != nil {
		o.Hosts.Politeness.Servers, o.Hosts.Politeness.Connections = r.Servers, r.Connections
	}
	return o
}
