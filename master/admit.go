package master

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"henro/actors/politeness"
	"henro/actors/reading"
	"henro/actors/revisit"
	"henro/master/lending"
	"henro/messages/speech"
	"henro/store"
)

// ErrPromises is returned for hosts or intervals that are not taken on, since timetables that are kept now would not be
// kept beside them. The error says what would make it possible.
var ErrPromises = errors.New("not taken on")

// promises are what the timetables of all hosts ask of the connections, now and with what is to be taken on.
type promises struct {
	m        *reading.Settings
	with     politeness.Options // with the hosts that are to be taken on
	hosts    int                // hosts with a timetable
	kept     int                // of these, hosts whose timetable is feasible
	lost     int                // of these, hosts whose timetable is not, with what is to be taken on
	occupied float64            // Σ L·e of all: connections in use in the mean, (7) and (8)
	ratio    float64            // the largest S/C at which all timetables that are kept now are kept
	added    float64            // what the new hosts or intervals add to occupied
}

// weigh reads all hosts, twice. more is how many hosts are to be taken on.
func weigh(ctx context.Context, state *store.State, m *reading.Settings, more int) (*promises, error) {
	p := &promises{m: m, ratio: math.Inf(1)}
	now, busy := m.Politeness, 0
	if err := eachTimetable(ctx, state, m, func(_ *politeness.State, load float64, _ bool) {
		if load*lending.SoonReady.Seconds() >= 1 {
			busy++
		}
	}); err != nil {
		return nil, err
	}
	now.Servers = max(now.Servers, busy) // S leaves out those of which nothing is due at the moment
	p.with = now
	p.with.Servers += more
	err := eachTimetable(ctx, state, m, func(s *politeness.State, load float64, waiting bool) {
		_, mean, worst := s.Took()
		p.hosts++
		p.occupied += load * mean.Seconds()
		if s.Judge(&now, load, waiting) != politeness.Feasible {
			return
		}
		p.kept++
		bears := 1 / (load * worst.Seconds())
		if waiting { // new pages get half of its time
			bears /= 2
		}
		p.ratio = min(p.ratio, bears)
		if s.Judge(&p.with, load, waiting) != politeness.Feasible {
			p.lost++
		}
	})
	if more > 0 && p.hosts > 0 { // taken to be as the others are
		p.added = p.occupied * float64(more) / float64(p.hosts)
	}
	return p, err
}

// eachTimetable calls f for all hosts that have a timetable, with the visits a second that it asks for, and whether new
// pages wait.
func eachTimetable(ctx context.Context, state *store.State, m *reading.Settings,
	f func(s *politeness.State, load float64, waiting bool)) error {
	for _, disk := range state.Partitions {
		if err := disk.Hosts.Each(func(h store.HostRecord) error {
			s, err := reading.Politeness(&h)
			if err != nil {
				return err
			}
			if load := s.Timetable.Wanted(&m.Revisit); load > 0 {
				f(s, load, h.Waiting > 0)
			}
			return ctx.Err()
		}); err != nil {
			return err
		}
	}
	return nil
}

// refuse says why something cannot be taken on; nil: it can.
func (p *promises) refuse(what string) error {
	c := p.m.Politeness.Connections
	full := p.occupied+p.added >= float64(c)
	if c == 0 || p.added <= 0 || !full && p.lost == 0 {
		return nil
	}
	need := max(math.Ceil(p.occupied+p.added), math.Ceil(float64(p.with.Servers)/p.ratio), float64(c+1))
	return fmt.Errorf("%w: with %s the timetables of %d hosts would keep %.3g of %d connections busy (%.3g now), "+
		"and %d of %d hosts that keep their timetable now would not (S/C = %.3g). What would give: %.0f connections "+
		"or more, longer intervals (--revisit-min, --aim), or fewer hosts", ErrPromises, what, p.hosts,
		p.occupied+p.added, c, p.occupied, p.lost, p.kept, p.with.Ratio(), need)
}

// admitHosts refuses hosts that are not known yet, if timetables would not be kept any more because of them.
func admitHosts(ctx context.Context, state *store.State, m *reading.Settings, seeds []reading.Seed) error {
	fresh := map[string]bool{}
	for _, seed := range seeds {
		host := seed.URL.Host()
		_, err := state.Partitions[state.PartitionOf(host)].Hosts.Get(store.IDOf(host))
		if errors.Is(err, store.ErrNotFound) {
			fresh[host] = true
		}
	}
	if !m.Continuous || len(fresh) == 0 {
		return nil
	}
	p, err := weigh(ctx, state, m, len(fresh))
	if err != nil {
		return err
	}
	return p.refuse(fmt.Sprintf("%d hosts more", len(fresh)))
}

// admitEvery refuses an interval that a person wants for pages of a host, if the host does not bear it or timetables of
// others would not be kept any more.
func admitEvery(ctx context.Context, state *store.State, m *reading.Settings, pages revisit.Pattern,
	every time.Duration) error {
	disk := state.Partitions[state.PartitionOf(pages.Host())]
	h, err := disk.Hosts.Get(store.IDOf(pages.Host()))
	if errors.Is(err, store.ErrNotFound) || every == 0 || !m.Continuous {
		return nil // the order finds no page, or adds no visits
	}
	if err != nil {
		return err
	}
	count, before := 0, 0.0
	if err := disk.Pages.Each(func(page store.Page, _ store.Place) error {
		if pages.Matches(page.URL) && !page.LastVisit.IsZero() && page.Timing.Interval > 0 {
			count, before = count+1, before+1/float64(page.Timing.Interval)
		}
		return ctx.Err()
	}); err != nil {
		return err
	}
	s, err := reading.Politeness(&h)
	if err != nil {
		return err
	}
	more := float64(count)/every.Seconds() - before
	if more <= 0 {
		return nil
	}
	load, bears := s.Timetable.Load()+more, s.Capacity(&m.Politeness)
	if h.Waiting > 0 {
		bears /= 2
	}
	if load > bears {
		give := "fewer pages"
		if spare := bears - (s.Timetable.Load() - before); spare > 0 {
			least := time.Duration(math.Ceil(float64(count)/spare)) * time.Second
			give = fmt.Sprintf("every %s or longer, or fewer pages", speech.Span(least))
		}
		return fmt.Errorf("%w: %d pages every %s make one visit of %s in %.3g s, and it bears one in %.3g s (%s). "+
			"What would give: %s", ErrPromises, count, speech.Span(every), h.Name, 1/load, 1/bears,
			s.Judge(&m.Politeness, load, h.Waiting > 0), give)
	}
	p, err := weigh(ctx, state, m, 0)
	if err != nil {
		return err
	}
	_, mean, _ := s.Took()
	p.added = more * mean.Seconds()
	return p.refuse(fmt.Sprintf("%d pages every %s", count, speech.Span(every)))
}
