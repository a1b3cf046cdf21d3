package revisitsim

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"henro/actors/revisit"
	"henro/store/fingerprint"
)

// Page is the history of one page, in unix seconds.
type Page struct {
	Name    string
	Born    int64
	End     int64           // of the observation, or of the page
	Deleted bool            // the last change is the page's end
	Changes []int64         // in order, after Born
	Archive []revisit.Visit // what an archive tells of it before Born: see SecondHalves
}

// Site is a host with its pages.
type Site struct {
	Name  string
	Class string // what kind of site it is; totals are given per class
	Pages []Page
}

// SecondHalves returns the sites from the middle of their time on. Before that an archive has captured each page every
// so often, at first when it was born; a page begins with its last capture there.
func SecondHalves(sites []Site, every time.Duration) []Site {
	step := max(1, int64(every/time.Second))
	all := make([]Site, len(sites))
	for i := range sites {
		all[i] = Site{Name: sites[i].Name, Class: sites[i].Class}
		middle := sites[i].middle()
		for _, p := range sites[i].Pages {
			if p.End <= middle {
				continue
			}
			for p.Born+step < middle {
				p.Born += step
				k, _ := slices.BinarySearch(p.Changes, p.Born+1)
				p.Archive = append(p.Archive, revisit.Visit{Gap: time.Duration(step) * time.Second, Changed: k > 0})
				p.Changes = p.Changes[k:]
			}
			all[i].Pages = append(all[i].Pages, p)
		}
	}
	return all
}

// FirstHalves returns the sites until the middle of their time.
func FirstHalves(sites []Site) []Site {
	all := make([]Site, len(sites))
	for i := range sites {
		all[i] = Site{Name: sites[i].Name, Class: sites[i].Class}
		middle := sites[i].middle()
		for _, p := range sites[i].Pages {
			if p.Born >= middle {
				continue
			}
			if p.End > middle {
				k, _ := slices.BinarySearch(p.Changes, middle+1)
				p.End, p.Deleted, p.Changes = middle, false, p.Changes[:k]
			}
			all[i].Pages = append(all[i].Pages, p)
		}
	}
	return all
}

// middle returns the middle of the time from the birth of a site's first page to the last thing known of it.
func (s *Site) middle() int64 {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, p := range s.Pages {
		first, last = min(first, p.Born), max(last, p.End)
	}
	return first + (last-first)/2
}

// Versions returns how many versions come into being after the first ones.
func (s *Site) Versions() int {
	n := 0
	for i := range s.Pages {
		n += len(s.Pages[i].Changes)
	}
	return n
}

// Life returns the sum of the pages' lives, in seconds.
func (s *Site) Life() int64 {
	var n int64
	for i := range s.Pages {
		n += s.Pages[i].End - s.Pages[i].Born
	}
	return n
}

// ReadTraces reads change histories: lines of site, page, birth, end, "A" (alive at the end) or "D" (deleted), and the
// times of changes separated by spaces; the fields separated by tabs, comments begin with "#". classes names the class
// of a site; sites that it does not know form a class of their own name.
func ReadTraces(r io.Reader, classes map[string]string) ([]Site, error) {
	var sites []Site
	index := map[string]int{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 16<<20)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 6 {
			return nil, fmt.Errorf("traces: line %d: %d fields instead of 6", n, len(f))
		}
		p := Page{Name: f[1], Deleted: f[4] == "D"}
		var err error
		number := func(word string) int64 {
			v, e := strconv.ParseInt(word, 10, 64)
			if e == nil && (v < 0 || v > 1<<40) {
				e = fmt.Errorf("time %d out of range", v)
			}
			if e != nil && err == nil {
				err = e
			}
			return v
		}
		p.Born, p.End = number(f[2]), number(f[3])
		if words := strings.Fields(f[5]); len(words) > 0 {
			p.Changes = make([]int64, len(words))
			for i, word := range words {
				p.Changes[i] = number(word)
			}
		}
		if err == nil && (p.End < p.Born || !slices.IsSorted(p.Changes) || len(p.Changes) > 0 &&
			(p.Changes[0] <= p.Born || p.Changes[len(p.Changes)-1] > p.End)) {
			err = fmt.Errorf("times out of order")
		}
		if err != nil {
			return nil, fmt.Errorf("traces: line %d: %w", n, err)
		}
		i, ok := index[f[0]]
		if !ok {
			i = len(sites)
			index[f[0]] = i
			class := classes[f[0]]
			if class == "" {
				class = f[0]
			}
			sites = append(sites, Site{Name: f[0], Class: class})
		}
		sites[i].Pages = append(sites[i].Pages, p)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	return sites, nil
}

// Half returns the pages of one half of each site, 1 or 2, which is all that a choice of parameters may look at when
// the other is to judge it. A page is in the half that the hash of its site and name says, so the halves are the same
// on every machine and stay so when pages are added. Two pages that changed in one release may be in different halves:
// what is chosen on one is tested on other pages, not on other releases.
func Half(sites []Site, half int) []Site {
	var halves []Site
	for _, s := range sites {
		var pages []Page
		for _, p := range s.Pages {
			if int(fingerprint.URL(s.Name+" "+p.Name)&1)+1 == half {
				pages = append(pages, p)
			}
		}
		if s.Pages = pages; len(pages) > 0 {
			halves = append(halves, s)
		}
	}
	return halves
}

// Sample returns some pages of each site, in order of the hash of their names, until they have as many versions: the
// same on every machine. The observation of a page ends with half of that many changes.
func Sample(sites []Site, versions int) []Site {
	all := make([]Site, len(sites))
	for i, s := range sites {
		hash := func(p Page) uint64 { return fingerprint.URL(s.Name + " " + p.Name) }
		pages := slices.Clone(s.Pages)
		slices.SortFunc(pages, func(a, b Page) int { return cmp.Compare(hash(a), hash(b)) })
		n, has := 0, 0
		for ; n < len(pages) && has < versions; n++ {
			p := &pages[n]
			if most := max(1, versions/2); len(p.Changes) > most {
				p.Changes = p.Changes[:most]
				p.End, p.Deleted = p.Changes[most-1], false
			}
			has += len(p.Changes)
		}
		all[i] = Site{Name: s.Name, Class: s.Class, Pages: pages[:n]}
	}
	return all
}

// ReadClasses reads the classes of sites from a table with a heading: the first column names the site, the second its
// class.
func ReadClasses(r io.Reader) (map[string]string, error) {
	classes := map[string]string{}
	s := bufio.NewScanner(r)
	for n := 0; s.Scan(); n++ {
		if f := strings.Split(s.Text(), "\t"); n > 0 && len(f) >= 2 {
			classes[f[0]] = f[1]
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("classes: %w", err)
	}
	return classes, nil
}

// Poisson returns a site whose pages change at random at constant rates, their mean intervals spread evenly in
// logarithm from shortest to longest seconds: the world that the estimators are made for.
func Poisson(name string, pages int, life int64, shortest, longest float64, rnd *rand.Rand) Site {
	s := Site{Name: name, Class: "poisson", Pages: make([]Page, pages)}
	for i := range s.Pages {
		mean := shortest * math.Exp(rnd.Float64()*math.Log(longest/shortest))
		p := Page{Name: strconv.Itoa(i), End: life}
		for t := rnd.ExpFloat64() * mean; t < float64(life); t += rnd.ExpFloat64() * mean {
			if c := int64(t) + 1; c <= life && (len(p.Changes) == 0 || c > p.Changes[len(p.Changes)-1]) {
				p.Changes = append(p.Changes, c)
			}
		}
		s.Pages[i] = p
	}
	return s
}
