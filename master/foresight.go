package master

import (
	"context"
	"errors"
	"time"

	"henro/actors/host"
	"henro/actors/politeness"
	"henro/master/forecast"
	"henro/store"
)

// foresight reads all hosts now and then, beside the crawl, and foresees its end: after each hundredth of what the run
// has taken so far, but not more often than each five seconds and not more seldom than each minute, or each ten minutes
// of a crawl without an end. It takes a fiftieth of a processor at most: 100,000 hosts take some 0.6 s to read, and are
// read every 30 s then.
type foresight struct {
	n     *Node
	older figuresOfHosts // from which growth is reckoned: at least a tenth of the run ago
	newer figuresOfHosts // that take its place
}

const (
	foreseeEvery  = 5 * time.Second
	foreseeLatest = time.Minute
	endlessLatest = 10 * time.Minute
	foreseeEffort = 50      // times as long as a reading took, until the next
	foreseeHosts  = 200_000 // whose growth is remembered: 7 MB twice
)

// figuresOfHosts are those of one reading.
type figuresOfHosts struct {
	at    time.Time
	hosts map[store.HostID]hostFigures
}

type hostFigures struct{ known, visited uint64 }

// run foresees until the context ends.
func (f *foresight) run(ctx context.Context, began time.Time) {
	wait := foreseeEvery
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		from := time.Now()
		if seen, err := f.look(ctx, from, from.Sub(began)); err == nil {
			f.n.resources.forecast.Store(seen)
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
	read := figuresOfHosts{now, map[store.HostID]hostFigures{}}
	var hosts []forecast.Host
	for _, disk := range f.n.state.Partitions {
		for after := store.HostID(0); ; {
			records, err := disk.Hosts(after, 1000)
			if err := errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
			if len(records) == 0 {
				break
			}
			for i := range records {
				r := &records[i]
				if len(read.hosts) < foreseeHosts {
					read.hosts[r.ID] = hostFigures{r.Known, r.Visited}
				}
				if r.Waiting > 0 {
					hosts = append(hosts, f.left(r, &o.Hosts, now))
				}
			}
			after = records[len(records)-1].ID
		}
	}
	if f.newer.hosts == nil || now.Sub(f.newer.at) >= ran/10 {
		f.older, f.newer = f.newer, read
	}
	status, err := Ask[*Status](ctx, f.n, &StatusAsked{})
	if err != nil {
		return nil, err
	}
	c := forecast.Crawl{Leases: status.Leases}
	if o.For > 0 {
		c.Most = max(o.For-ran, time.Second)
	}
	for _, s := range status.Slaves {
		c.Slots += s.Slots
	}
	seen := forecast.Of(hosts, c)
	seen.Endless = o.Hosts.Continuous
	return seen, nil
}

// left is what a host has left.
func (f *foresight) left(r *store.HostRecord, o *host.Options, now time.Time) forecast.Host {
	var s politeness.State
	if len(r.Politeness) > 0 && s.UnmarshalBinary(r.Politeness) != nil {
		s = politeness.State{}
	}
	_, mean, _ := s.Took()
	h := forecast.Host{Name: r.Name, Waiting: r.Waiting, Cycle: s.Pace(&o.Politeness) + mean,
		Rest: max(0, s.BackoffUntil().Sub(now)), Failing: !failing(r, &s).IsZero()}
	if before, known := f.older.hosts[r.ID]; known && r.Visited > before.visited {
		h.Growth = float64(r.Known-min(r.Known, before.known)) / float64(r.Visited-before.visited)
	}
	if h.Failing && s.LastOK().IsZero() && !o.Continuous {
		h.GivenUp = max(1, o.UntilGivenUp(s.Failures()))
	}
	return h
}
