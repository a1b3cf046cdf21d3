package reading

import (
	"errors"
	"fmt"
	"strings"

	"henro/actors/floor"
	"henro/actors/known"
	"henro/actors/living"
	"henro/actors/stoplist"
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
	Use   []string          `json:"use,omitempty"`  // what its host says of its use once it is fetched

	Captures []Capture `json:"captures,omitempty"` // the latest first; with Page, or by Recall
	Earlier  bool      `json:"earlier,omitempty"`  // there are earlier captures, or they were not looked for

	Requisites []Requisite `json:"requisites,omitempty"` // missing ones first; with Page alone
	Lacks      int         `json:"lacks"`                // how many are missing
}

// Page finds all that is known of a URL; store.ErrNotFound: nothing is.
func (c *Crawl) Page(raw string) (*PageFound, error) {
	p, err := c.Record(raw)
	if err != nil {
		return nil, err
	}
	return p, errors.Join(p.Recall(c.Dir), c.requisites(p))
}

// Record finds what the state has of a URL; store.ErrNotFound: it has nothing.
func (c *Crawl) Record(raw string) (*PageFound, error) {
	u, err := weburl.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("page %q: %w", raw, err)
	}
	disk := c.disk(u.Host())
	entry, place, err := disk.Pages.Lookup(u.String())
	if err != nil {
		return nil, fmt.Errorf("%w; henro why tells more", err)
	}
	host, err := disk.Hosts.Get(store.IDOf(u.Host()))
	if err != nil {
		return nil, fmt.Errorf("host of page %s: %w", u, err)
	}
	rules, err := known.Intervals(disk, u.Host())
	if err != nil {
		return nil, err
	}
	return &PageFound{Page: entry.Page, Role: entry.Page.Flags.Role(), Cause: entry.Page.Cause(), Place: place.String(),
		Use:  Robots(&host).Usage(u.RequestURI()),
		Says: explainPage(&entry.Page, place, &host, rules, c.Settings, floor.Now())}, nil
}

// Lent are the hosts that are lent, by their names.
func (c *Crawl) Lent() (map[string]store.Lease, error) {
	lent := map[string]store.Lease{}
	for _, disk := range c.State.Partitions {
		leases, err := disk.Leases.All()
		if err != nil {
			return nil, err
		}
		for _, lease := range leases {
			lent[lease.HostName] = lease
		}
	}
	return lent, nil
}

// HostFound is what is known of one host.
type HostFound struct {
	store.HostRecord
	Cause    Ailment           `json:"cause,omitzero"` // what ails it; nothing: it has answered since it failed
	Stops    []stoplist.Entry  `json:"stops"`          // its folders on the stop list
	URLRules []URLRule         `json:"url_rules,omitempty"`
	Schedule *Schedule         `json:"schedule"`
	Says     []speech.Sentence `json:"says"` // why it is asked when it is
}

// livingWords say what is done with the scripts of pages.
var livingWords = map[living.Decision]speech.Sentence{
	living.Sampled: speech.Say("some are run, to learn"),
	living.Static:  speech.Say("they show nothing more, and are not run"),
	living.Rules:   speech.Say("they are not run, since rules name what they need"),
	living.Render:  speech.Say("they are run for each page"),
}

// Host finds the record of a host, given as scheme://name[:port] or as a name, which means https and then http.
func (c *Crawl) Host(host string) (*HostFound, error) {
	candidates := []string{host}
	if !strings.Contains(host, "://") {
		candidates = []string{"https://" + host, "http://" + host}
	}
	for _, name := range candidates {
		u, _ := weburl.Parse(name) // what is none has no record
		if record, err := c.disk(u.Host()).Hosts.Get(store.IDOf(u.Host())); err == nil {
			return c.host(record)
		}
	}
	return nil, fmt.Errorf("host %s: %w; a port is part of its name, as in example.org:8080", host, store.ErrNotFound)
}

// host completes the record of a host.
func (c *Crawl) host(record store.HostRecord) (*HostFound, error) {
	disk := c.disk(record.Name)
	stops, err := known.StopList(disk, record.Name)
	if err != nil {
		return nil, err
	}
	rules, err := known.Intervals(disk, record.Name)
	if err != nil {
		return nil, err
	}
	urls, err := known.URLRules(disk, record.Name)
	if err != nil {
		return nil, err
	}
	schedule, says, err := explainHost(&record, c.Settings, floor.Now())
	if err != nil {
		return nil, err
	}
	for _, rule := range rules {
		says = append(says, speech.Say("Visits of %s were set by hand: one every %s.", string(rule.Pages), rule.Every))
	}
	pages, err := known.Living(disk, record.Name)
	if err != nil {
		return nil, err
	}
	for _, t := range pages.Templates() {
		says = append(says, speech.Say("Scripts of pages like %s: %s; %d were rendered.", t.Shape,
			livingWords[t.Decision], t.Samples))
	}
	known, err := known.AliasOf(disk, record.Name)
	if err != nil {
		return nil, err
	}
	says = append(says, explainAlias(&known)...)
	return &HostFound{record, schedule.ails, stops.Entries(), urlRulesShown(&urls), schedule, says}, nil
}
