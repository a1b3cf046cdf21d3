package dashboard

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"henro/actors/host"
	"henro/actors/politeness"
	"henro/actors/reading"
	"henro/store"
)

const (
	hostsAtOnce     = 1000            // rows of one transaction: some 5 ms
	hostsIdle       = 5 * time.Minute // after which the table is forgotten
	hostsPerPage    = 50
	hostsWaitFirst  = 4 * time.Second // for a table where there is none yet
	hostsNameLength = 200             // of a search
)

// hostKey is what one host is found and sorted by.
type hostKey struct {
	name                    string
	visited, known, waiting uint64
	interval                time.Duration
	load                    float64
	next                    time.Time
	ails                    reading.Ailment
	verdict                 politeness.Verdict
	took                    time.Duration
	asked                   time.Time // last
	errors                  uint64    // visits that failed
	failed                  []string  // the words of their causes
}

// hostOrder is the table of hosts at one moment, in which people search and sort hundreds of thousands of hosts; on
// disk they are ordered by fingerprint. It does not change, except that orders are added when they are asked for. The
// rows that are shown are read again, so that only their order is as old as the table.
type hostOrder struct {
	rows  []hostKey
	total uint64 // hosts there are: more than rows when there are too many

	mu     sync.Mutex
	orders map[string][]int32
}

// readHosts reads all hosts, a thousand a transaction, and keeps what is sorted by: 100,000 hosts take 0.6 s to read
// and 12 MB (BenchmarkHostTable).
func (d *Dashboard) readHosts(ctx context.Context) (*hostOrder, error) {
	order := &hostOrder{orders: map[string][]int32{}}
	o := d.crawl.Options().Hosts
	for _, disk := range d.crawl.Reading().State.Partitions {
		stats, err := disk.Stats()
		if err != nil {
			return nil, err
		}
		order.total += stats.Hosts
		for r, err := range disk.Hosts.InBatches(hostsAtOnce) {
			if err := errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
			if len(order.rows) == d.o.Hosts {
				break
			}
			order.rows = append(order.rows, keyOf(r, &o))
		}
	}
	return order, nil
}

func keyOf(r *store.HostRecord, o *host.Options) hostKey {
	var s politeness.State
	if len(r.Politeness) > 0 && s.UnmarshalBinary(r.Politeness) != nil {
		s = politeness.State{}
	}
	took, _, _ := s.Took()
	return hostKey{
		took: took, asked: r.AskedAt, errors: r.ErrorCount(), failed: slices.Collect(maps.Keys(r.Errors)),
		name: r.Name, visited: r.Visited, known: r.Known, waiting: r.Waiting, load: s.Timetable.Load(),
		next: r.NextAllowed, ails: reading.Ails(r, &s, o.Continuous), interval: s.Interval(&o.Politeness),
		verdict: s.Judge(&o.Politeness, s.Timetable.Wanted(&o.Revisit), r.Waiting > 0),
	}
}

// hostQuery is what is wanted of the table.
type hostQuery struct {
	Search string // in the name
	Only   string // "", failing, waiting, overloaded
	Error  string // only those of which a visit failed for this cause; empty: all
	Sort   string // a column, with a minus before it for the largest first
	Page   int    // from 1
}

// hostColumns are what can be sorted by; equal ones are in the order of their names.
var hostColumns = map[string]func(a, b *hostKey) int{
	"host":     func(a, b *hostKey) int { return 0 },
	"visited":  func(a, b *hostKey) int { return cmp.Compare(a.visited, b.visited) },
	"waiting":  func(a, b *hostKey) int { return cmp.Compare(a.waiting, b.waiting) },
	"interval": func(a, b *hostKey) int { return cmp.Compare(a.interval, b.interval) },
	"load":     func(a, b *hostKey) int { return cmp.Compare(a.load, b.load) },
	"verdict":  func(a, b *hostKey) int { return cmp.Compare(a.verdict, b.verdict) },
	"next":     func(a, b *hostKey) int { return a.next.Compare(b.next) },
	"took":     func(a, b *hostKey) int { return cmp.Compare(a.took, b.took) },
	"errors":   func(a, b *hostKey) int { return cmp.Compare(a.errors, b.errors) },
	"asked":    func(a, b *hostKey) int { return a.asked.Compare(b.asked) },
	"ails":     func(a, b *hostKey) int { return a.ails.Since.Compare(b.ails.Since) },
}

const defaultSort = "-visited"

// bareName is a host without its scheme, by which people expect it to be sorted.
func bareName(host string) string {
	_, name, found := strings.Cut(host, "://")
	if !found {
		return host
	}
	return name
}

// by returns the rows in an order.
func (o *hostOrder) by(column string) []int32 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.orders[column]; known != nil {
		return known
	}
	compare, down := hostColumns[strings.TrimPrefix(column, "-")], strings.HasPrefix(column, "-")
	order := make([]int32, len(o.rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &o.rows[i], &o.rows[j]
		c := compare(a, b)
		if c == 0 {
			c = cmp.Or(strings.Compare(bareName(a.name), bareName(b.name)), strings.Compare(a.name, b.name))
			if column != "-host" {
				return c
			}
		}
		if down {
			return -c
		}
		return c
	})
	o.orders[column] = order
	return order
}

func (q *hostQuery) wants(k *hostKey) bool {
	switch q.Only {
	case "failing":
		if k.ails.IsZero() {
			return false
		}
	case "waiting":
		if k.waiting == 0 {
			return false
		}
	case "overloaded":
		if k.verdict == politeness.Feasible {
			return false
		}
	}
	if q.Error != "" && !slices.Contains(k.failed, q.Error) {
		return false
	}
	return strings.Contains(k.name, q.Search)
}

// find returns the names on one page and how many there are on all.
func (o *hostOrder) find(q *hostQuery) (names []string, found int) {
	first := (q.Page - 1) * hostsPerPage
	for _, i := range o.by(q.Sort) {
		if k := &o.rows[i]; q.wants(k) {
			if found >= first && len(names) < hostsPerPage {
				names = append(names, k.name)
			}
			found++
		}
	}
	return names, found
}

// hostRow is one host as it is now.
type hostRow struct {
	store.HostRecord
	State    politeness.State
	Interval time.Duration
	Verdict  politeness.Verdict
	Ails     reading.Ailment
	Took     time.Duration // of its latest answer; 0: it never answered
	Slave    string        // that it is lent to
	Robots   robotsWord
}

// rowOf reads one host as it is now.
func rowOf(crawl Crawl, name string, lent map[string]store.Lease) (*hostRow, error) {
	state := crawl.Reading().State
	record, err := state.Partitions[state.PartitionOf(name)].Hosts.Get(store.IDOf(name))
	if err != nil {
		return nil, err
	}
	return newRow(record, crawl, lent)
}

func newRow(record store.HostRecord, crawl Crawl, lent map[string]store.Lease) (*hostRow, error) {
	state, err := reading.Politeness(&record)
	if err != nil {
		return nil, err
	}
	o := crawl.Options().Hosts
	row := &hostRow{HostRecord: record, State: *state, Slave: lent[record.Name].Slave, Robots: robotsOf(&record)}
	row.Took, _, _ = row.State.Took()
	row.Interval = row.State.Interval(&o.Politeness)
	row.Ails = reading.Ails(&record, state, o.Continuous)
	row.Verdict = state.Judge(&o.Politeness, state.Timetable.Wanted(&o.Revisit), record.Waiting > 0)
	return row, nil
}
