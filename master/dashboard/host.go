package dashboard

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"henro/actors/admission"
	"henro/actors/reading"
	"henro/actors/stoplist"
	"henro/master/lending"
	"henro/master/pictures"
	"henro/messages/speech"
	"henro/store"
	"henro/store/consensus"
	"henro/store/report/changes"
)

// hostsView is one page of the table of hosts.
type hostsView struct {
	hostQuery
	Rows    []*hostRow
	Found   int
	All     int
	Pages   int
	Age     time.Duration // of the order
	Reading bool          // there is no table yet
	Cut     uint64        // hosts that are not in the table, for there are too many
	Columns []column
	First   int // number of the first row
	Last    int
}

// column is the head of one column.
type column struct {
	Key    string
	Path   string // that sorts by it
	Sorted string // ascending, descending or none
	Number bool
}

func (q hostQuery) path() string {
	var b strings.Builder
	b.WriteString("/hosts?")
	for _, field := range [][2]string{{"q", q.Search}, {"only", q.Only}, {"error", q.Error},
		{"sort", q.Sort}} {
		if field[1] != "" {
			b.WriteString(field[0] + "=" + url.QueryEscape(field[1]) + "&")
		}
	}
	b.WriteString("page=" + strconv.Itoa(q.Page))
	return b.String()
}

// PagePath is the address of another page of the same table.
func (v *hostsView) PagePath(number int) string {
	q := v.hostQuery
	q.Page = number
	return q.path()
}

// OnlyPath is the address of the same search among others.
func (v *hostsView) OnlyPath(only string) string {
	q := v.hostQuery
	q.Only, q.Page = only, 1
	return q.path()
}

// AllPath is the same without the choice of a cause.
func (v *hostsView) AllPath() string {
	q := v.hostQuery
	q.Error, q.Page = "", 1
	return q.path()
}

// Before and Next are the numbers of the pages around this one, 0 if there is none.
func (v *hostsView) Before() int { return v.Page - 1 }

// Next is the page after this one, 0 if this is the last.
func (v *hostsView) Next() int {
	if v.Page >= v.Pages {
		return 0
	}
	return v.Page + 1
}

// Filters are the values of hostQuery.Only.
func (*hostsView) Filters() []string { return []string{"", "waiting", "failing", "overloaded"} }

// readQuery reads what is wanted of the table; what makes no sense is left out.
func readQuery(r *http.Request) hostQuery {
	form := r.URL.Query()
	q := hostQuery{Search: strings.ToLower(strings.TrimSpace(form.Get("q"))), Only: form.Get("only"),
		Sort: form.Get("sort"), Error: form.Get("error")}
	q.Error = q.Error[:min(len(q.Error), hostsNameLength)]
	q.Search = q.Search[:min(len(q.Search), hostsNameLength)]
	if hostColumns[strings.TrimPrefix(q.Sort, "-")] == nil {
		q.Sort = defaultSort
	}
	switch q.Only {
	case "waiting", "failing", "overloaded":
	default:
		q.Only = ""
	}
	q.Page, _ = strconv.Atoi(form.Get("page"))
	q.Page = min(max(q.Page, 1), 1_000_000)
	return q
}

