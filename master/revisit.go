package master

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"henro/actors/host"
	"henro/actors/known"
	"henro/actors/partition"
	"henro/actors/protocol"
	"henro/actors/reading"
	"henro/actors/revisit"
)

// RevisitPosted is the body of POST /api/revisit: one of now, every_ns and auto.
type RevisitPosted struct {
	Pages string        `json:"pages"`              // a URL, a beginning of URLs with * behind it, or a host
	Now   bool          `json:"now,omitempty"`      // they are due
	Every time.Duration `json:"every_ns,omitempty"` // they are visited every so often, whatever their timetable
	Auto  bool          `json:"auto,omitempty"`     // they are visited by their timetable again
}

// RevisitAnswer is what POST /api/revisit answers, once all is on disk.
type RevisitAnswer struct {
	Pages string `json:"pages"` // as they were understood
	Moved int    `json:"moved"` // whose next visit was moved
}

// Bounds of RevisitPosted.Every: the time queue has slots of a minute, and nobody waits for more than ten years.
const (
	leastEvery = time.Minute
	mostEvery  = 10 * 365 * 24 * time.Hour
)

// ErrRevisit is returned for an order that makes no sense.
var ErrRevisit = errors.New("no order to revisit")

// order makes an order of what was posted. A host without a scheme is the one that is known, https before http.
func (p *RevisitPosted) order(c *reading.Crawl) (*protocol.Retime, error) {
	ways := 0
	for _, way := range []bool{p.Now, p.Every != 0, p.Auto} {
		if way {
			ways++
		}
	}
	if ways != 1 {
		return nil, fmt.Errorf("%w: want one of now, every and auto", ErrRevisit)
	}
	if p.Every != 0 && (p.Every < leastEvery || p.Every > mostEvery) {
		return nil, fmt.Errorf("%w: every %v: want a minute to ten years", ErrRevisit, p.Every)
	}
	text := p.Pages
	if !strings.Contains(text, "://") && !strings.ContainsAny(text, "/*") {
		found, err := c.Host(text)
		if err != nil {
			return nil, err
		}
		text = found.Name
	}
	pages, err := revisit.ParsePattern(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRevisit, err)
	}
	_, err = c.Host(pages.Host())
	return &protocol.Retime{Pages: pages, Now: p.Now, Every: p.Every, Auto: p.Auto}, err
}

// Revisit has known pages visited at other times.
func (n *Node) Revisit(ctx context.Context, posted *RevisitPosted) (*RevisitAnswer, error) {
	order, err := posted.order(n.Reading())
	if err != nil {
		return nil, err
	}
	if posted.Now && !n.o.Hosts.Continuous {
		return nil, fmt.Errorf("%w: this crawl ends when nothing new is left, and visits no page again: run it with "+
			"--continuous", ErrRevisit)
	}
	if err := admitEvery(ctx, n.state, n.settings(), order.Pages, order.Every); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Hour) // a partition of millions of pages is looked through
	defer cancel()
	count, err := ordered(ctx, n, order.Pages.Host(), order)
	return &RevisitAnswer{string(order.Pages), count}, err
}

// RevisitAtRest is Revisit in the state of a crawl that is not running.
func RevisitAtRest(c *reading.Crawl, posted *RevisitPosted, now time.Time) (*RevisitAnswer, error) {
	order, err := posted.order(c)
	if err != nil {
		return nil, err
	}
	if err := admitEvery(context.Background(), c.State, c.Settings, order.Pages, order.Every); err != nil {
		return nil, err
	}
	disk := c.State.Partitions[c.State.PartitionOf(order.Pages.Host())]
	rules, err := known.Intervals(disk, order.Pages.Host())
	if err != nil {
		return nil, err
	}
	w, _, err := host.Retime(order, rules, c.Settings.Revisit, now)
	if err != nil {
		return nil, err
	}
	count, err := partition.WriteAtRest(disk, w, now)
	return &RevisitAnswer{string(order.Pages), count}, err
}
