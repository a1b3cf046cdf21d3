package reading

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"henro/actors/admission"
	"henro/actors/floor"
	"henro/actors/topic"
	"henro/messages"
	"henro/messages/speech"
	"henro/messages/weburl"
	"henro/store"
)

// WhyFound is why a URL or a host is not visited now, with all that was looked at.
type WhyFound struct {
	Subject string              `json:"subject"`
	Answer  string              `json:"answer"` // in a sentence
	Rules   []admission.Finding `json:"rules,omitempty"`
	Link    *Referrer           `json:"link,omitempty"` // of a URL that is not known: a page that links to it
	Page    *PageFound          `json:"page,omitempty"` // nothing: it is not known
	Host    *HostFound          `json:"host,omitempty"` // nothing: it is not known
	Ahead   int                 `json:"ahead"`          // pages of its host that come first, up to aheadMost
	LentTo  string              `json:"lent_to,omitempty"`
}

// aheadMost bounds the pages that are counted before one.
const aheadMost = 10_000

// Why says why a URL or a host is not visited. For a URL that is not known all links are read, until ctx ends.
func (c *Crawl) Why(ctx context.Context, subject string) (*WhyFound, error) {
	w := &WhyFound{Subject: subject}
	u, err := weburl.Parse(subject)
	isURL := err == nil && (u.RequestURI() != "/" || strings.HasSuffix(subject, "/"))
	host := subject
	if isURL {
		w.Subject, host = u.String(), u.Host()
		if w.Page, err = c.Record(w.Subject); err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		q := &admission.Question{Requisite: w.Page != nil && w.Page.Page.Flags.Requisite() > 0}
		var link *referral
		topical := c.Settings.Admission.Topic != nil
		if w.Page == nil || topical {
			if link, err = c.referrer(ctx, w.Subject); err != nil {
				return nil, err
			}
		}
		if link != nil && w.Page == nil {
			w.Link, w.Rules = &link.Referrer, []admission.Finding{link.finding}
			q.From, q.Depth, q.Requisite = link.From, link.depth, link.requisite
		}
		findings, err := c.Rules(q, w.Subject)
		if err != nil {
			return nil, err
		}
		w.Rules = append(w.Rules, findings...)
		if topical && link != nil {
			w.Rules = append(w.Rules, link.about(w, c.Settings.Admission.Topic))
		}
	}
	if w.Host, err = c.Host(host); err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	of := "" // the representative of its host; empty: the host stands for itself
	if w.Host != nil {
		lent, err := c.Lent()
		if err != nil {
			return nil, err
		}
		w.LentTo = lent[w.Host.Name].Slave
		if err := w.line(c.disk(w.Host.Name)); err != nil {
			return nil, err
		}
		if of, err = c.Alias(w.Host.Name); err != nil {
			return nil, err
		}
	}
	w.Answer = w.sentence(isURL, of, floor.Now())
	return w, nil
}

// about says what the topic of the crawl gives a URL by the link that leads to it, and what a page that was visited
// hands on. What the text around the link adds is not on disk: the score of a URL that waits has it, its words do not.
func (r *referral) about(w *WhyFound, t *topic.Topic) admission.Finding {
	score := r.topic
	if w.Page != nil && w.Page.Page.LastVisit.IsZero() {
		score = t.Score(w.Page.Page.Band)
	}
	terms := topic.Words(t.Found(r.anchor, w.Subject))
	says := speech.Say("score %.2f: its anchor text and URL have %s; %s hands on %.2f", score, terms, r.From, r.handed)
	if terms == "" {
		says = speech.Say("score %.2f: its anchor text and URL have no term; %s hands on %.2f", score, r.From, r.handed)
	}
	if w.Page != nil && !w.Page.Page.LastVisit.IsZero() {
		says = speech.Say("%s; it was visited, and hands on %.2f itself", says, t.Score(w.Page.Page.Band))
	}
	return admission.Finding{Rule: "topic", Says: says}
}

// line counts the pages of the host that come before the page.
func (w *WhyFound) line(disk *store.Partition) error {
	if w.Page == nil || w.Page.Place != store.InFresh.String() {
		return nil
	}
	var after store.Position
	for w.Ahead < aheadMost {
		waiting, err := disk.Fresh.Of(w.Host.ID, after, 1000)
		if err != nil {
			return err
		}
		for _, entry := range waiting.Entries {
			if entry.Page.URL == w.Subject {
				return nil
			}
			w.Ahead++
		}
		if after = waiting.Next; after == nil {
			return nil
		}
	}
	return nil
}