func (d *Dashboard) hostList(r *http.Request, p *page) (any, error) {
	v := &hostsView{hostQuery: readQuery(r)}
	for _, key := range []string{"host", "ails", "visited", "waiting", "interval", "took", "errors", "asked",
		"load", "verdict", "next"} {
		c := column{Key: key, Sorted: "none", Number: key != "host" && key != "verdict" && key != "ails"}
		q := v.hostQuery
		q.Page, q.Sort = 1, key
		if c.Number || key == "ails" {
			q.Sort = "-" + key // the largest and the latest first
		}
		switch v.Sort {
		case key:
			c.Sorted, q.Sort = "ascending", "-"+key
		case "-" + key:
			c.Sorted, q.Sort = "descending", key
		}
		c.Path = q.path()
		v.Columns = append(v.Columns, c)
	}
	read := d.hosts.await(r.Context())
	if read == nil {
		v.Reading = true
		return v, nil
	}
	if read.Err != nil {
		return nil, read.Err
	}
	table := read.View
	names, found := table.find(&v.hostQuery)
	if v.Pages = max(1, (found+hostsPerPage-1)/hostsPerPage); v.Page > v.Pages {
		v.Page = v.Pages
		names, _ = table.find(&v.hostQuery)
	}
	v.Found, v.All, v.Age = found, len(table.rows), p.Now.Sub(read.At)
	v.Cut = table.total - min(table.total, uint64(len(table.rows)))
	v.First = (v.Page-1)*hostsPerPage + min(1, found)
	v.Last = (v.Page-1)*hostsPerPage + len(names)
	lent, err := d.crawl.Reading().Lent()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		row, err := rowOf(d.crawl, name, lent)
		if err != nil {
			return nil, err
		}
		v.Rows = append(v.Rows, row)
	}
	return v, nil
}

// robotsWord sums up the robots.txt of a host.
type robotsWord struct {
	Key   string // of the catalogue, behind robots.
	Rules int
	Delay time.Duration
	Text  string // the rules that concern us
}

func robotsOf(r *store.HostRecord) robotsWord {
	rules := reading.Robots(r)
	w := robotsWord{Key: "none", Rules: rules.Len()}
	w.Delay, _ = rules.CrawlDelay()
	switch {
	case rules == nil && r.AskedAt.IsZero():
		w.Key = "unknown"
	case rules == nil, rules.Unreachable(): // a host that was asked was asked for it first
		w.Key = "unreachable"
	case rules.Found() && w.Rules > 0:
		w.Key, w.Text = "rules", rules.String()
	}
	return w
}

// hostView is all that is known of one host.
type hostView struct {
	*hostRow
	Found    *reading.HostFound
	Stops    []stopRow
	Waiting  []store.Page  // the next to be visited first
	Excluded bool          // by a person
	Over     bool          // nothing is asked of it any more
	Failed   []failedCount // the most frequent first
	Line     time.Duration // how long what waits will take at its interval
}

// failedCount is how many visits failed for one cause.
type failedCount struct {
	Word  string
	Count uint64
}

// stopRow is one folder that is left alone, or on probation.
type stopRow struct {
	stoplist.Entry
	Says      speech.Sentence // the evidence
	Probation bool
}

// waitingShown is how many pages in line are shown.
const waitingShown = 20

func (d *Dashboard) host(r *http.Request, p *page) (any, error) {
	name := strings.TrimSpace(r.URL.Query().Get("name"))
	found, err := d.crawl.Reading().Host(name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, noHost(name)
	}
	if err != nil {
		return nil, err
	}
	lent, err := d.crawl.Reading().Lent()
	if err != nil {
		return nil, err
	}
	row, err := newRow(found.HostRecord, d.crawl, lent)
	if err != nil {
		return nil, err
	}
	v := &hostView{hostRow: row, Found: found,
		Over: row.HostRecord.Waiting == 0 && row.GivenUp > 0 && !d.crawl.Options().Hosts.Continuous}
	for word, count := range row.Errors {
		v.Failed = append(v.Failed, failedCount{word, count})
	}
	slices.SortFunc(v.Failed, func(a, b failedCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
	})
	v.Line = min(time.Duration(float64(row.HostRecord.Waiting)*float64(row.Interval)), 1<<62)
	for _, entry := range found.Stops {
		v.Excluded = v.Excluded || entry.Prefix == row.Name+"/"
		v.Stops = append(v.Stops, stopRow{entry, stoplist.Says(entry.Evidence), !entry.Until.IsZero() &&
			!entry.Until.After(p.Now)})
	}
	state := d.crawl.Reading().State
	disk := state.Partitions[state.PartitionOf(row.Name)]
	waiting, err := disk.Fresh.Of(row.ID, nil, waitingShown)
	if err != nil {
		return nil, err
	}
	for _, entry := range waiting.Entries {
		v.Waiting = append(v.Waiting, entry.Page)
	}
	return v, nil
}

