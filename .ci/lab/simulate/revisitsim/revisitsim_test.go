package revisitsim

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var table = flag.Bool("table", false,
	"simulate all policies on the large histories too, and write the table to standard output")

func histories(t testing.TB, path, classes string) []Site {
	t.Helper()
	var byName map[string]string
	if classes != "" {
		f, err := os.Open(classes)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if byName, err = ReadClasses(f); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	sites, err := ReadTraces(z, byName)
	if err != nil {
		t.Fatal(err)
	}
	return sites
}

func run(t testing.TB, sites []Site, budgets []float64, policies ...string) Result {
	t.Helper()
	o := DefaultOptions()
	o.Sites, o.Policies, o.Budgets = sites, policies, budgets
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func scoreOf(scores []Score, policy string, budget float64, class string) Score {
	for _, s := range scores {
		if s.Policy == policy && s.Budget == budget && s.Class == class {
			return s
		}
	}
	return Score{}
}

// At equal numbers of requests the default timetable with the optimal relief captures more than the rules of other
// crawlers, more than with the other reliefs, and at least 85 % of what the oracle captures that knows all rates.
func TestAheadOnRealHistories(t *testing.T) {
	budgets := []float64{0.5, 1, 2}
	r := run(t, histories(t, "testdata/pages.tsv.gz", ""), budgets, "nutch", "stormcrawler", "drift+stretch",
		"drift+delay", "drift+optimal", "oracle-rates")
	for _, b := range budgets {
		ours := scoreOf(r.Totals, "drift+optimal", b, "")
		for _, other := range []string{"nutch", "stormcrawler", "drift+stretch", "drift+delay"} {
			s := scoreOf(r.Totals, other, b, "")
			if ours.Captured <= s.Captured || ours.Requests > s.Requests {
				t.Errorf("budget %v: %d captured with %d requests, %s %d with %d", b, ours.Captured, ours.Requests,
					other, s.Captured, s.Requests)
			}
		}
		if oracle := scoreOf(r.Totals, "oracle-rates", b, ""); float64(ours.Captured) < 0.85*float64(oracle.Captured) {
			t.Errorf("budget %v: %d captured, the oracle %d", b, ours.Captured, oracle.Captured)
		}
	}
}

// The same on all 23 sites, for every class of sites, when the large histories are there.
func TestAheadOnEveryClass(t *testing.T) {
	dir := os.Getenv("HENRO_DATA")
	if dir == "" {
		return
	}
	sites := histories(t, filepath.Join(dir, "traces/pages.tsv.gz"), filepath.Join(dir, "traces/sites.tsv"))
	if *table {
		r := run(t, sites, []float64{0.25, 0.5, 1, 2, 4})
		if err := r.WriteCSV(os.Stdout); err != nil {
			t.Fatal(err)
		}
		return
	}
	r := run(t, sites, []float64{1}, "nutch", "stormcrawler", "drift+optimal", "oracle-rates")
	for _, ours := range r.Classes {
		if ours.Policy != "drift+optimal" {
			continue
		}
		for _, other := range []string{"nutch", "stormcrawler"} {
			if s := scoreOf(r.Classes, other, 1, ours.Class); ours.Captured <= s.Captured {
				t.Errorf("%s: %d captured, %s %d", ours.Class, ours.Captured, other, s.Captured)
			}
		}
	}
	ours, oracle := scoreOf(r.Totals, "drift+optimal", 1, ""), scoreOf(r.Totals, "oracle-rates", 1, "")
	if float64(ours.Captured) < 0.85*float64(oracle.Captured) {
		t.Errorf("%d captured, the oracle %d", ours.Captured, oracle.Captured)
	}
}

// On the pages that the theory is about, learning the rates costs no more than 10 % of what knowing them would capture.
func TestPoissonPages(t *testing.T) {
	site := Poisson("poisson", 200, 600*86400, 86400, 100*86400, rand.New(rand.NewPCG(1, 2)))
	r := run(t, []Site{site}, []float64{0.5, 1, 2}, "drift+optimal", "oracle-rates")
	for _, oracle := range r.Totals {
		if oracle.Policy != "oracle-rates" {
			continue
		}
		ours := scoreOf(r.Totals, "drift+optimal", oracle.Budget, "")
		if float64(ours.Captured) < 0.90*float64(oracle.Captured) {
			t.Errorf("budget %v: %d captured, the oracle %d", oracle.Budget, ours.Captured, oracle.Captured)
		}
		x := 1 / oracle.Budget // Σ λ(1 − e^(−x))/x
		want := (1 - math.Exp(-x)) / x * float64(oracle.Versions)
		if math.Abs(float64(oracle.Captured)-want) > 0.03*want {
			t.Errorf("budget %v: the oracle captured %d, expected %.0f", oracle.Budget, oracle.Captured, want)
		}
	}
}

// Invariants: every policy makes the same number of requests; the same seed gives the same result.
func TestRunsAreFairAndRepeatable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	sites := []Site{Poisson("a", 20, 60*86400, 3600*4, 30*86400, rnd),
		Poisson("b", 5, 300*86400, 86400, 300*86400, rnd)}
	sites[1].Pages[0].Born, sites[1].Pages[0].Changes = 200*86400, []int64{201 * 86400, 300 * 86400}
	sites[1].Pages[0].Deleted = true
	first := run(t, sites, []float64{0.3, 3})
	if again := run(t, sites, []float64{0.3, 3}); !reflect.DeepEqual(first, again) {
		t.Error("two runs differ")
	}
	for _, s := range first.Scores {
		want := first.Scores[0].Requests
		for _, other := range first.Scores {
			if other.Site == s.Site && other.Budget == s.Budget && !strings.HasPrefix(other.Policy, "oracle") {
				want = other.Requests
				break
			}
		}
		if s.Requests != want && !strings.HasPrefix(s.Policy, "oracle") || s.Requests > want+1 {
			t.Errorf("%s on %s at %v: %d requests, others %d", s.Policy, s.Site, s.Budget, s.Requests, want)
		}
		if s.Captured > s.Versions || s.Captured > s.Requests || s.LagSum < 0 {
			t.Errorf("impossible: %+v", s)
		}
	}
	var b bytes.Buffer
	if err := first.WriteCSV(&b); err != nil || strings.Count(b.String(),
		"\n") != 1+len(first.Scores)+len(first.Classes)+len(first.Totals) {
		t.Errorf("%v: %d lines", err, strings.Count(b.String(), "\n"))
	}
}

func TestHalvesPartPages(t *testing.T) {
	sites := []Site{Poisson("a", 400, 1000, 10, 100, rand.New(rand.NewPCG(7, 8))),
		{Name: "b", Pages: []Page{{Name: "only"}}}}
	seen := map[string]int{}
	for half := 1; half <= 2; half++ {
		pages := 0
		for _, s := range Half(sites, half) {
			if len(s.Pages) == 0 {
				t.Errorf("half %d: %s has no pages and is there", half, s.Name)
			}
			for _, p := range s.Pages {
				seen[s.Name+" "+p.Name]++
				pages++
			}
		}
		if pages < 160 || pages > 240 {
			t.Errorf("half %d has %d of 401 pages", half, pages)
		}
	}
	if len(seen) != 401 {
		t.Errorf("%d of 401 pages in both halves together", len(seen))
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%q is in %d halves", name, n)
		}
	}
}