// sentence is the answer in words: the first thing that stands in the way.
func (w *WhyFound) sentence(isURL bool, of string, now time.Time) string {
	givenUp := ""
	if w.Page != nil && w.Page.Page.Flags&store.Dropped != 0 {
		if givenUp = "given up: " + w.Page.Cause.String(); w.Page.Cause.Word == admission.AliasHost.String() {
			return "not visited: alias of " + of + ", which has it"
		}
		if w.Page.Cause.Word != messages.Reason_ROBOTS_DENIED.String() { // the rule that forbids it says more
			return givenUp
		}
	}
	for _, f := range w.Rules {
		if f.Reason != admission.None {
			return strings.TrimSuffix(fmt.Sprintf("not visited: %s: %s; %s", f.Rule, f.Says, givenUp), "; ")
		}
	}
	if givenUp != "" {
		return givenUp
	}
	switch {
	case w.Host == nil:
		return "unknown: no page links to this host so far, and no seed is there"
	case w.Link != nil:
		return "unknown: " + w.Link.From + " links to it, no rule would keep it out, and it is being admitted"
	case isURL && w.Page == nil:
		return "unknown: no page that was read links to it, and it is no seed; no rule would keep it out"
	}
	wait := w.wait(now)
	switch {
	case !isURL && w.Host.Waiting == 0 && w.Host.GivenUp > 0:
		return fmt.Sprintf("nothing waits: %s visited, %d given up%s", pagesWord(int(w.Host.Had())), w.Host.GivenUp,
			wait)
	case !isURL && w.Host.Waiting == 0:
		return "nothing waits: all known pages of the host are visited" + wait
	case !isURL:
		return fmt.Sprintf("%d pages wait%s", w.Host.Waiting, wait)
	case w.Page.Place == store.InFresh.String() && w.Page.Page.Attempts > 0:
		return fmt.Sprintf("not fetched yet: %d visits failed, the last with %s; %s ahead of it%s",
			w.Page.Page.Attempts, w.Page.Cause, pagesWord(w.Ahead), wait)
	case w.Page.Place == store.InFresh.String() && of != "" && w.Page.Page.Flags&store.Own == 0:
		return "waits until " + of + ", of which the host is an alias, has answered for it"
	case w.Page.Place == store.InFresh.String():
		return fmt.Sprintf("not visited yet: %s ahead of it%s", pagesWord(w.Ahead), wait)
	case w.Page.Page.Next.IsZero():
		return visitedWord(w.Page) + ", and not due again"
	case w.Page.Page.Next.After(now):
		return fmt.Sprintf("%s, due again %s", visitedWord(w.Page), moment(w.Page.Page.Next))
	}
	return fmt.Sprintf("due since %s%s", moment(w.Page.Page.Next), wait)
}

// visitedWord says when a page was visited last, and how that failed.
func visitedWord(p *PageFound) string {
	word := "never visited"
	if !p.Page.LastVisit.IsZero() {
		word = "visited " + moment(p.Page.LastVisit)
	}
	if !p.Cause.IsZero() {
		word += ", with " + p.Cause.String()
	}
	return word
}

// wait says what the host waits for.
func (w *WhyFound) wait(now time.Time) string {
	why := ""
	if len(w.Host.Says) > 0 {
		why = " (" + w.Host.Says[0].String() + ")"
	}
	switch {
	case w.Host.Waiting == 0 && w.Host.GivenUp > 0:
		return why
	case w.LentTo != "":
		return fmt.Sprintf("; its host is lent to %s and being visited%s", w.LentTo, why)
	case w.Host.NextAllowed.After(now):
		return fmt.Sprintf("; its host waits until %s%s", moment(w.Host.NextAllowed), why)
	}
	return "; its host may be asked now" + why
}

func pagesWord(n int) string {
	switch {
	case n == 1:
		return "1 page is"
	case n >= aheadMost:
		return fmt.Sprintf("more than %d pages are", aheadMost)
	}
	return fmt.Sprintf("%d pages are", n)
}

func moment(t time.Time) string { return t.Format("2006-01-02 15:04:05") }
