package reading

import (
	"slices"
	"strings"

	"henro/actors/known"
	"henro/actors/urlrules"
)

// URLRule is a difference between URLs of a host that may not change the page, with its evidence.
type URLRule struct {
	Rule         string `json:"rule"`
	Applied      bool   `json:"applied"`          // it is confirmed as often as it needs, or was set so by hand
	Person       string `json:"person,omitempty"` // what was set by hand: apply or forget
	Confirmed    uint32 `json:"confirmed"`        // in a row
	Needs        uint32 `json:"needs"`            // confirmations
	Contradicted uint32 `json:"contradicted"`     // ever
	Spared       uint32 `json:"spared"`           // URLs that were not visited by it
	Tested       uint32 `json:"tested"`           // URLs that were visited to test it
}

func urlRulesShown(rules *urlrules.Set) (shown []URLRule) {
	for _, r := range rules.Rules() {
		shown = append(shown, URLRule{Rule: r.Says(), Applied: r.Applied(), Person: string(r.Person),
			Confirmed: r.Confirmed, Needs: r.Needs(), Contradicted: r.Contradicted, Spared: r.Spared, Tested: r.Tested})
	}
	return shown
}

// HostURLRules are the URL rules of one host.
type HostURLRules struct {
	Host  string    `json:"host"`
	Rules []URLRule `json:"rules"`
}

// URLRulesReported is what a Crawl knows of URLs that are the same page.
type URLRulesReported struct {
	Hosts []HostURLRules `json:"hosts"`
}

// URLRules lists the hosts of which URL rules are known.
func (c *Crawl) URLRules() (*URLRulesReported, error) {
	all := []HostURLRules{}
	for _, disk := range c.State.Partitions {
		if err := known.EachURLRules(disk, func(host string, rules *urlrules.Set) {
			if shown := urlRulesShown(rules); len(shown) > 0 {
				all = append(all, HostURLRules{host, shown})
			}
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b HostURLRules) int { return strings.Compare(a.Host, b.Host) })
	return &URLRulesReported{all}, nil
}
