package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// crashBench kills a crawl in the middle of its load again and again. After each kill the state must be consistent, and
// must hold at least what its last words said was committed.
func crashBench(b *bench) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(b.seed, 5))
	dir := filepath.Join(b.dir, "state")
	pages, lost, commits := uint64(0), 0, 0
	problems := 0
	for round := range b.rounds {
		child := exec.Command(self, "load", "-dir", dir, "-seed", fmt.Sprint(b.seed+uint64(round)))
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			return err
		}
		if err := child.Start(); err != nil {
			return err
		}
		time.AfterFunc(time.Duration(20+rnd.IntN(2500))*time.Millisecond, func() { child.Process.Kill() })
		said := make([]store.Stats, 16)
		for lines := bufio.NewScanner(out); lines.Scan(); commits++ {
			var i int
			var s store.Stats
			if n, _ := fmt.Sscan(lines.Text(), &i, &s.Known, &s.Visited, &s.Linked); n == 4 &&
				strings.HasSuffix(lines.Text(), ".") {
				said[i] = s
			}
		}
		child.Wait()
		r, err := store.Check(dir, nil)
		if err != nil {
			if round == 0 {
				continue // killed before the state was made
			}
			return err
		}
		for _, problem := range r.Problems {
			problems++
			note("round %d: %s", round, problem)
		}
		s, err := store.OpenState(dir, store.DefaultOptions())
		if err != nil {
			return err
		}
		for i, p := range s.Partitions {
			is, err := p.Stats()
			if err != nil {
				return err
			}
			if is.Known < said[i].Known || is.Visited < said[i].Visited || is.Linked < said[i].Linked {
				lost++
				note("round %d: partition %d has %+v, it said %+v", round, i, is, said[i])
			}
		}
		if err := s.Close(); err != nil {
			return err
		}
		pages = r.Stats.Known
	}
	row("bench", "kills", "commits", "pages", "problems", "partitions that lost something")
	row("crash", b.rounds, commits, pages, problems, lost)
	if problems+lost > 0 {
		return fmt.Errorf("%d problems, %d losses", problems, lost)
	}
	return nil
}

// crashLoad crawls a made-up web until it is killed: it visits waiting and due pages, stores links, sends candidates to
// the other partition, and says after every commit what is there.
func crashLoad(b *bench) error {
	o := store.DefaultOptions()
	o.Partitions = 2
	s, err := store.OpenState(b.dir, o)
	if err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(b.seed, 6))
	now := time.Unix(int64(startMinute)*60, 0)
	url := func() string { return fmt.Sprintf("http://host%d.example/%d", rnd.IntN(300), rnd.IntN(400)) }
	for i, p := range s.Partitions { // go on at the time at which the last process was killed
		if v, err := p.Metas.Get("now"); err == nil && len(v) > 0 {
			if at, err := time.Parse(time.RFC3339, string(v)); err == nil && at.After(now) {
				now = at
			}
		} else if err != nil {
			return fmt.Errorf("partition %d: %w", i, err)
		}
	}
	cursors := make([]store.Position, len(s.Partitions))
	for {
		now = now.Add(time.Duration(rnd.ExpFloat64() * float64(10*time.Minute)))
		for i, p := range s.Partitions {
			batch := store.NewBatch(now)
			batch.PutMeta("now", []byte(now.Format(time.RFC3339)))
			visit := func(e store.Entry, position store.Position) {
				var links []outlink.Outlink
				for range rnd.IntN(12) {
					links = append(links, outlink.Outlink{URL: url(), Kind: outlink.Anchor})
				}
				e.Page.LastVisit = now
				e.Page.Next = now.Add(time.Duration(rnd.ExpFloat64() * float64([]time.Duration{time.Hour,
					24 * time.Hour, 900 * time.Hour}[rnd.IntN(3)])))
				e.Page.Timing.Interval = float32(e.Page.Next.Sub(now).Seconds())
				batch.Visit(store.Visited{Position: position, Page: e.Page, Links: links, Retry: rnd.IntN(20) == 0})
				for _, l := range links {
					c := store.Candidate{URL: l.URL, DepthLeft: uint8(rnd.IntN(6))}
					if j := s.PartitionOf(weburl.HostOf(l.URL)); j != i {
						batch.Send(j, []store.Candidate{c})
					} else {
						batch.Admit(c)
					}
				}
			}
			for range 10 {
				if u := url(); s.PartitionOf(weburl.HostOf(u)) == i {
					batch.Admit(store.Candidate{URL: u, DepthLeft: uint8(rnd.IntN(6))})
				}
			}
			hosts, err := p.Hosts.List(store.HostID(rnd.Uint64()), 20)
			if err != nil {
				return err
			}
			for _, h := range hosts {
				w, err := p.Fresh.Of(h.ID, nil, 10)
				if err != nil {
					return err
				}
				batch.Forget(w.Ghosts...)
				for _, e := range w.Entries {
					position := e.Position
					if rnd.IntN(6) == 0 {
						position = nil
					}
					visit(e, position)
				}
			}
			due, next, err := p.Due(now, cursors[i], 200)
			if err != nil {
				return err
			}
			cursors[i] = next
			for _, e := range due {
				visit(e, e.Position)
			}
			relaxations, err := p.Relaxations.First(20)
			if err != nil {
				return err
			}
			for _, r := range relaxations {
				batch.Relaxed(r)
			}
			parcels, err := p.Outbox.Within(50, math.MaxInt)
			if err != nil {
				return err
			}
			for _, parcel := range parcels {
				there := store.NewBatch(now)
				for _, c := range parcel.Candidates {
					there.Admit(c)
				}
				if _, err := s.Partitions[parcel.Partition].Commit(there); err != nil {
					return err
				}
				batch.Sent(parcel.Key)
			}
			if _, err := p.Commit(batch); err != nil {
				return err
			}
			is, err := p.Stats()
			if err != nil {
				return err
			}
			fmt.Println(i, is.Known, is.Visited, is.Linked, ".")
		}
	}
}
