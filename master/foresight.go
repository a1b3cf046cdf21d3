package master

import (
	"context"
	"errors"
	"time"

	"henro/actors/host"
	"henro/actors/politeness"
	"henro/actors/reading"
	"henro/master/forecast"
	"henro/master/lending"
	"henro/messages/ticks"
	"henro/store"
)

// foresight reads all hosts now and then, beside the crawl, and foresees its end. It waits a hundredth of the time that
// the run has taken so far, five seconds at least and a minute at most (ten minutes in a crawl without an end), but in
// any case 50 times as long as a reading takes: 100,000 hosts take some 0.6 s to read, and are read every 30 s.
type foresight struct {
	n *Node
	// a reading from between a quarter and half of the run: what came since tells the pace, and what is yet to be found
	older figuresOfCrawl
	newer figuresOfCrawl // the reading that takes its place
	began uint64         // visits of earlier runs
}

const (
	foreseeEvery  = 5 * time.Second
	foreseeLatest = time.Minute
	endlessLatest = 10 * time.Minute
	foreseeEffort = 50      // from one reading to the next at least, in times of what it took
	foreseeHosts  = 200_000 // whose figures are remembered: 7 MB twice
)

// figuresOfCrawl are the figures of one reading.
type figuresOfCrawl struct {
	at            time.Time
	hosts         map[store.HostID]forecast.Figures
	visits, bytes uint64 // since the crawl began
}

// run foresees until the context ends.
func (f *foresight) run(ctx context.Context, began time.Time) {
	if status, err := Ask[*Status](ctx, f.n, &StatusAsked{}); err == nil {
		f.began = status.Totals.Visits()
	}
	wait := foreseeEvery
	for ticks.Rest(ctx, wait) == nil {
		from := time.Now()
		if seen, err := f.look(ctx, from, from.Sub(began)); err == nil {
			f.n.seen.forecast.Store(seen)
		}
		latest := foreseeLatest
		if f.n.Options().Hosts.Continuous {
			latest = endlessLatest
		}
		wait = max(foreseeEvery, min(latest, from.Sub(began)/100), foreseeEffort*time.Since(from))
	}
}

// look reads the hosts once.
func (f *foresight) look(ctx context.Context, now time.Time, ran time.Duration) (*forecast.Forecast, error) {
	o := f.n.Options()
	read := figuresOfCrawl{at: now, hosts: map[store.HostID]forecast.Figures{}}
	var hosts []forecast.Host
	for _, disk := range f.n.state.Partitions {
		for r, err := range disk.Hosts.InBatches(1000) {
			if err := errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
			if len(read.hosts) < foreseeHosts {
				read.hosts[r.ID] = forecast.Figures{Known: r.Known, Visited: r.Visited}
			}
			if r.Waiting > 0 {
				hosts = append(hosts, f.left(r, &o.Hosts, now))
			}
		}
	}
	status, err := Ask[*Status](ctx, f.n, &StatusAsked{})
	if err != nil {
		return nil, err
	}
	if err := f.shareClocks(ctx, hosts, &read); err != nil {
		return nil, err
	}
	read.visits, read.bytes = status.Totals.Visits(), status.Totals.Bytes
	c := forecast.Crawl{Busy: status.Busy, Most: f.untilLimit(&o, &read, ran)}
	if f.newer.hosts == nil || ran >= 2*f.newer.at.Sub(now.Add(-ran)) {
		f.older, f.newer = f.newer, read
	}
	for _, s := range status.Slaves {
		if s.Slots > 0 {
			c.Connections += s.Connections
		}
	}
	seen := forecast.Of(hosts, c)
	seen.Endless = o.Hosts.Continuous
	return seen, nil
}

