package master

import (
	"encoding/base32"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"henro/actors/politeness"
	"henro/actors/reading"
	"henro/actors/revisit"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/archive/history"
)

// Imported says what ImportAtRest made of captures.
type Imported struct {
	Pages    int `json:"pages"`    // pages that are known now and were not before
	Known    int `json:"known"`    // pages that the crawl had visited itself: its own history stays
	Captures int `json:"captures"` // captures of the pages that were taken
	Changes  int `json:"changes"`  // changes between these captures
}

// importBatch bounds the pages of one commit.
const importBatch = 1000

// importing writes pages whose history was imported.
type importing struct {
	state  *store.State
	o      *revisit.Options
	now    time.Time
	rnd    *rand.Rand
	result Imported

	disk  *store.Partition // of the batch; nil: nothing was imported yet
	batch *store.Batch
	host  store.HostRecord  // host of the pages in the batch
	load  politeness.State  // its politeness, with the timetable
	page  []history.Capture // captures of the page that is being read
}

// ImportAtRest writes visit histories of earlier archives into the state of a crawl that is not running, as pages that
// were visited then and are to be visited again. The state has their digest and not their text: the first visit is
// judged by the digest. Captures come by URL and time, as history.Collector has them.
func ImportAtRest(state *store.State, m *reading.Settings, each func(func(history.Capture) error) error,
	now time.Time) (Imported, error) {
	i := &importing{state: state, o: &m.Revisit, now: now, rnd: rand.New(rand.NewPCG(uint64(now.UnixNano()), 3)),
		batch: store.NewBatch(now)}
	err := each(func(c history.Capture) error {
		if len(i.page) > 0 && i.page[0].URL != c.URL {
			if err := i.take(); err != nil {
				return err
			}
		}
		i.page = append(i.page, c)
		return nil
	})
	if err == nil && len(i.page) > 0 {
		err = i.take()
	}
	if err == nil {
		err = i.flush()
	}
	return i.result, err
}

// take adds the page whose captures have come to the batch.
func (i *importing) take() error {
	captures := i.page
	i.page = i.page[:0]
	url := captures[0].URL
	name := weburl.HostOf(url)
	disk := i.state.Partitions[i.state.PartitionOf(name)]
	_, visited, _, err := disk.Seen.Get(url)
	if err != nil {
		return err
	}
	if visited {
		i.result.Known++
		return nil
	}
	if name != i.host.Name || i.batch.Len() >= importBatch {
		if err := i.flush(); err != nil {
			return err
		}
		if err := i.open(disk, name); err != nil {
			return err
		}
	}
	i.batch.Visit(store.Visited{Page: i.replay(captures)})
	i.result.Pages++
	return nil
}

// open reads what is known of a host.
func (i *importing) open(disk *store.Partition, name string) (err error) {
	i.load = politeness.State{}
	if i.host, err = disk.Hosts.Get(store.IDOf(name)); errors.Is(err, store.ErrNotFound) {
		i.host, err = store.HostRecord{ID: store.IDOf(name), Name: name}, nil
	}
	if err == nil && len(i.host.Politeness) > 0 {
		err = i.load.UnmarshalBinary(i.host.Politeness)
	}
	i.disk = disk
	if err != nil {
		err = fmt.Errorf("host %s: %w", name, err)
	}
	return err
}

// replay takes the captures of a page for visits, and times the next visit. A capture without a digest tells nothing of
// changes.
func (i *importing) replay(captures []history.Capture) store.Page {
	var h revisit.History
	prior := i.load.Timetable.Rates().Prior()
	i.o.Next(&h, prior, i.rnd) // the belief that a page begins with
	last := history.Capture{}
	for _, c := range captures {
		switch {
		case last.Digest == "":
		case c.Digest == "":
			continue
		default:
			changed := c.Digest != last.Digest
			if changed {
				i.result.Changes++
			}
			h.Visited(i.o, c.At.Sub(last.At), changed)
		}
		last = c
	}
	i.result.Captures += len(captures)
	interval := i.o.Next(&h, prior, i.rnd)
	page := store.Page{URL: last.URL, LastVisit: last.At, Next: last.At.Add(interval), Status: 200,
		Timing: store.Timing(h), Flags: store.Imported}
	if digest, err := base32.StdEncoding.DecodeString(last.Digest); err == nil && len(digest) == len(page.Digest) {
		copy(page.Digest[:], digest)
	}
	if page.Next.Before(i.now) {
		page.Next = i.now
	}
	i.load.Timetable.AddPage(interval)
	i.load.Timetable.Rates().Add(i.o.Estimate(&h))
	return page
}

// flush commits the pages with the record of their host.
func (i *importing) flush() error {
	if i.disk == nil || i.batch.Empty() {
		return nil
	}
	blob, err := i.load.MarshalBinary()
	if err != nil {
		return fmt.Errorf("politeness of %s: %w", i.host.Name, err)
	}
	i.host.Politeness = blob
	i.batch.PutHost(i.host)
	_, err = i.disk.Commit(i.batch)
	i.batch.Reset(i.now)
	return err
}
