package master

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/admission"
	"henro/actors/scope"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// tasks are the work of a crawl under the policy thesis (S4). A task is Options.TaskURLs URLs, drawn at random from the
// seeds and the links collected so far that no page is known for, and the depth of the crawl, counted anew from each of
// them. A link beyond the depth of its task waits here until it is drawn. A task is drawn for each connection for which
// there is no host with URLs that wait. Slaves share tasks: a page that one of them has found is visited by any.
//
// The Partitions call Collect, the Master the rest; a lock keeps them apart.
type tasks struct {
	mu      sync.Mutex
	o       *Options
	state   *store.State
	regions *admission.Known
	rnd     *rand.Rand
	seeds   []Seed   // not drawn yet
	links   []string // collected and not drawn: all, or linksKept of them, taken at random
	met     int      // links collected, since links was empty
	drawn   int      // tasks, in this run
}

const (
	// linksKept bounds the links that wait to be drawn: some 6 MB. When they are used up, the links in the store that
	// no page is known for take their place.
	linksKept = 1 << 16
	// drawMost bounds the links that are looked at for the tasks of one tick: 5 µs each.
	drawMost = 10_000
	// maxTaskURLs is beyond any task that has a use.
	maxTaskURLs = 1000
)

func newTasks(o *Options, state *store.State, rules *scope.Rules) *tasks {
	return &tasks{o: o, state: state, regions: admission.Remember(rules), rnd: rand.New(rand.NewPCG(rand.Uint64(), 0))}
}

// begin takes in what earlier runs have left: seeds that were not drawn, and links.
func (t *tasks) begin() error {
	if t.o.defined != nil {
		seeds, err := t.o.defined.ParsedSeeds()
		if err != nil {
			return err
		}
		for i := range seeds {
			seeds[i].Depth = t.o.Depth
		}
		t.seeds = seeds
	}
	return t.refill()
}

// refill reads the links in the store.
func (t *tasks) refill() error {
	t.met = 0
	for _, p := range t.state.Partitions {
		err := p.EachLinks(func(_ store.HostID, _ uint64, links []outlink.Outlink) error {
			t.collect(links, true)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read the links for tasks: %w", err)
		}
	}
	return nil
}

// Collect implements partition.Collector.
func (t *tasks) Collect(_ string, links []outlink.Outlink) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.collect(links, false)
}

// collect keeps those of the links that the crawl may follow; the new ones alone, if that is asked.
func (t *tasks) collect(links []outlink.Outlink, new bool) {
	on := admission.Page{DepthLeft: 1}
	for i := range links {
		l := &links[i]
		if l.Kind == outlink.Redirect || l.Kind.Hints() || !l.Kind.Navigates() {
			continue
		}
		if _, reason := t.o.Hosts.Admission.Link(t.regions, &on, l); reason != admission.None || new && t.known(l.URL) {
			continue
		}
		t.met++
		if len(t.links) < linksKept {
			t.links = append(t.links, l.URL)
		} else if i := t.rnd.IntN(t.met); i < linksKept {
			t.links[i] = l.URL
		}
	}
}

func (t *tasks) known(url string) bool {
	_, _, known, err := t.state.Partitions[t.state.PartitionOf(weburl.HostOf(url))].Seen(url)
	return err == nil && known
}

// widen takes in seeds, and what belongs to the crawl by them.
func (t *tasks) widen(rules *scope.Rules, seeds []Seed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seeds, t.regions = append(t.seeds, seeds...), admission.Remember(rules)
}

// draw returns the URLs of so many tasks, fewer if there are not enough.
func (t *tasks) draw(count int) (urls []Seed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for looked := 0; len(urls) < count*t.o.TaskURLs && looked < drawMost; looked++ {
		waiting := len(t.seeds) + len(t.links)
		if waiting == 0 {
			break
		}
		i := t.rnd.IntN(waiting)
		var drawn Seed
		if i < len(t.seeds) {
			drawn, t.seeds = takeAt(t.seeds, i)
		} else {
			var url string
			url, t.links = takeAt(t.links, i-len(t.seeds))
			parsed, err := weburl.Parse(url)
			if err != nil {
				continue // no request for it is possible
			}
			drawn = Seed{URL: parsed, Depth: t.o.Depth}
		}
		if !t.known(drawn.URL.String()) {
			urls = append(urls, drawn)
		}
	}
	t.drawn += (len(urls) + t.o.TaskURLs - 1) / t.o.TaskURLs
	return urls
}

// takeAt takes an element out of a slice, whose order does not matter.
func takeAt[E any](of []E, i int) (E, []E) {
	taken, last := of[i], len(of)-1
	of[i] = of[last]
	return taken, of[:last]
}

// exhausted reports that nothing can be drawn any more.
func (t *tasks) exhausted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.seeds)+len(t.links) == 0 {
		if err := t.refill(); err != nil {
			panic(err)
		}
	}
	return len(t.seeds)+len(t.links) == 0
}

// drawTasks begins a task for each connection that has no host to ask. A host that is ready within the interval of
// politeness is one; for a host that rests after a failure, or by its Crawl-delay, no connection waits.
func (m *Master) drawTasks(ctx actor.Context) {
	if m.tasks == nil || m.phase != Running || !m.begun || m.seeding > 0 {
		return
	}
	soon := time.Now().Add(m.o.Hosts.Politeness.Floor + m.o.Hosts.LookAhead)
	connections, _ := m.slaves.connections()
	if free := connections - m.ledger.OpenCount() - m.ready.before(soon); free > 0 {
		if urls := m.tasks.draw(free); len(urls) > 0 {
			m.plant(ctx, urls, &seedsTag{})
		}
	}
}
