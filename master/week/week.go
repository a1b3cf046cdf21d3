// Package week shows when the pages of a site changed: a table of weekdays and hours, for the dashboard.
package week

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"henro/messages/weburl"
	"henro/store/report/changes"
)

// Bounds of one look.
const (
	most      = 100_000         // changes that are read
	shown     = 50              // changes of an hour
	sites     = 30              // that are named
	within    = 5 * time.Second // for all nodes
	nameBytes = 300             // of a site
	levels    = 5               // of colour
	standard  = 4               // weeks
)

// spans are the numbers of weeks that can be asked for.
var spans = []int{1, standard, 12}

// Each hands over changes in any order, until fn returns false or the context ends.
type Each func(ctx context.Context, fn func(*changes.Change) bool)

// Choice is what somebody wants to see.
type Choice struct {
	Site  string // scheme://host[:port]; "": all
	Weeks int    // up to now
	Day   int    // from Monday, 0, on; -1: no hour is chosen
	Hour  int    // 0 to 23
}

// View is one table.
type View struct {
	Choice
	Hours   [24]Hour
	Since   time.Time // that of the first change that is known of these weeks, or their begin
	Count   int       // changes
	Pages   int       // that changed
	Busiest Cell      // with most changes; of two the first in the week
	Sites   []Site    // with most changes first; where all are shown
	// of the hour, the latest first, at most 50; what of it a reader may do
	Changes              []changes.Change
	More                 int // changes of the hour that are not shown
	Teach, Noise, Beside bool
}

// Hour is one row.
type Hour struct {
	Hour int
	Days [7]Cell
}

// Cell is an hour of a weekday.
type Cell struct {
	Choice
	Count int
	Level int  // 0 to 5, as the count is to that of the busiest hour
	Is    bool // it is the one that is chosen
}

// Site is a host and how often its pages changed.
type Site struct {
	Choice
	Count int
}

// parse reads ?name=, ?weeks=, ?day= and ?hour=; what makes no sense is left out.
func parse(r *http.Request) Choice {
	c := Choice{Site: strings.TrimSpace(r.FormValue("name")), Weeks: number(r, "weeks", 12), Day: number(r, "day", 6),
		Hour: number(r, "hour", 23)}
	c.Site = strings.ToValidUTF8(c.Site[:min(len(c.Site), nameBytes)], "")
	if !slices.Contains(spans, c.Weeks) {
		c.Weeks = standard
	}
	if c.Hour < 0 {
		c.Day = -1
	}
	return c
}

// number is that of a field, from 0; -1: it has none.
func number(r *http.Request, field string, most int) int {
	n, err := strconv.Atoi(r.FormValue(field))
	if err != nil || n < 0 || n > most {
		return -1
	}
	return n
}

// Show counts the changes that were asked for. teach: all of them can be taught. now says also where the clock hangs by
// which they are counted.
func Show(r *http.Request, each Each, teach bool, now time.Time) *View {
	v := &View{Choice: parse(r), Teach: teach, Beside: r.FormValue("beside") == "true"}
	begin := now.Add(-time.Duration(v.Weeks) * 7 * 24 * time.Hour)
	v.Since = begin
	first, read := now, 0
	pages, bySite := map[string]bool{}, map[string]int{}
	var count [7][24]int
	ctx, end := context.WithTimeout(r.Context(), within)
	defer end()
	each(ctx, func(c *changes.Change) bool {
		if c.At.Before(first) {
			first = c.At
		}
		site := weburl.HostOf(c.URL)
		if !c.At.After(now) && c.At.After(begin) && (v.Site == "" || v.Site == site) {
			at := c.At.In(now.Location())
			day, hour := (int(at.Weekday())+6)%7, at.Hour()
			count[day][hour]++
			pages[c.URL], bySite[site] = true, bySite[site]+1
			if day == v.Day && hour == v.Hour {
				v.keep(c)
			}
		}
		read++
		return read < most
	})
	if read > 0 && first.After(begin) {
		v.Since = first
	}
	v.settle()
	v.Pages = len(pages)
	for hour := range v.Hours {
		v.Hours[hour].Hour = hour
		for day := range v.Hours[hour].Days {
			cell := &v.Hours[hour].Days[day]
			*cell = Cell{Choice: v.Choice, Count: count[day][hour], Is: day == v.Day && hour == v.Hour}
			cell.Day, cell.Hour = day, hour
			if v.Count += cell.Count; cell.Count > v.Busiest.Count ||
				cell.Count == v.Busiest.Count && day < v.Busiest.Day {
				v.Busiest = *cell
			}
		}
	}
	for hour := range v.Hours {
		for day := range v.Hours[hour].Days {
			cell := &v.Hours[hour].Days[day]
			cell.Level = (levels*cell.Count + v.Busiest.Count - 1) / max(1, v.Busiest.Count)
		}
	}
	if v.Day >= 0 {
		v.More = count[v.Day][v.Hour] - len(v.Changes)
	}
	if v.Site == "" {
		v.name(bySite)
	}
	return v
}

// name names the sites with most changes.
func (v *View) name(bySite map[string]int) {
	names := slices.SortedFunc(maps.Keys(bySite), func(a, b string) int {
		return cmp.Or(bySite[b]-bySite[a], strings.Compare(a, b))
	})
	for _, name := range names[:min(len(names), sites)] {
		v.Sites = append(v.Sites, Site{Choice{name, v.Weeks, -1, 0}, bySite[name]})
	}
}

// keep takes a change of the hour; of many the latest are left.
func (v *View) keep(c *changes.Change) {
	if v.Changes = append(v.Changes, *c); len(v.Changes) >= 10*shown {
		v.settle()
	}
}

func (v *View) settle() {
	slices.SortStableFunc(v.Changes, func(a, b changes.Change) int { return b.At.Compare(a.At) })
	v.Changes = slices.Clip(v.Changes[:min(len(v.Changes), shown)])
}

// Path is where a choice is shown.
func (c Choice) Path() string {
	query := url.Values{"weeks": {strconv.Itoa(c.Weeks)}}
	if c.Site != "" {
		query.Set("name", c.Site)
	}
	if c.Day < 0 {
		return "/week?" + query.Encode()
	}
	query.Set("day", strconv.Itoa(c.Day))
	query.Set("hour", strconv.Itoa(c.Hour))
	return "/week?" + query.Encode() + "#hour"
}

// Spans are the same choice over each number of weeks that can be asked for.
func (c Choice) Spans() (all []Choice) {
	for _, weeks := range spans {
		other := c
		other.Weeks = weeks
		all = append(all, other)
	}
	return all
}

// All is the choice of all sites.
func (c Choice) All() Choice { return Choice{"", c.Weeks, -1, 0} }
