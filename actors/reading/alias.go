package reading

import (
	"slices"
	"strings"
	"time"

	"henro/actors/known"
	"henro/messages/speech"
)

// Alias reads whom a person has said that a host stands for; empty: it stands for itself.
func (c *Crawl) Alias(host string) (of string, err error) {
	a, err := known.AliasOf(c.disk(host), host)
	if a.Order != nil {
		of = a.Order.Of
	}
	return of, err
}

// Alias is one host that is another under a second name, or may be.
type Alias struct {
	Host    string    `json:"host"`
	Of      string    `json:"of"`     // the other, which is visited in its place if a person has said so
	Person  bool      `json:"person"` // set by hand
	Agreed  float64   `json:"agreed"` // pages that both have, or that redirect to the other, weighted by age
	Against float64   `json:"against"`
	Belief  float64   `json:"belief"` // from 0 to 1
	Since   time.Time `json:"since,omitzero"`
	// the evidence is redirects, not equal texts
	Redirects bool `json:"redirects"`
}

// AliasesReported is what a Crawl knows of hosts that are others under a second name.
type AliasesReported struct {
	Aliases []Alias `json:"aliases"`
}

// Aliases lists the hosts that are set as aliases by hand, or of which there is evidence, with the evidence.
func (c *Crawl) Aliases() (*AliasesReported, error) {
	all := []Alias{}
	for _, disk := range c.State.Partitions {
		if err := known.EachAlias(disk, func(a *known.Alias) error {
			set := -1
			if a.Order != nil {
				set = len(all)
				all = append(all, Alias{Host: a.Host, Of: a.Order.Of, Person: true, Since: a.Order.At})
			}
			for i := range a.Hosts {
				e := &a.Hosts[i]
				row := Alias{Host: a.Host, Of: e.Host, Agreed: e.Agreed, Against: e.Contradictions(),
					Belief: e.Belief(), Redirects: e.Redirects}
				if set < 0 {
					all = append(all, row)
				} else if row.Of == all[set].Of {
					row.Person, row.Since = true, all[set].Since
					all[set] = row
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Alias) int { return strings.Compare(a.Host+" "+a.Of, b.Host+" "+b.Of) })
	return &AliasesReported{all}, nil
}

// explainAlias says what is known of a host being another under a second name.
func explainAlias(a *known.Alias) (says []speech.Sentence) {
	switch {
	case a.Order != nil && a.Order.Of == "":
		return []speech.Sentence{speech.Say("It was set by hand to stand for itself.")}
	case a.Order != nil:
		return []speech.Sentence{speech.Say("It was set by hand to be %s under a second name: its pages are visited "+
			"there.", a.Order.Of)}
	}
	for i := range a.Hosts {
		e := &a.Hosts[i]
		agreed, against := int(e.Agreed), int(e.Contradictions())
		if e.Redirects {
			says = append(says, speech.Say("It redirects %d paths to the same path of %s, and %d not.", agreed, e.Host,
				against))
		} else {
			says = append(says, speech.Say("It has %d pages that %s has too, and %d that differ.", agreed, e.Host,
				against))
		}
	}
	return says
}
