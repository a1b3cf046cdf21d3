// Package revisitsim replays change histories of pages against revisit policies and counts what each captures.
//
// The idea: the times at which real pages changed are known (from version histories of sites), so every policy can be
// asked the same question with the same number of requests: how many versions would it have captured, and how late? A
// site has a budget of requests in proportion to its living pages. At each request the page that is due first is
// visited, by the intervals that the policy chose when it saw the page last; a policy that asks for too much has its
// pages wait, and one that asks for too little has them visited early: at the end all made the same number of requests,
// and only how they were shared out differs. A visit shows the policy whether the page changed since the last.
//
// A version is captured when it is there at a visit. The first version of a page is free: finding pages is not judged.
//
// Oracles know the histories beforehand. OracleRates knows each page's number of changes and visits pages in proportion
// to it, which is the best for Poisson pages; OracleStatic tries, for each page, evenly spaced visits of every number
// and shares the budget out so that the sum is largest: no fixed timetable captures more. A policy that follows bursts
// can beat both.
//
// What it showed on 23 real histories (1.37 million versions of 103,000 pages; share of versions captured with 0.5, 1
// and 2 requests per version, and in the same order for 1 request on catalogues, scraped live data, documentation
// sites):
//
//	                          0.5     1       2     | catalogue  live   docs
//	all pages in turn        27.6 %  40.3 %  52.3 % |  55.0 %  10.2 %  43.6 %
//	Nutch                    30.7    38.1    38.5   |  45.1    19.4    43.5
//	StormCrawler             32.1    48.2    57.5   |  56.3    38.5    43.6
//	eq2, 20 intervals                46.8          |  48.3    47.9    43.5
//	eq4-cumulative           32.5    52.3    61.5   |  60.4    47.4    43.8
//	eq4, forgetting 0.9      35.6    52.9    59.4   |  60.8    49.2    43.7
//	eq4+optimal              35.3    53.1    64.9   |  60.8    50.0    43.6
//	drift                    35.0    52.0    60.9   |  60.5    46.0    43.8
//	drift+delay              33.6    51.6    60.6   |  60.5    44.3    43.8
//	drift+stretch            34.6    52.5    65.4   |  61.4    47.5    42.4
//	drift+optimal            35.9    53.4    65.6   |  61.1    50.3    43.8
//	with Last-Modified       36.1    53.5    65.7   |  61.4    50.5    43.7
//	following releases       35.9    53.4    65.7   |  61.0    49.6    44.5
//	oracle-rates             37.1    56.2    68.6   |  64.6    44.9    52.7
//	oracle-static            42.3    60.8    72.1   |  66.5    52.6    58.9
//
// So the optimal relief of package politeness is the best of what needs no foresight, in total at every budget; on
// catalogues stretching is ahead by 0.1 to 0.3 points, on documentation sites at half a request per version delay is by
// 0.1. There a page changes a few times in ten years, and the oracles' lead is mostly that they know which pages never
// will. Growth and forgetting were chosen looking at these histories; go test -run Class -table prints the table again.
//
// Tried and dropped: the marginal gain of a visit under a gamma posterior of λ instead of under its mean (docs 41.2 %,
// since it favours pages of which little is known too little); intervals shorter after a change and longer after none
// (docs −1.2 points, catalogues −2.8); a multiplier steered by the load instead of solved for (live 46.6 %); no bound
// on growth (live 30.1 %: one bad estimate can put a page off for years), bounds of 4 and 8 (docs 30.9 % and 30.5 % at
// half a request).
//
// Invariants:
//   - Every policy makes the same number of requests on a site at the same budget.
//   - A policy learns nothing but what visits show. Runs with the same seed give the same results.
package revisitsim

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Options say what is simulated.
type Options struct {
	Sites []Site
	// Policies by name: see Policies; of henro's own with other constants too (drift+optimal:prior=10d). Empty: all.
	Policies []string
	// Budgets are requests per version that comes into being, one simulation each. Default 0.5, 1, 2.
	Budgets []float64
	// Spacing is the politeness interval: requests to one site are at least so far apart. Default 5 s.
	Spacing time.Duration
	// Signals announce changes to the policies that heed them.
	Signals Signals
	// Seed of what policies draw at random. Default 1.
	Seed uint64
	// Workers simulate side by side. Default one per processor.
	Workers int
	// Kept are scores of earlier runs, which are not simulated again. Default none.
	Kept *Kept
}

// DefaultOptions returns options without sites.
func DefaultOptions() Options {
	return Options{Budgets: []float64{0.5, 1, 2}, Spacing: 5 * time.Second, Seed: 1, Workers: runtime.GOMAXPROCS(0)}
}