// Following releases captures more where folders change together, and costs little where pages change each for itself.
func TestFollowingReleases(t *testing.T) {
	const year, folders, size = 365 * 86400, 40, 25
	rnd := rand.New(rand.NewPCG(9, 10))
	alone := Poisson("alone", folders*size, 4*year, year/4, 2*year, rnd)
	together := Poisson("together", folders, 4*year, year/4, 2*year, rnd)
	var pages []Page
	for f := range folders {
		release := together.Pages[f]
		for i := range size {
			alone.Pages[f*size+i].Name = fmt.Sprintf("%d/%d", f, i)
			release.Name = alone.Pages[f*size+i].Name
			pages = append(pages, release)
		}
	}
	together.Pages = pages
	for _, c := range []struct {
		site Site
		more float64
	}{{together, 1.05}, {alone, 0.99}} {
		r := run(t, []Site{c.site}, []float64{0.5, 1}, "drift+optimal", "drift+optimal+releases")
		for _, b := range []float64{0.5, 1} {
			without := scoreOf(r.Totals, "drift+optimal", b, "")
			with := scoreOf(r.Totals, "drift+optimal+releases", b, "")
			t.Logf("%s at %v: %d, following %d", c.site.Name, b, without.Captured, with.Captured)
			if float64(with.Captured) < c.more*float64(without.Captured) {
				t.Errorf("%s at %v: %d captured, %d when releases are followed", c.site.Name, b, without.Captured,
					with.Captured)
			}
		}
	}
}

func TestFolders(t *testing.T) {
	for name, want := range map[string]string{
		"a": "", "a/b": "a/", "a/b/": "a/", "a/b/index.html": "a/", "a/b/index": "a/", "a/b/c.html": "a/b/",
		"index.html": "", "a/index": "", "/": "", "": "",
	} {
		if got := folderOf(name); got != want {
			t.Errorf("%q is in %q, not in %q", name, got, want)
		}
	}
}

func TestReplay(t *testing.T) {
	p := Page{Born: 0, End: 100, Changes: []int64{10, 15, 60, 99}}
	for k, want := range map[int]int{1: 1, 2: 2, 4: 3, 10: 4, 100: 4} {
		var s Score
		if replay(&p, k, &s); s.Captured != want || s.LagSum < 0 {
			t.Errorf("%d visits: %+v", k, s)
		}
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 300 { // against visiting one by one
		p := Poisson("", 1, 1000, 5, 500, rnd).Pages[0]
		k := 1 + rnd.IntN(200)
		captured, next := 0, 0
		for i := 1; i <= k; i++ {
			first := next
			for next < len(p.Changes) && float64(p.Changes[next]) <= float64(p.End)*float64(i)/float64(k)+1e-6 {
				next++
			}
			if next > first {
				captured++
			}
		}
		var s Score
		if replay(&p, k, &s); s.Captured != captured {
			t.Errorf("%d visits capture %d, one by one %d: %v", k, s.Captured, captured, p.Changes)
		}
	}
}

func FuzzReadTraces(f *testing.F) {
	f.Add("#site\na\tp\t0\t10\tA\t1 2 3\na\tq\t5\t6\tD\t6\nb\tr\t0\t0\tA\t\n")
	f.Fuzz(func(t *testing.T, text string) {
		sites, err := ReadTraces(strings.NewReader(text), nil)
		if err != nil {
			return
		}
		for _, s := range sites {
			if s.Life() < 0 || s.Versions() < 0 {
				t.Fatalf("%+v", s)
			}
		}
	})
}
