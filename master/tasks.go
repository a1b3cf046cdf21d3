package master

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/admission"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/actors/scope"
	"henro/master/course"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// tasks is the actor that draws the work of a crawl under the policy thesis. A task is Options.TaskURLs URLs,
// drawn at random from the seeds and the links collected so far that lead to no known page; the depth of the crawl is
// counted from each of them. A link beyond the depth of its task waits here until it is drawn. A task is drawn for each
// connection for which there is no host with URLs that wait. Slaves share tasks: a page that one of them has found is
// visited by any; with Options.Whole a task is one slave's.
type tasks struct {
	o       *Options
	state   *store.State
	regions *admission.Known
	rnd     *rand.Rand
	seeds   []reading.Seed // not drawn yet
	links   []string       // collected and not drawn: all, or linksKept of them, chosen at random
	met     int            // links collected since links was empty
}

// What the tasks are told, asked and say.
type (
	collected struct{ links []outlink.Outlink }
	widened   struct {
		scope *scope.Scope
		seeds []reading.Seed
	}
	draw  struct{ slaves []string } // a task for each; drawn answers
	drawn struct {
		urls   []reading.Seed // fewer than asked for, if there are not enough
		slaves []string
	}
)

// collector brings the tasks the links that the Partitions store.
type collector struct {
	root  *actor.RootContext
	tasks *actor.PID
}

// Collect implements partition.Collector.
func (c collector) Collect(_ string, links []outlink.Outlink) {
	c.root.Send(c.tasks, &collected{links})
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

func newTasks(o *Options, state *store.State, scope *scope.Scope) *tasks {
	return &tasks{o: o, state: state, regions: admission.Remember(scope), rnd: rand.New(rand.NewPCG(rand.Uint64(), 0))}
}

// Receive is the table of contents.
func (t *tasks) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *collected:
		t.collect(m.links, false)
	case *widened: // by seeds, and what belongs to the crawl by them
		t.seeds, t.regions = append(t.seeds, m.seeds...), admission.Remember(m.scope)
	case *draw:
		ctx.Respond(&drawn{t.draw(len(m.slaves)), m.slaves})
	case *course.DrawnOutAsked:
		ctx.Respond(&course.DrawnOut{All: t.exhausted()})
	}
}

// begin takes in what earlier runs have left: seeds that were not drawn, and links.
func (t *tasks) begin() error {
	if t.o.defined != nil {
		t.seeds = slices.Clone(t.o.defined.Seeds)
		for i := range t.seeds {
			t.seeds[i].Depth = t.o.Depth
		}
	}
	return t.refill()
}

// refill reads the links in the store.
func (t *tasks) refill() error {
	t.met = 0
	for _, p := range t.state.Partitions {
		err := p.Links.Each(func(_ store.HostID, _ uint64, links []outlink.Outlink) error {
			t.collect(links, true)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read the links for tasks: %w", err)
		}
	}
	return nil
}

// collect keeps those of the links that the crawl may follow; with new only those that lead to no known page.
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
	_, _, known, err := t.state.Partitions[t.state.PartitionOf(weburl.HostOf(url))].Seen.Get(url)
	return err == nil && known
}

// draw returns the URLs of so many tasks, fewer if there are not enough.
func (t *tasks) draw(count int) (urls []reading.Seed) {
	for looked := 0; len(urls) < count*t.o.TaskURLs && looked < drawMost; looked++ {
		waiting := len(t.seeds) + len(t.links)
		if waiting == 0 {
			break
		}
		i := t.rnd.IntN(waiting)
		var drawn reading.Seed
		if i < len(t.seeds) {
			drawn, t.seeds = takeAt(t.seeds, i)
		} else {
			var url string
			url, t.links = takeAt(t.links, i-len(t.seeds))
			parsed, err := weburl.Parse(url)
			if err != nil {
				continue // no request for it is possible
			}
			drawn = reading.Seed{URL: parsed, Depth: t.o.Depth}
		}
		if !t.known(drawn.URL.String()) {
			urls = append(urls, drawn)
		}
	}
	return urls
}

// takeAt takes an element out of a slice whose order does not matter.
func takeAt[E any](of []E, i int) (E, []E) {
	taken, last := of[i], len(of)-1
	of[i] = of[last]
	return taken, of[:last]
}

// exhausted reports that nothing can be drawn any more.
func (t *tasks) exhausted() bool {
	if len(t.seeds)+len(t.links) == 0 {
		floor.Need(t.refill(), "look whether tasks are left")
	}
	return len(t.seeds)+len(t.links) == 0
}