// untilLimit is how long it takes until a limit ends the crawl, at the pace since the older reading; 0: none will.
func (f *foresight) untilLimit(o *Options, now *figuresOfCrawl, ran time.Duration) (most time.Duration) {
	within := func(left time.Duration) {
		if left = max(left, time.Second); most == 0 || left < most {
			most = left
		}
	}
	if o.For > 0 {
		within(o.For - ran)
	}
	if f.older.hosts == nil {
		return most
	}
	took := now.at.Sub(f.older.at)
	for _, limit := range []struct {
		set               bool
		most, had, before uint64
	}{
		{o.MaxPages > 0, o.MaxPages + f.began, now.visits, f.older.visits},
		{o.MaxBytes > 0, o.MaxBytes, now.bytes, f.older.bytes},
	} {
		if limit.set && limit.had > limit.before {
			left := float64(limit.most-min(limit.most, limit.had)) / float64(limit.had-limit.before)
			within(time.Duration(min(left*float64(took), 1<<62)))
		}
	}
	return most
}

type (
	// clocksAsked asks for the clocks that hosts share. It is answered by clocksReported.
	clocksAsked struct{ hosts []string }
	// clocksReported are the clocks, in the order of the question.
	clocksReported struct{ clocks []string }
)

// shareClocks tells hosts the clock that they share with others, if this crawl has such clocks.
func (f *foresight) shareClocks(ctx context.Context, hosts []forecast.Host, now *figuresOfCrawl) error {
	if f.n.Options().Unit == UnitHost {
		return nil
	}
	asked := &clocksAsked{}
	for i := range hosts {
		asked.hosts = append(asked.hosts, hosts[i].Name)
	}
	answer, err := Ask[*clocksReported](ctx, f.n, asked)
	if err != nil {
		return err
	}
	for i := range hosts {
		hosts[i].Clock = answer.clocks[i]
	}
	f.poolYet(hosts, now)
	return nil
}

// poolYet foresees what hosts with one clock will still find from all of them together: they are asked one after
// another, so that the figures of one host stand still for long and then move at once.
func (f *foresight) poolYet(hosts []forecast.Host, now *figuresOfCrawl) {
	type pool struct {
		waiting           uint64
		older, newer, now forecast.Figures
	}
	pools := map[string]*pool{}
	for i := range hosts {
		h, id := &hosts[i], store.IDOf(hosts[i].Name)
		p := pools[h.Clock]
		if p == nil {
			p = &pool{}
			pools[h.Clock] = p
		}
		p.waiting += h.Waiting
		p.older.Add(f.older.hosts[id])
		p.newer.Add(f.newer.hosts[id])
		p.now.Add(now.hosts[id])
	}
	for i := range hosts {
		h := &hosts[i]
		p := pools[h.Clock]
		var yet float64
		yet, h.Grows = forecast.Yet(p.waiting, p.now, p.older, p.newer)
		h.Yet = yet * float64(h.Waiting) / float64(p.waiting)
	}
}

// sharedBy are the clocks of hosts; of a host with several, the first.
func sharedBy(c *lending.Clocks, hosts []string) *clocksReported {
	answer := &clocksReported{}
	for _, host := range hosts {
		answer.clocks = append(answer.clocks, c.Of(host)[0])
	}
	return answer
}

// left is a host as the forecast needs it.
func (f *foresight) left(r *store.HostRecord, o *host.Options, now time.Time) forecast.Host {
	var s politeness.State
	if len(r.Politeness) > 0 && s.UnmarshalBinary(r.Politeness) != nil {
		s = politeness.State{}
	}
	_, mean, _ := s.Took()
	h := forecast.Host{Name: r.Name, Waiting: r.Waiting, Cycle: s.Cycle(&o.Politeness, mean), Took: mean,
		Rest: max(0, s.BackoffUntil().Sub(now)), Failing: !reading.Ails(r, &s, o.Continuous).IsZero()}
	h.Yet, h.Grows = forecast.Yet(r.Waiting, forecast.Figures{Known: r.Known, Visited: r.Visited}, f.older.hosts[r.ID],
		f.newer.hosts[r.ID])
	if h.Failing && s.LastOK().IsZero() && !o.Continuous {
		h.GivenUp = max(1, o.UntilGivenUp(s.Failures()))
	}
	return h
}
