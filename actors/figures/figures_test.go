package figures

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"henro/actors/politeness"
	"henro/actors/revisit"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func options() Options {
	return Options{Now: now, Politeness: politeness.DefaultOptions(), Revisit: revisit.DefaultOptions(),
		Relief: politeness.Optimal, Continuous: true}
}

// host makes a host of so many pages that change every mean and are visited as often, and answers in took.
func host(name string, pages int, mean, took time.Duration) Host {
	var s politeness.State
	o := politeness.DefaultOptions()
	s.Observe(&o, politeness.Visit{Took: took}, now.Add(-time.Hour))
	for range pages {
		s.Timetable.AddPage(mean)
		s.Timetable.Rates().Add(mean)
	}
	return Host{Name: name, State: &s}
}

// crawl is shown in any order.
func crawl() (pages []Page, hosts []Host) {
	visited := func(interval, total, stable float64, ago, next time.Duration) Page {
		return Page{
			Timing:    revisit.History{Interval: float32(interval), Total: float32(total), Stable: float32(stable)},
			LastVisit: now.Add(-ago), Next: now.Add(next),
		}
	}
	for range 10 {
		pages = append(pages, visited(2*day, 10*day, 5*day, 24*time.Hour, 24*time.Hour),
			visited(2*day, 10*day, 0, 24*time.Hour, 24*time.Hour))
	}
	for range 5 {
		pages = append(pages, visited(350*day, 700*day, 700*day, 2*time.Hour, -time.Hour))
	}
	pages = append(pages, visited(3*day, 0, 0, time.Hour, time.Hour), Page{LastVisit: now})
	for i := range 20 {
		hosts = append(hosts, host(fmt.Sprintf("http://h%d", i), 10, 10*24*time.Hour,
			time.Duration(i+1)*100*time.Millisecond))
	}
	hosts = append(hosts, host("http://<script>alert(1)</script>", 5000, time.Hour, time.Second),
		host("http://slow", 100, time.Hour, 20*time.Second))
	return pages, hosts
}

func collect(o Options, rnd *rand.Rand) *Report {
	pages, hosts := crawl()
	c := New(o)
	for _, i := range rnd.Perm(len(pages)) {
		c.Page(pages[i])
	}
	for _, i := range rnd.Perm(len(hosts)) {
		c.Host(hosts[i])
	}
	return c.Report()
}

func TestNumbersOfASmallCrawl(t *testing.T) {
	r := collect(options(), rand.New(rand.NewPCG(1, 2)))
	if r.Pages.Visited != 27 || r.Pages.Timed != 25 || r.Pages.Once != 1 || r.Pages.Resting != 1 || r.Pages.Late != 5 {
		t.Errorf("pages %+v", r.Pages)
	}
	found := 0
	for _, b := range r.Intervals {
		switch {
		case b.From <= 2*day && 2*day < b.To:
			if b.Pages != 20 || math.Abs(b.Mean-0.75) > 1e-6 || math.Abs(b.SD-0.25) > 1e-6 {
				t.Errorf("two days: %+v", b)
			}
			found++
		case b.From <= 350*day && 350*day < b.To:
			if b.Pages != 5 || b.Mean != 0 {
				t.Errorf("350 days: %+v", b)
			}
			found++
		case b.Pages > 0:
			t.Errorf("nobody is there: %+v", b)
		}
	}
	if found != 2 {
		t.Errorf("bins %+v", r.Intervals)
	}
	if r.Verdicts[politeness.Feasible].Hosts != 20 || r.Verdicts[politeness.Overloaded].Hosts != 2 {
		t.Errorf("verdicts %+v", r.Verdicts)
	}
	// h0 has 1/L of a day; the host of 5,000 hourly pages 0.72 s, and that is below its fetches of a second.
	if Below(r.Access, 60) != 2 || Below(r.Access, 1) != 1 || Below(r.Access, day*1.1) != 22 {
		t.Errorf("1/L %+v", r.Access)
	}
	if n := Below(r.Ratios, 1.85); n != 2 {
		t.Errorf("R below 2: %d of %+v", n, r.Ratios)
	}
	if m := Median(r.Fetches); m < 1 || m > 1.2 {
		t.Errorf("median fetch %v", m)
	}
	if len(r.Worst) != 2 || !strings.Contains(r.Worst[0].Host, "script") || r.Worst[0].With > r.Worst[0].Without {
		t.Errorf("worst %+v", r.Worst)
	}
	if c := r.Relief; c.Hosts != 2 || c.Captured[2] < c.Captured[0]*(1-1e-9) ||
		c.Captured[2] < c.Captured[1]*(1-1e-9) || c.Captured[2] > c.Asked {
		t.Errorf("relief %+v", c)
	}
}