// Validate reports the first field that makes no sense.
func (o *Options) Validate() error {
	for _, name := range o.Policies {
		if _, err := find(name); err != nil {
			return err
		}
	}
	for _, b := range o.Budgets {
		if !(b > 0) {
			return fmt.Errorf("revisitsim: budget %v must be above 0", b)
		}
	}
	if s := o.Signals; !(s.Recall >= 0 && s.Recall <= 1) || !(s.Noise >= 0 && s.Noise <= 1000) {
		return fmt.Errorf("revisitsim: signals with a recall of %v and %v false ones per change", s.Recall, s.Noise)
	}
	if o.Spacing < 0 || o.Workers < 1 || len(o.Sites) == 0 || len(o.Budgets) == 0 {
		return fmt.Errorf("revisitsim: %d sites, %d budgets, %d workers, spacing %v", len(o.Sites), len(o.Budgets),
			o.Workers, o.Spacing)
	}
	return nil
}

// Score is what one policy achieved on one site, or in total.
type Score struct {
	Site, Class string
	Policy      string
	Budget      float64
	Versions    int     // that came into being
	Requests    int     // beyond the first of each page
	Captured    int     // versions seen, beyond the first of each page
	LagSum      float64 // seconds from the birth of captured versions to their capture, added up
	Life        float64 // seconds of all pages' lives, over which the next four are averaged
	Stale       float64 // seconds for which the latest capture of a page was not its current version
	AgeSum      float64 // the age of a page's latest capture, the time since the first change missed, over time
	HarmonicSum float64 // 1 + 1/2 + … + 1/n over time, n the changes missed: the penalty of LambdaCrawl
	ShownSum    float64 // seconds for which the version that a page had was captured, then or later
	BlurSum     float64 // n over time: the blur of SHARC (Denev et al., VLDB J. 2011), for a look at a random moment
}

// missed counts the changes of a page that were not captured before at.
func (s *Score) missed(changes []int64, at float64) {
	for i, c := range changes {
		wait := max(0, at-float64(c))
		if i == 0 {
			s.Stale += wait
			s.AgeSum += wait * wait / 2
		}
		s.HarmonicSum += wait / float64(i+1)
		s.BlurSum += wait
	}
}

// shown takes into account that the version after k changes was captured, and is no longer the latest captured one.
func (s *Score) shown(p *Page, k int) {
	from, to := p.Born, p.End
	if k > 0 {
		from = p.Changes[k-1]
	}
	if k < len(p.Changes) {
		to = p.Changes[k]
	}
	s.ShownSum += float64(to - from)
}

// Freshness returns the expected share of pages whose latest capture is their current version.
func (s Score) Freshness() float64 { return 1 - s.Stale/max(1, s.Life) }

// Age returns the mean age of the latest captures; 0 for one that is current.
func (s Score) Age() time.Duration {
	return time.Duration(s.AgeSum / max(1, s.Life) * float64(time.Second))
}

// Harmonic returns the mean harmonic penalty.
func (s Score) Harmonic() float64 { return s.HarmonicSum / max(1, s.Life) }

// Coherence returns what share of a site's pages the archive shows as they were, for a random moment: those whose
// version of that moment was captured at all.
func (s Score) Coherence() float64 { return s.ShownSum / max(1, s.Life) }

// Blur returns the mean number of changes between a capture and the page as it is.
func (s Score) Blur() float64 { return s.BlurSum / max(1, s.Life) }

// Share returns the share of versions captured.
func (s Score) Share() float64 { return float64(s.Captured) / float64(max(1, s.Versions)) }

// Price returns requests per captured version.
func (s Score) Price() float64 { return float64(s.Requests) / float64(max(1, s.Captured)) }

// Lag returns the mean time from the birth of a captured version to its capture.
func (s Score) Lag() time.Duration {
	return time.Duration(s.LagSum / float64(max(1, s.Captured)) * float64(time.Second))
}

// Result is what Run found.
type Result struct {
	Scores  []Score // by budget, policy, site
	Classes []Score // the same summed by class; Site is empty
	Totals  []Score // the same summed over all; Site and Class are empty
}

