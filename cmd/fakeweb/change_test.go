package fakeweb

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const day = 24 * time.Hour

// changing is a web whose pages all change at one known rate.
func changing(t testing.TB, pages int, mean time.Duration) *Web {
	return newWeb(t, Options{Seed: 3, Pages: pages, Changes: Changes{Share: 1, Fastest: mean, Slowest: mean}})
}

func TestChangesArePoisson(t *testing.T) {
	const pages = 2000
	for name, c := range map[string]struct {
		mean   time.Duration // between changes
		from   time.Duration // after the epoch
		window time.Duration
	}{
		"an hour's rate over a day":               {time.Hour, 0, day},
		"an hour's rate ten years on":             {time.Hour, 3653 * day, day},
		"a day's rate across the end of an era":   {day, 824 * day, 20 * day},
		"a hundred days' rate over four hundred":  {100 * day, 100 * day, 400 * day},
		"a second's rate over a minute":           {time.Second, 26 * 365 * day, time.Minute},
		"a day's rate over ten minutes":           {day, 5 * day, 10 * time.Minute},
		"a minute's rate before the epoch":        {time.Minute, -30 * day, time.Hour},
		"a day's rate over whole eras and more":   {day, -400 * day, 2500 * day},
		"two hundred days' rate over seven years": {200 * day, 10 * day, 2500 * day},
	} {
		t.Run(name, func(t *testing.T) {
			w := changing(t, pages, c.mean)
			from, to := epoch.Add(c.from), epoch.Add(c.from+c.window)
			middle := from.Add(c.window / 2)
			mean := c.window.Seconds() / c.mean.Seconds()
			var sum, squares, product float64
			for n := range pages {
				url := w.PageURL(0, n, 0)
				all, err := w.ChangeCount(url, from, to)
				if err != nil {
					t.Fatal(err)
				}
				half, _ := w.ChangeCount(url, from, middle)
				sum += float64(all)
				squares += (float64(all) - mean) * (float64(all) - mean)
				product += (float64(half) - mean/2) * (float64(all-half) - mean/2)
			}
			// Four standard errors of the mean, of the variance (whose own variance is μ+2μ² over n), and of the
			// covariance of the halves.
			if got, err := sum/pages, 4*math.Sqrt(mean/pages); math.Abs(got-mean) > err {
				t.Errorf("mean count %.4f, want %.4f ± %.4f", got, mean, err)
			}
			if got, err := squares/pages, 4*math.Sqrt((mean+2*mean*mean)/pages); math.Abs(got-mean) > err {
				t.Errorf("variance %.4f, want %.4f ± %.4f", got, mean, err)
			}
			if got, err := product/pages, 4*mean/2/math.Sqrt(pages); math.Abs(got) > err {
				t.Errorf("covariance of the halves %.4f, want 0 ± %.4f", got, err)
			}
		})
	}
}

func TestTimesBetweenChangesAreExponential(t *testing.T) {
	for _, mean := range []time.Duration{time.Minute, 7 * time.Hour, 30 * day} {
		w := changing(t, 200, mean)
		var gaps []float64
		for n := range 200 {
			list, err := w.Changes(w.PageURL(0, n, 0), epoch, epoch.Add(100*mean))
			if err != nil {
				t.Fatal(err)
			}
			for i := 1; i < len(list); i++ {
				gaps = append(gaps, list[i].Sub(list[i-1]).Seconds()/mean.Seconds())
			}
		}
		// Kolmogorov and Smirnov: the largest distance between the two distributions, at the 0.1 % level. Gaps are cut
		// at the end of the window, a hundred of them long, which moves the distribution by less than a hundredth of
		// that.
		slices.Sort(gaps)
		worst := 0.0
		for i, g := range gaps {
			f := 1 - math.Exp(-g)
			worst = max(worst, math.Abs(f-float64(i)/float64(len(gaps))), math.Abs(f-float64(i+1)/float64(len(gaps))))
		}
		if limit := 1.95 / math.Sqrt(float64(len(gaps))); worst > limit {
			t.Errorf("mean %v: distance %.4f from the exponential distribution, limit %.4f for %d gaps", mean, worst,
				limit, len(gaps))
		}
	}
}

