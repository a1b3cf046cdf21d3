package store_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// crawler owns a state as the actors do, in random order: it takes pages from fresh, visits them, admits their links,
// delivers the outbox, and drains relaxations, and is thrown away and started again at any moment between commits.
type crawler struct {
	t     *testing.T
	dir   string
	s     *store.State
	rnd   *rand.Rand
	graph map[string][]string
	now   time.Time
}

func (c *crawler) commit(i int, b *store.Batch) {
	c.t.Helper()
	if _, err := c.s.Partitions[i].Commit(b); err != nil {
		c.t.Fatal(err)
	}
}

// follow admits the links of a page with so much depth left.
func (c *crawler) follow(i int, b *store.Batch, links []outlink.Outlink, left uint8) {
	if left == 0 {
		return
	}
	for _, l := range links {
		candidate := store.Candidate{URL: l.URL, DepthLeft: outlink.DepthAfter(left)}
		if j := c.s.PartitionOf(weburl.HostOf(l.URL)); j != i {
			b.Send(j, []store.Candidate{candidate})
		} else {
			b.Admit(candidate)
		}
	}
}

func (c *crawler) links(url string) []outlink.Outlink {
	links := []outlink.Outlink{}
	for _, to := range c.graph[url] {
		links = append(links, outlink.Outlink{URL: to, Kind: outlink.Anchor})
	}
	return links
}

// step does one thing to one partition and reports whether there was anything to do.
func (c *crawler) step(i, what int) bool {
	p := c.s.Partitions[i]
	b := store.NewBatch(c.now)
	switch what {
	case 0: // visit a few waiting pages, some as followed inside a lease
		hosts, err := p.Hosts.List(0, 1000)
		if err != nil {
			c.t.Fatal(err)
		}
		c.rnd.Shuffle(len(hosts), func(a, b int) { hosts[a], hosts[b] = hosts[b], hosts[a] })
		for _, h := range hosts {
			w, err := p.Fresh.Of(h.ID, nil, 1+c.rnd.IntN(5))
			if err != nil {
				c.t.Fatal(err)
			}
			b.Forget(w.Ghosts...)
			for _, e := range w.Entries {
				e.Page.Next = c.now.Add(48 * time.Hour)
				v := store.Visited{Position: e.Position, Page: e.Page, Links: c.links(e.Page.URL)}
				if c.rnd.IntN(4) == 0 {
					v.Position = nil
				}
				b.Visit(v)
				c.follow(i, b, v.Links, e.Page.DepthLeft)
			}
			if b.Len() > 0 && c.rnd.IntN(2) == 0 {
				break
			}
		}
	case 1:
		relaxations, err := p.Relaxations.First(1 + c.rnd.IntN(4))
		if err != nil {
			c.t.Fatal(err)
		}
		for _, r := range relaxations {
			c.follow(i, b, r.Links, r.DepthLeft)
			b.Relaxed(r)
		}
	case 2:
		parcels, err := p.Outbox.Within(1+c.rnd.IntN(8), math.MaxInt)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, parcel := range parcels {
			there := store.NewBatch(c.now)
			for _, candidate := range parcel.Candidates {
				there.Admit(candidate)
			}
			c.commit(parcel.Partition, there)
			if c.rnd.IntN(5) > 0 { // else the acknowledgement is lost, and the parcel comes twice
				b.Sent(parcel.Key)
			}
		}
		if b.Empty() && len(parcels) > 0 {
			return true
		}
	}
	if b.Empty() {
		return false
	}
	c.commit(i, b)
	return true
}

func (c *crawler) reopen() {
	c.t.Helper()
	if c.s != nil {
		if err := c.s.Close(); err != nil {
			c.t.Fatal(err)
		}
	}
	o := testOptions()
	o.Partitions = 3
	var err error
	if c.s, err = store.OpenState(c.dir, o); err != nil {
		c.t.Fatal(err)
	}
}

func TestDepthIsExactWhateverTheOrder(t *testing.T) {
	for round := range uint64(8) {
		c := &crawler{t: t, dir: filepath.Join(t.TempDir(), "state"), rnd: rand.New(rand.NewPCG(*seed+round, 1)),
			now: noon, graph: map[string][]string{}}
		c.reopen()
		urls := make([]string, 150)
		for i := range urls {
			urls[i] = fmt.Sprintf("http://h%d.example/%d", c.rnd.IntN(9), i)
			if c.rnd.IntN(3) == 0 {
				urls[i] = fmt.Sprintf("http://www.other%d.example/%d", c.rnd.IntN(9), i)
			}
		}
		for _, url := range urls {
			for range c.rnd.IntN(4) {
				c.graph[url] = append(c.graph[url], urls[c.rnd.IntN(len(urls))])
			}
		}
		// What must come out: breadth first from the seeds.
		want, line := map[string]uint8{}, []string{}
		for i, left := range []uint8{5, 3} {
			want[urls[i]] = left
			line = append(line, urls[i])
			b := store.NewBatch(c.now)
			b.Admit(store.Candidate{URL: urls[i], DepthLeft: left})
			c.commit(c.s.PartitionOf(weburl.HostOf(urls[i])), b)
		}
		for len(line) > 0 {
			url := line[0]
			line = line[1:]
			for _, to := range c.graph[url] {
				if left := want[url]; left > 0 {
					if old, ok := want[to]; !ok || old < left-1 {
						want[to] = left - 1
						line = append(line, to)
					}
				}
			}
		}
		// Chance alone may miss the one thing that is left to do: only when no step finds anything is the crawl over.
		for busy := true; busy; {
			for range 20 {
				c.step(c.rnd.IntN(3), c.rnd.IntN(3))
				if c.rnd.IntN(20) == 0 {
					c.reopen()
				}
			}
			busy = false
			for i := range c.s.Partitions {
				for what := range 3 {
					busy = c.step(i, what) || busy
				}
			}
		}
		got := map[string]uint8{}
		for _, p := range c.s.Partitions {
			if err := p.Pages.Each(func(page store.Page, place store.Place) error {
				left, visited, _, err := p.Seen.Get(page.URL)
				got[page.URL] = left
				if !visited {
					t.Errorf("seed %d: %s was not visited", *seed+round, page.URL)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: depths %v, not %v", *seed+round, got, want)
		}
		if err := c.s.Close(); err != nil {
			t.Fatal(err)
		}
		clean(t, c.dir)
	}
}

// clean fails the test when a state is not consistent.
func clean(t testing.TB, dir string) {
	t.Helper()
	r, err := store.Check(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range r.Problems {
		t.Error(problem)
	}
}
