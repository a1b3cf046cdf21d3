package reading

import (
	"slices"
	"strings"
	"time"

	"henro/actors/known"
	"henro/messages/speech"
)

// Alias reads what is known of a host as an alias, and its representative; of is empty: it stands for itself. What the
// crawl has found counts if its settings say so, what was set by hand always.
func (c *Crawl) Alias(host string) (a known.Alias, of string, err error) {
	a, err = known.AliasOf(c.disk(host), host)
	return a, ofAlias(&a, c.Settings), err
}

func ofAlias(a *known.Alias, m *Settings) string {
	switch {
	case a.Order != nil:
		return a.Order.Of
	case m.Aliases:
		return a.Of
	}
	return ""
}

// Alias is one host that is another under a second name, or may be.
type Alias struct {
	Host    string    `json:"host"`
	Of      string    `json:"of"`     // the other, which would be visited in its place
	Mapped  bool      `json:"mapped"` // it is not visited
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
			of := ofAlias(a, c.Settings)
			if a.Order != nil {
				row := Alias{Host: a.Host, Of: a.Order.Of, Mapped: of != "", Person: true, Since: a.Order.At}
				for i := range a.Hosts {
					if e := &a.Hosts[i]; e.Host == row.Of {
						row.Agreed, row.Against, row.Belief = e.Agreed, e.Contradictions(), e.Belief()
						row.Redirects = e.Redirects
					}
				}
				all = append(all, row)
				return nil
			}
			for i := range a.Hosts {
				e := &a.Hosts[i]
				row := Alias{Host: a.Host, Of: e.Host, Mapped: of == e.Host && !e.Reviewed.IsZero(), Agreed: e.Agreed,
					Against: e.Contradictions(), Belief: e.Belief(), Redirects: e.Redirects}
				if a.Of == e.Host {
					row.Since = a.Since
				}
				all = append(all, row)
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
func explainAlias(a *known.Alias, of string) (says []speech.Sentence) {
	if a.Order != nil {
		if of == "" {
			return []speech.Sentence{speech.Say("It was set by hand to stand for itself.")}
		}
		return []speech.Sentence{speech.Say("It was set by hand to be %s under a second name: its pages are visited "+
			"there.", of)}
	}
	for i := range a.Hosts {
		e := &a.Hosts[i]
		switch against := int(e.Contradictions()); {
		case e.Host == of && e.Redirects && !e.Reviewed.IsZero():
			says = append(says, speech.Say("It redirects to %s since %s: %d paths to the same path, %d not. Its "+
				"pages are visited there.", e.Host, a.Since, int(e.Agreed), against))
		case e.Redirects:
			says = append(says, speech.Say("It redirects %d paths to the same path of %s, and %d not.", int(e.Agreed),
				e.Host, against))
		case e.Host == of && !e.Reviewed.IsZero():
			says = append(says, speech.Say("It is %s under a second name since %s: %d pages agree, %d do not. Its "+
				"pages are visited there.", e.Host, a.Since, int(e.Agreed), against))
		default:
			says = append(says, speech.Say("It has %d pages that %s has too, and %d that differ.", int(e.Agreed),
				e.Host, against))
		}
	}
	return says
}