func TestEveryViewOfTheChangesAgrees(t *testing.T) {
	w := newWeb(t, Options{Pages: 300, Changes: Changes{Share: 0.7, Fastest: 10 * time.Second, Slowest: 300 * day}})
	h := w.Host(0)
	r := random(1)
	still := 0
	for n := range h.Pages {
		pr, url := w.changes(&h, n), w.PageURL(0, n, 0)
		if pr.rate == 0 {
			still++
		}
		mean := 1 / max(pr.rate, 1e-16)
		for range 20 {
			from := epoch.Add(time.Duration(float64(9000*day) * (r.unit() - 0.3)))
			if r.next()&3 == 0 {
				from = instant(int64(r.below(5)-2), int64(r.below(1000))-500) // about the end of an era
			}
			to := from.Add(time.Duration(min(20*mean*r.unit(), float64(1000*day))))
			list, err := w.Changes(url, from, to)
			if err != nil {
				t.Fatal(err)
			}
			count, _ := w.ChangeCount(url, from, to)
			if len(list) != count || !slices.IsSortedFunc(list, time.Time.Compare) {
				t.Fatalf("page %d: %d changes listed, %d counted", n, len(list), count)
			}
			if count > 0 && (!list[0].After(from) || list[count-1].After(to)) {
				t.Fatalf("page %d: changes from %v to %v outside of %v to %v", n, list[0], list[count-1], from, to)
			}
			before, after := pr.version(from), pr.version(to)
			if (before != after) != (count > 0) || after < before && before>>32 <= after>>32 {
				t.Fatalf("page %d: version %x before and %x after %d changes", n, before, after, count)
			}
			if last := pr.last(to); count > 0 && !last.Equal(list[count-1]) || count == 0 && pr.last(from) != last {
				t.Fatalf("page %d: last change %v, list %v", n, last, list)
			}
			for _, at := range list[:min(count, 5)] {
				if pr.version(at) == pr.version(at.Add(-1)) {
					t.Fatalf("page %d: no other version at %v", n, at)
				}
			}
		}
	}
	if still < 60 || still > 120 {
		t.Errorf("%d of 300 pages never change, want 90", still)
	}
}

func TestRatesAreSpreadEvenlyOnTheLogarithm(t *testing.T) {
	w := newWeb(t, Options{Pages: 5000, Changes: Changes{Share: 1, Fastest: time.Hour, Slowest: 10000 * time.Hour}})
	h := w.Host(0)
	counts := [4]int{}
	for n := range h.Pages {
		pr := w.changes(&h, n)
		counts[int(math.Log10(1/pr.rate/float64(time.Hour)))]++
		p, err := w.Page(w.PageURL(0, n, 0), epoch)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(p.Rate*1e-9/pr.rate-1) > 1e-12 {
			t.Fatal(p.Rate, pr.rate)
		}
	}
	for i, c := range counts {
		if c < 1250-125 || c > 1250+125 {
			t.Errorf("%d pages change every 10^%d hours or so, want 1250", c, i)
		}
	}
}

func TestDrawsHaveTheirDistributions(t *testing.T) {
	const n = 20000
	r := random(9)
	moments := func(draw func() int) (mean, variance float64) {
		var sum, squares float64
		for range n {
			x := float64(draw())
			sum += x
			squares += x * x
		}
		mean = sum / n
		return mean, squares/n - mean*mean
	}
	for _, mean := range []float64{0.01, 0.7, 3, 42.5, 999, 2e4} {
		m, v := moments(func() int { return r.poisson(mean) })
		if math.Abs(m-mean) > 4*math.Sqrt(mean/n) || math.Abs(v-mean) > 4*math.Sqrt((mean+2*mean*mean)/n) {
			t.Errorf("poisson %g: mean %g, variance %g", mean, m, v)
		}
	}
	for _, coins := range []int{1, 9, 64, 1000, 1 << 14, 1<<14 + 1, 1e6} {
		want, spread := float64(coins)/2, float64(coins)/4
		m, v := moments(func() int { return r.half(coins) })
		if math.Abs(m-want) > 4*math.Sqrt(spread/n) || math.Abs(v/spread-1) > 4*math.Sqrt(2.0/n) {
			t.Errorf("half of %d: mean %g, variance %g", coins, m, v)
		}
	}
	zero, big := 0, 0
	for range n {
		switch x := r.poisson(0.7); {
		case x == 0:
			zero++
		case x > 4:
			big++
		}
	}
	if p := float64(zero) / n; math.Abs(p-math.Exp(-0.7)) > 0.015 {
		t.Errorf("poisson 0.7 is 0 with probability %g", p)
	}
	if p := float64(big) / n; math.Abs(p-0.000786) > 0.0008 {
		t.Errorf("poisson 0.7 is above 4 with probability %g", p)
	}
}