// Run simulates every policy on every site at every budget.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	names := o.Policies
	if len(names) == 0 {
		names = Policies()
	}
	entries := make([]entry, len(names))
	for i, name := range names {
		entries[i], _ = find(name) // as validated
	}
	var jobs []job
	for bi := range o.Budgets {
		for pi := range entries {
			for si := range o.Sites {
				jobs = append(jobs, job{bi, pi, si})
			}
		}
	}
	scores := make([]Score, len(jobs))
	order := make([]int, len(jobs)) // the largest sites first, so that none is waited for at the end
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(o.Sites[jobs[b].site].Versions(), o.Sites[jobs[a].site].Versions())
	})
	var next int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range min(o.Workers, len(jobs)) {
		wg.Go(func() {
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if n >= len(order) || ctx.Err() != nil {
					return
				}
				j := jobs[order[n]]
				scores[order[n]] = o.Kept.score(&o, &o.Sites[j.site], entries[j.policy], o.Budgets[j.budget])
			}
		})
	}
	wg.Wait()
	if err := cmp.Or(ctx.Err(), o.Kept.failed()); err != nil {
		return Result{}, err
	}
	r := Result{Scores: scores}
	r.Classes = sum(scores, func(s Score) Score { return Score{Class: s.Class, Policy: s.Policy, Budget: s.Budget} })
	r.Totals = sum(scores, func(s Score) Score { return Score{Policy: s.Policy, Budget: s.Budget} })
	return r, nil
}

type job struct{ budget, policy, site int }

// sum adds scores up by what key leaves of them, in order of first appearance.
func sum(scores []Score, key func(Score) Score) []Score {
	var sums []Score
	for _, s := range scores {
		k := key(s)
		i := slices.IndexFunc(sums, func(t Score) bool {
			return t.Class == k.Class && t.Policy == k.Policy &&
				t.Budget == k.Budget
		})
		if i < 0 {
			i = len(sums)
			sums = append(sums, k)
		}
		t := &sums[i]
		t.Versions += s.Versions
		t.Requests += s.Requests
		t.Captured += s.Captured
		t.LagSum += s.LagSum
		t.Life += s.Life
		t.Stale += s.Stale
		t.AgeSum += s.AgeSum
		t.HarmonicSum += s.HarmonicSum
		t.BlurSum += s.BlurSum
		t.ShownSum += s.ShownSum
	}
	return sums
}

// visit is what a policy sees of one request.
type visit struct {
	page    int
	at      float64 // seconds
	gap     float64 // since the visit before, 0 at the first
	changed bool
	age     float64 // time since the latest change, as a truthful Last-Modified would tell
	gone    bool    // the page is no longer there: it will not be asked for again
}

// policy decides, after each visit, how long the page may wait, in seconds.
type policy interface {
	next(v visit) float64
}

// follower is a policy that may bring forward the visit of another page once it has judged one: due is when each page
// is due, below zero if it is not known or not asked for any more, last when it was visited.
type follower interface {
	follow(v visit, last, due []float64) (page int, ok bool)
}

// retimer is a policy that may have all pages due at other times, once it has judged a visit; it says whether it did.
// Pages that are due below zero are not known, or not asked for any more.
type retimer interface {
	retime(now float64, due []float64) bool
}

// world is what a policy may know beside its visits.
type world struct {
	site   *Site
	others []Site // all sites, of which a policy may know the archives
	rnd    *rand.Rand
	budget float64 // requests per page and second
	alive  int     // pages found and not known to be gone

	signals Signals
	spare   float64 // requests per second for known pages; 0: what the budget allows, all of which is used
}

// capacity returns the requests per second that the site's budget allows now.
func (w *world) capacity() float64 { return w.budget * float64(w.alive) }

// waiting is the queue of known pages by the time they are due.
type waiting struct {
	due  []float64 // by page
	at   []int32   // by page: where it is in heap
	heap []int32
}

func (q *waiting) Len() int           { return len(q.heap) }
func (q *waiting) Less(i, j int) bool { return q.due[q.heap[i]] < q.due[q.heap[j]] }
func (q *waiting) Swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	q.at[q.heap[i]], q.at[q.heap[j]] = int32(i), int32(j)
}
func (q *waiting) Push(x any) {
	q.at[x.(int32)] = int32(len(q.heap))
	q.heap = append(q.heap, x.(int32))
}
func (q *waiting) Pop() any {
	last := q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	return last
}