// Invariant: the order in which pages and hosts are shown does not matter.
func TestOrderDoesNotMatter(t *testing.T) {
	first := collect(options(), rand.New(rand.NewPCG(1, 2)))
	second := collect(options(), rand.New(rand.NewPCG(3, 4)))
	for _, r := range []*Report{first, second} { // sums of floats differ in the last bits
		r.Load, r.Relief, r.Verdicts, r.Occupied = 0, ReliefCost{}, [politeness.Verdicts]VerdictRow{}, Occupied{}
		for i := range r.Intervals {
			r.Intervals[i].Mean, r.Intervals[i].SD = float64(float32(r.Intervals[i].Mean)),
				float64(float32(r.Intervals[i].SD))
		}
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("%+v\n%+v", first, second)
	}
}

// Invariant: memory does not grow with the hosts.
func TestTheListOfTheWorstIsBounded(t *testing.T) {
	o := options()
	o.Worst = 3
	c := New(o)
	for i := range 50 {
		c.Host(host(fmt.Sprintf("http://h%02d", i), 1000+i*37%50, time.Hour, time.Second))
	}
	r := c.Report()
	if len(r.Worst) != 3 || r.Worst[0].Pages != 1049 || r.Worst[1].Pages != 1048 || r.Worst[2].Pages != 1047 {
		t.Errorf("%+v", r.Worst)
	}
}

// The page needs nothing from anywhere, is what its numbers are, and takes no host's word for markup; so for a crawl of
// nothing.
func TestThePageStandsAlone(t *testing.T) {
	ends := options()
	ends.Continuous = false
	for name, r := range map[string]*Report{
		"full":              collect(options(), rand.New(rand.NewPCG(1, 2))),
		"a crawl that ends": collect(ends, rand.New(rand.NewPCG(1, 2))), "empty": New(options()).Report(),
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := r.WriteHTML(&b, "my <crawl>"); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			for _, bad := range []string{"<script", "<link", "src=", "@import", "url(", "NaN", "Inf", "my <crawl>",
				"ZgotmplZ"} {
				if strings.Contains(text, bad) {
					t.Errorf("%s in the page", bad)
				}
			}
			if n := strings.Count(text, "<svg"); n != 6 {
				t.Errorf("%d figures", n)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
			for _, f := range r.Figures(false) {
				var svg, table bytes.Buffer
				if err := errors.Join(f.Chart.WriteSVG(&svg), f.Chart.WriteCSV(&table)); err != nil {
					t.Fatal(err)
				}
				for d := xml.NewDecoder(&svg); ; {
					if _, err := d.Token(); err == io.EOF {
						break
					} else if err != nil {
						t.Fatal(err)
					}
				}
				if _, err := csv.NewReader(&table).ReadAll(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestSpan(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0 s", 0.0123: "12.3 ms", 1: "1 s", 90: "90 s", 150: "2.5 minutes",
		7200: "2 hours", 20 * day: "20 days", 800 * day: "2.19 years"} {
		if got := Span(seconds); got != want {
			t.Errorf("%v: %q, want %q", seconds, got, want)
		}
	}
}

func BenchmarkCollector(b *testing.B) {
	pages, _ := crawl()
	c := New(options())
	for i := 0; b.Loop(); i++ {
		c.Page(pages[i%len(pages)])
	}
}

// Figure 7 is R of equation (11): by the longest time of a fetch of late, not by the mean.
func TestFigure7IsByTheLongestFetch(t *testing.T) {
	h := host("http://h", 10, 100*time.Second, 2*time.Second)
	o := politeness.DefaultOptions()
	h.State.Observe(&o, politeness.Visit{Took: time.Second}, now.Add(-time.Minute))
	_, mean, worst := h.State.Took()
	if mean == worst {
		t.Fatalf("all fetches took %v", mean)
	}
	c := New(options())
	c.Host(h)
	want := 10 / worst.Seconds() // 1/L is ten seconds
	if points := c.Report().Ratios; len(points) != 1 || points[0].Value < want || points[0].Value > want*1.04 {
		t.Errorf("figure 7 has %v, want a point at R = %.3g", points, want)
	}
}

// BenchmarkHosts is the cost of a host of a crawl of 100,000.
func BenchmarkHosts(b *testing.B) {
	some := make([]Host, 100)
	for i := range some {
		some[i] = host("", 10+i, time.Duration(1+i)*24*time.Hour, time.Second)
	}
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprintf("http://h%d", i)
	}
	for b.Loop() {
		c := New(options())
		for i, name := range names {
			h := some[i%len(some)]
			h.Name = name
			c.Host(h)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(names)), "ns/host")
}
