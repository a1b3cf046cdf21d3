package master

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"henro/actors/scope"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

func tasksOf(t *testing.T, urls int) *tasks {
	t.Helper()
	state, err := store.OpenState(t.TempDir(), store.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	o := DefaultOptions()
	o.TaskURLs, o.Scope.Mode = urls, scope.Any
	rules, err := scope.New(o.Scope)
	if err != nil {
		t.Fatal(err)
	}
	all := newTasks(&o, state, rules)
	all.rnd = rand.New(rand.NewPCG(1, 2))
	return all
}

func links(begin, end int) (links []outlink.Outlink) {
	for i := begin; i < end; i++ {
		links = append(links, outlink.Outlink{URL: fmt.Sprintf("http://h%d.test/%d", i%100, i), Kind: outlink.Anchor})
	}
	return links
}

// Every URL is drawn once, and each has the same chance to be among the first half: the mean number of those is off by
// less than four standard deviations in each tenth.
func TestTasksAreDrawnAtRandom(t *testing.T) {
	const n = 2000
	all := tasksOf(t, 10)
	all.collect(links(0, n), false)
	all.collect([]outlink.Outlink{{URL: "http://h.test/moved", Kind: outlink.Redirect},
		{URL: "http://h.test/a.png", Kind: outlink.Image}, {URL: "ftp://h.test/", Kind: outlink.Anchor}}, false)
	seen, early := map[string]bool{}, [10]int{}
	for len(seen) < n {
		drawn := all.draw(1)
		if len(drawn) != 10 {
			t.Fatalf("a task of %d URLs", len(drawn))
		}
		for _, seed := range drawn {
			url := seed.URL.String()
			if seen[url] || seed.Depth != all.o.Depth {
				t.Fatalf("%s, depth %d, drawn before: %v", url, seed.Depth, seen[url])
			}
			seen[url] = true
			var host, number int
			if _, err := fmt.Sscanf(url, "http://h%d.test/%d", &host, &number); err != nil {
				t.Fatal(err)
			}
			if len(seen) <= n/2 {
				early[number*10/n]++
			}
		}
	}
	for tenth, count := range early {
		if math.Abs(float64(count)-n/20) > 4*math.Sqrt(n/40) {
			t.Errorf("%d of the URLs in tenth %d were among the first half", count, tenth)
		}
	}
	if !all.exhausted() {
		t.Error("there is more to draw")
	}
}

// What is known is not drawn, and links beyond the bound come from the store when the others are used up.
func TestTasksAreBounded(t *testing.T) {
	all := tasksOf(t, 5)
	for begin := 0; begin < 2*linksKept; begin += 1000 {
		all.collect(links(begin, begin+1000), false)
	}
	late := 0
	for _, url := range all.links {
		number, err := strconv.Atoi(strings.TrimPrefix(url, weburl.HostOf(url)+"/"))
		if err != nil {
			t.Fatal(err)
		}
		if number >= linksKept {
			late++
		}
	}
	if len(all.links) != linksKept || math.Abs(float64(late)/linksKept-0.5) > 0.02 {
		t.Errorf("%d links are kept, %d of them of the second half", len(all.links), late)
	}
	all.links = nil
	for _, l := range links(0, 7) {
		batch := store.NewBatch(time.Now())
		batch.Admit(store.Candidate{URL: l.URL})
		if _, err := all.state.Partitions[all.state.PartitionOf(weburl.HostOf(l.URL))].Commit(batch); err != nil {
			t.Fatal(err)
		}
	}
	all.collect(links(0, 7), false)
	if drawn := all.draw(2); len(drawn) != 0 {
		t.Errorf("%v were known", drawn)
	}
}