// simulate replays one site. The budget fills by budget·(living pages) a second; each whole request that is there is
// made.
func simulate(o *Options, site *Site, e entry, budget float64) Score {
	score := Score{Site: site.Name, Class: site.Class, Policy: e.name, Budget: budget, Versions: site.Versions()}
	life := site.Life()
	score.Life = float64(life)
	if life == 0 || score.Versions == 0 {
		return score
	}
	w := &world{site: site, others: o.Sites, signals: o.Signals, rnd: rand.New(rand.NewPCG(o.Seed, 7)),
		budget: budget * float64(score.Versions) / float64(life)}
	if e.oracle != nil {
		e.oracle(site, budget*float64(score.Versions), &score)
		return score
	}
	p := e.make(w, e.chosen)
	n := len(site.Pages)
	births := make([]int32, n) // in order of time
	ends := make([]int32, n)
	for i := range n {
		births[i], ends[i] = int32(i), int32(i)
	}
	slices.SortStableFunc(births, func(a, b int32) int { return cmp.Compare(site.Pages[a].Born, site.Pages[b].Born) })
	slices.SortStableFunc(ends, func(a, b int32) int { return cmp.Compare(site.Pages[a].End, site.Pages[b].End) })
	q := &waiting{due: make([]float64, n), at: make([]int32, n)}
	for i := range q.due {
		q.due[i] = -1
	}
	last := make([]float64, n) // latest visit
	seen := make([]int32, n)   // changes before it
	over := make([]bool, n)    // observation has ended

	listens, _ := p.(listener)
	var signals []signal
	if listens != nil {
		signals = o.Signals.of(site, rand.New(rand.NewPCG(o.Seed, 8)))
	}
	living := 0 // truly; the policy knows only what it saw
	now, credit, ready := float64(site.Pages[births[0]].Born), 0.0, math.Inf(-1)
	spacing := o.Spacing.Seconds()
	for b, d := 0, 0; ; {
		// The next thing to happen: a page is born, one's life or observation ends, or the budget reaches one request.
		request := math.Inf(1)
		if living > 0 {
			request = max(now+(1-credit)/(w.budget*float64(living)), ready)
		}
		birth, end, told := math.Inf(1), math.Inf(1), math.Inf(1)
		if len(signals) > 0 {
			told = signals[0].at
		}
		if b < n {
			birth = float64(site.Pages[births[b]].Born)
		}
		if d < n {
			end = float64(site.Pages[ends[d]].End)
		}
		at := min(request, birth, end, told)
		if math.IsInf(at, 1) {
			break
		}
		credit += (at - now) * w.budget * float64(living)
		now = at
		switch at {
		case birth:
			page := births[b]
			b++
			living++
			w.alive++
			last[page] = now
			q.due[page] = now + p.next(visit{page: int(page), at: now})
			heap.Push(q, page)
		case end:
			page := ends[d]
			d++
			living--
			score.missed(site.Pages[page].Changes[seen[page]:], now)
			score.shown(&site.Pages[page], int(seen[page]))
			if !site.Pages[page].Deleted { // the observation ends here, no visit is wasted on it
				over[page], q.due[page] = true, math.Inf(-1) // first in the queue, to be taken out of it
				heap.Fix(q, int(q.at[page]))
				w.alive--
			}
		case told:
			page := signals[0].page
			signals = signals[1:]
			if q.due[page] > now {
				q.due[page] = max(now, listens.signalled(int(page), last[page], q.due[page]))
				heap.Fix(q, int(q.at[page]))
			}
		default:
			for q.Len() > 0 && over[q.heap[0]] {
				heap.Pop(q)
			}
			credit--
			score.Requests++
			ready = now + spacing
			if q.Len() == 0 {
				continue
			}
			page := q.heap[0]
			h := &site.Pages[page]
			v := visit{page: int(page), at: now, gap: now - last[page]}
			first := int(seen[page])
			k := first
			for k < len(h.Changes) && float64(h.Changes[k]) <= now {
				k++
			}
			v.changed = k > first
			latest := float64(h.Born)
			if k > 0 {
				latest = float64(h.Changes[k-1])
			}
			v.age = now - latest
			v.gone = h.Deleted && k == len(h.Changes)
			if v.changed {
				score.Captured++
				score.LagSum += v.age
				if now < float64(h.End) {
					score.shown(h, first)
				}
				if now < float64(h.End) { // what came later was counted at its end
					score.missed(h.Changes[first:k], now)
				}
			}
			seen[page], last[page] = int32(k), now
			if v.gone {
				w.alive--
			}
			t := p.next(v)
			if v.gone {
				heap.Pop(q)
				q.due[page] = -1
			} else {
				q.due[page] = now + max(t, 1)
				heap.Fix(q, 0)
			}
			if r, ok := p.(retimer); ok && r.retime(now, q.due) {
				heap.Init(q)
			}
			if f, ok := p.(follower); ok {
				if page, ok := f.follow(v, last, q.due); ok {
					q.due[page] = now
					heap.Fix(q, int(q.at[page]))
				}
			}
		}
	}
	return score
}