// paragraphs cuts the text of a page out of it.
func paragraphs(page []byte) [][]byte {
	var list [][]byte
	for line := range bytes.SplitSeq(page, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("<p>")) {
			list = append(list, line)
		}
	}
	return list
}

func TestChangesReplaceTextAndTrivialOnesDoNot(t *testing.T) {
	w := newWeb(t, Options{Hosts: 2, Pages: 200, PageBytes: 6000,
		Changes: Changes{Share: 1, Fastest: day, Slowest: day},
		Shape:   func(h *Host) { h.Trivial = h.Index == 1 }})
	for i := range 2 {
		h := w.Host(i)
		least := 1.0
		for n := range h.Pages {
			pr := w.changes(&h, n)
			list := pr.list(epoch, epoch.Add(10*day))
			if len(list) == 0 {
				continue
			}
			at := list[len(list)/2]
			text := func(at time.Time) [][]byte {
				return paragraphs(w.page(nil, &h, n, pr.version(at), origin{scheme: "http"}, at))
			}
			before, after := text(at.Add(-1)), text(at)
			same := 0
			for k := range min(len(before), len(after)) {
				if bytes.Equal(before[k], after[k]) {
					same++
				}
			}
			least = min(least, 1-float64(same)/float64(max(len(before), len(after))))
			// An hour later, unless the page changed within it: other bytes on the trivial host, the same text on both.
			later := at.Add(time.Hour)
			if pr.count(at, later) > 0 {
				continue
			}
			a := w.page(nil, &h, n, pr.version(at), origin{scheme: "http"}, at)
			b := w.page(nil, &h, n, pr.version(later), origin{scheme: "http"}, later)
			if bytes.Equal(a, b) != (i == 0) {
				t.Fatalf("page %d of host %d: the same bytes an hour later: %v", n, i, bytes.Equal(a, b))
			}
			if slices.CompareFunc(paragraphs(a), paragraphs(b), bytes.Compare) != 0 {
				t.Fatalf("page %d of host %d: another text without a change", n, i)
			}
		}
		if least < 0.25 {
			t.Errorf("host %d: a change replaced only %.0f %% of the paragraphs", i, 100*least)
		}
	}
}

// A crawler that looks every hour for 100 days sees what the truth says, and an estimate of the rate from what it sees
// is right.
func TestACrawlerSeesTheRatesThatThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, Options{Pages: 4, LogEntries: -1, Changes: Changes{Share: 1, Fastest: 6 * time.Hour,
			Slowest: 5 * day}})
		c := client(t, w)
		began := time.Now()
		bodies, seen := make([][]byte, 4), make([]int, 4)
		const visits = 100 * 24
		for range visits {
			for n := range 4 {
				_, body := get(t, c, w.PageURL(0, n, 0))
				if bodies[n] != nil && !bytes.Equal(body, bodies[n]) {
					seen[n]++
				}
				bodies[n] = body
			}
			time.Sleep(time.Hour)
		}
		for n := range 4 {
			list, err := w.Changes(w.PageURL(0, n, 0), began, began.Add((visits-1)*time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			hours := map[int64]bool{}
			for _, at := range list {
				hours[(at.Sub(began).Nanoseconds()-1)/int64(time.Hour)] = true
			}
			if len(hours) != seen[n] {
				t.Errorf("page %d: changed in %d hours, seen in %d", n, len(hours), seen[n])
			}
			p, err := w.Page(w.PageURL(0, n, 0), began)
			if err != nil {
				t.Fatal(err)
			}
			// The maximum of the likelihood for regular visits: λ = −ln(1 − seen/visits) an hour.
			estimate := -math.Log1p(-float64(seen[n])/visits) / 3600
			if within := 4 / math.Sqrt(float64(seen[n])); math.Abs(estimate/p.Rate-1) > within {
				t.Errorf("page %d: rate %g estimated, %g true, ± %.0f %%", n, estimate, p.Rate, 100*within)
			}
		}
	})
}