// lifeView is the life of one page of the web.
type lifeView struct {
	URL     string
	Found   *reading.PageFound  // nil: it is not known
	Row     *hostRow            // of its host, if that is known
	Why     []admission.Finding // what every rule says
	Against bool                // some rule is
	Late    bool                // it is due
	GivenUp bool
	Replay  string // where the archive is shown; empty: nowhere
	Changes []changes.Change
	Looks   *pictures.View
}

func (d *Dashboard) page(r *http.Request, p *page) (any, error) {
	raw := strings.TrimSpace(r.URL.Query().Get("url"))
	v := &lifeView{URL: raw}
	if raw == "" {
		return v, nil
	}
	u, err := parsedURL(raw)
	if err != nil {
		return nil, err
	}
	v.URL = u.String()
	depth := 0
	if found, err := d.crawl.Reading().Record(v.URL); err == nil {
		v.Found = found
		if err := d.recalls.add(d.crawl.Options().Dir, found); err != nil {
			return nil, err
		}
		v.Replay, v.Changes = replayAt(r, d.crawl.Options().Dir), d.crawl.Changes().Get(r.Context())
		v.Looks = d.crawl.Pictures().Of(r.Context(), v.URL, found.Captures, v.Changes)
		depth = int(found.Page.Depth)
		v.GivenUp = found.Page.Flags&store.Dropped != 0
		v.Late = !found.Page.Next.IsZero() && found.Page.Next.Before(p.Now)
	}
	if v.Why, err = d.crawl.Reading().Rules(&admission.Question{Depth: depth}, v.URL); err != nil {
		return nil, err
	}
	for _, finding := range v.Why {
		v.Against = v.Against || finding.Reason != admission.None
	}
	lent, err := d.crawl.Reading().Lent()
	if err != nil {
		return nil, err
	}
	if row, err := rowOf(d.crawl, u.Host(), lent); err == nil {
		v.Row = row
	}
	return v, nil
}

// nodesView is which slave holds which hosts.
type nodesView struct {
	Boxes  []lending.Mailboxes // of the master's process
	Slaves []slaveRow
	Shown  int // hosts of one slave at most

	Masters []consensus.Member // none: there is one
}

// slaveRow is one slave with what it holds.
type slaveRow struct {
	lending.SlaveStatus
	Hosts []store.Lease
	More  int // hosts that are not shown
	Share float64
}

// hostsOfSlave is how many hosts of one slave are shown.
const hostsOfSlave = 40

func (d *Dashboard) nodes(_ *http.Request, p *page) (any, error) {
	v := &nodesView{Shown: hostsOfSlave}
	if masters := d.crawl.Options().Masters; masters != nil {
		v.Masters = masters()
	}
	for _, k := range d.crawl.Kinds() {
		if k.Actors > 0 {
			v.Boxes = append(v.Boxes, lending.Mailboxes{Kind: k.Kind, Actors: k.Actors, Waiting: k.Queue,
				Longest: k.Longest, Taken: k.Taken})
		}
	}
	if p.Status == nil {
		return v, nil
	}
	lent, err := d.crawl.Reading().Lent()
	if err != nil {
		return nil, err
	}
	held := map[string][]store.Lease{}
	for _, name := range slices.Sorted(maps.Keys(lent)) {
		held[lent[name].Slave] = append(held[lent[name].Slave], lent[name])
	}
	for _, slave := range p.Status.Slaves {
		row := slaveRow{SlaveStatus: slave, Hosts: held[slave.Name]}
		row.More = max(0, len(row.Hosts)-hostsOfSlave)
		row.Hosts = row.Hosts[:len(row.Hosts)-row.More]
		row.Share = slave.Busy
		v.Slaves = append(v.Slaves, row)
	}
	return v, nil
}
