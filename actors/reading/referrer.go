package reading

import (
	"cmp"
	"context"
	"errors"

	"henro/actors/admission"
	"henro/actors/scope"
	"henro/messages/outlink"
	"henro/messages/speech"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// Referrer is a page that links to a URL which is not known, and the kind of the link.
type Referrer struct {
	From string `json:"from"`
	Kind string `json:"kind"`
}

// referral is a link that was judged.
type referral struct {
	Referrer
	depth     int // links from a seed to the URL
	requisite bool
	anchor    string
	topic     float64           // score of the link; of a crawl that has a topic
	handed    float64           // of that, what the page hands on, before it is halved
	reason    admission.Reason  // why the link is not taken
	finding   admission.Finding // what is against the link itself, and not against its URL
}

// referrersRead is how many pages that link to a URL are looked at.
const referrersRead = 64

// referrer finds the page that links to a URL and comes nearest to having it taken, with the best score for the
// topic of the crawl; nil: none links to it. It reads all links.
func (c *Crawl) referrer(ctx context.Context, url string) (nearest *referral, err error) {
	type key struct {
		host store.HostID
		fp   uint64
	}
	for _, p := range c.State.Partitions {
		links, enough := map[key][]outlink.Outlink{}, errors.New("enough")
		if err := p.Links.Scan(func(host store.HostID, fp uint64, l *store.Links) error {
			for l.Next() {
				if string(l.URL) == url {
					links[key{host, fp}] = append(links[key{host, fp}], l.Outlink())
				}
			}
			if len(links) >= referrersRead {
				return enough
			}
			return ctx.Err()
		}); err != nil && !errors.Is(err, enough) {
			return nil, err
		}
		if len(links) == 0 {
			continue
		}
		if err := p.Pages.EachVisited(func(page store.Page, _ store.Place) error {
			host := weburl.HostOf(page.URL)
			for _, l := range links[key{store.IDOf(host), fingerprint.URL(page.URL)}] {
				r := refer(c.Scope, c.Settings, &page, &l)
				if nearest == nil || cmp.Or(cmp.Compare(r.distance(), nearest.distance()),
					cmp.Compare(nearest.topic, r.topic)) < 0 {
					nearest = r
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return nearest, nil
}

// distance orders referrals: those first whose link is taken, then those whose link could be.
func (r *referral) distance() int {
	switch r.reason {
	case admission.None:
		return 0
	case admission.NoPage:
		return 2
	}
	return 1
}

// refer says what the rules say of a link.
func refer(in *scope.Scope, m *Settings, page *store.Page, l *outlink.Outlink) *referral {
	r := &referral{Referrer: Referrer{From: page.URL, Kind: l.Kind.String()}, depth: int(page.Depth) + 1}
	say := func(words string, values ...any) {
		r.finding = admission.Finding{Rule: "link", Reason: r.reason, Says: speech.Say(words, values...)}
	}
	on := &admission.Page{URL: page.URL, Host: weburl.HostOf(page.URL), Depth: page.Depth, DepthLeft: page.DepthLeft,
		Redirects: page.Redirects, Failed: page.Status >= 400, Topic: m.Admission.Topic.Score(page.Band)}
	on.Embed(uint32(page.Flags.Embedded()))
	to, reason := m.Admission.Link(in, on, l)
	r.anchor, r.topic, r.handed = l.Anchor, to.Topic, on.Topic
	r.requisite = to.Requisite > 0 && to.Requisite != outlink.PageToo
	r.reason = reason
	switch {
	case reason == admission.LeftOut:
		say("%s names it, and %s", page.URL, leftOut(m.Admission.Requisites, l.Kind))
	case reason == admission.NoPage:
		say("%s names it as %s, which is neither a page nor what a page is made of", page.URL, l.Kind.String())
	case reason == admission.Depth && r.requisite:
		say("%s names it, more than %d steps from its page", page.URL, admission.MaxRequisite)
	case reason == admission.Depth:
		say("%s links to it, and lies %d links from its seed, as far as links are followed", page.URL, page.Depth)
	case reason == admission.NoFollow:
		say("%s asks that the link not be followed", page.URL)
	case reason == admission.Redirects:
		say("%s redirects to it, after as many redirects as are followed", page.URL)
	case reason == admission.Language:
		say("%s names it, and is in a language that is not kept", page.URL)
	case reason == admission.OffTopic:
		say("%s links to it, with a score of %.2f where %.2f is asked", page.URL, to.Topic, m.Admission.TopicMin)
	case reason == admission.Elsewhere:
		say("%s is a sitemap of another host", page.URL)
	default: // the scope and the traps have findings of their own
		say("%s links to it", page.URL)
		r.finding.Reason = admission.None
	}
	return r
}
