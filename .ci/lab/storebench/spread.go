package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"henro/messages/outlink"
	"henro/store"
)

// pagesOfHost is how many pages each host of spreadBench has.
const pagesOfHost = 100

// spreadBench writes the state of one partition of a crawl as it grows: so many hosts are lent at once, a commit has so
// many visits of them by turns, and two of the 18 links of a page lead to pages of hosts at random. Those are admitted
// with the page that has them, or gather in the outbox until they are a share of what is known.
func spreadBench(b *bench) error {
	batches, err := numbers(b.batches)
	if err != nil {
		return err
	}
	row("bench", "pages", "hosts lent", "visits a commit", "gather", "µs/page", "cpu µs/page", "bytes/page",
		"admitted/page")
	for i, visits := range batches {
		o := store.DefaultOptions()
		o.NoSync = true
		path := filepath.Join(b.dir, fmt.Sprintf("spread%d.db", i))
		p, err := store.Open(path, o)
		if err != nil {
			return err
		}
		s := spread{b: b, p: p, random: rand.New(rand.NewPCG(b.seed, 3)), hosts: max(1, b.n/pagesOfHost),
			batch: store.NewBatch(fillTime), gathered: map[int][]parked{}}
		m := startMeter()
		err = s.crawl(int(visits))
		us, cpu, written := m.per(b.n)
		if err = errors.Join(err, p.Close()); err != nil {
			return err
		}
		row("spread", b.n, b.lent, int(visits), b.gather, us, cpu, written, float64(s.admitted)/float64(b.n))
	}
	return nil
}

// spread is a crawl of one partition.
type spread struct {
	b            *bench
	p            *store.Partition
	random       *rand.Rand
	hosts, begun int
	open         []*lentHost
	batch        *store.Batch
	gathered     map[int][]parked // by host
	count        int              // of them
	sent         uint64           // parcels so far
	admitted     int
}

// parked is a URL in the outbox.
type parked struct {
	candidate store.Candidate
	parcel    uint64
}

// lentHost is a host under lease: its links to itself are followed at once.
type lentHost struct {
	host  int
	line  []store.Visited // to be visited
	found [pagesOfHost]bool
}

func (s *spread) crawl(visits int) error {
	for {
		for range visits {
			if err := s.lend(); err != nil {
				return err
			}
			if len(s.open) == 0 {
				break
			}
			turn := s.random.IntN(len(s.open))
			host := s.open[turn]
			if err := s.visit(host); err != nil {
				return err
			}
			if len(host.line) == 0 {
				s.batch.DeleteLease(uint64(host.host) + 1)
				s.batch.PutHost(hostRow(host.host))
				s.open = slices.Delete(s.open, turn, turn+1)
			}
		}
		if s.batch.Empty() {
			return nil
		}
		if s.b.gather > 0 && s.count >= s.b.gather*s.hosts {
			for host := range s.hosts {
				s.deliver(host)
			}
		}
		if _, err := s.p.Commit(s.batch); err != nil {
			return err
		}
		s.batch.Reset(fillTime)
	}
}

func spreadHost(h int) string { return fmt.Sprintf("http://h%d.example.test", h) }

func spreadURL(h, page int) string { return fmt.Sprintf("%s/p%d.html", spreadHost(h), page) }

func hostRow(h int) store.HostRecord {
	name := spreadHost(h)
	return store.HostRecord{ID: store.IDOf(name), Name: name, NextAllowed: fillTime, AskedAt: fillTime}
}

// lend begins leases of hosts in their order.
func (s *spread) lend() error {
	for len(s.open) < s.b.lent && s.begun < s.hosts {
		h := &lentHost{host: s.begun}
		s.begun++
		if s.b.gather < 0 {
			s.deliver(h.host)
		}
		waiting, err := s.p.Fresh.Of(store.IDOf(spreadHost(h.host)), nil, pagesOfHost)
		if err != nil {
			return err
		}
		for _, e := range waiting.Entries {
			h.found[e.Page.From] = true // admitted with what it is of its host
			h.line = append(h.line, store.Visited{Position: e.Position, Page: e.Page})
		}
		s.follow(h, 0)
		s.batch.PutLease(store.Lease{ID: uint64(h.host) + 1, Host: store.IDOf(spreadHost(h.host)),
			HostName: spreadHost(h.host), Slave: "slave", Boot: "boot", Until: fillTime})
		s.batch.PutHost(hostRow(h.host))
		s.open = append(s.open, h)
	}
	return nil
}

func (s *spread) follow(h *lentHost, page int) {
	if !h.found[page] {
		h.found[page] = true
		h.line = append(h.line, store.Visited{Page: store.Page{URL: spreadURL(h.host, page), From: uint64(page),
			DepthLeft: outlink.UnlimitedDepth}})
	}
}

func (s *spread) visit(h *lentHost) error {
	v := h.line[0]
	h.line = h.line[1:]
	v.Page.LastVisit, v.Page.CapturedAt, v.Page.Status = fillTime, fillTime, 200
	v.Page.Next = fillTime.Add(30 * 24 * time.Hour)
	v.Page.Timing = store.Timing{Interval: 1e6, Total: 5e6, Visits: 1}
	v.Page.SimHash, v.Page.Digest[0] = s.random.Uint64(), byte(s.random.Uint32())
	var others []store.Candidate
	var at []int // their hosts
	for i := range 18 {
		host, page := h.host, s.random.IntN(pagesOfHost)
		if i < 2 {
			host = s.random.IntN(s.hosts)
			at = append(at, host)
			others = append(others, store.Candidate{URL: spreadURL(host, page), Host: spreadHost(host),
				DepthLeft: outlink.UnlimitedDepth, From: uint64(page)})
		} else {
			s.follow(h, page)
		}
		v.Links = append(v.Links, outlink.Outlink{URL: spreadURL(host, page), Anchor: "page"})
	}
	s.batch.Visit(v)
	held, err := s.p.Holds(others)
	if err != nil {
		return err
	}
	for i, c := range others {
		switch host := at[i]; {
		case held[i]:
		case s.b.gather == 0 || s.b.gather < 0 && host < s.begun:
			s.admit(c)
		default:
			s.batch.Send(0, []store.Candidate{c})
			s.sent++
			s.gathered[host] = append(s.gathered[host], parked{c, s.sent})
			s.count++
		}
	}
	return nil
}

func (s *spread) admit(c store.Candidate) {
	s.batch.Admit(c)
	s.admitted++
}

// deliver admits what has gathered of a host.
func (s *spread) deliver(host int) {
	for _, g := range s.gathered[host] {
		s.admit(g.candidate)
		s.batch.Sent(binary.BigEndian.AppendUint64(nil, g.parcel))
	}
	s.count -= len(s.gathered[host])
	delete(s.gathered, host)
}
