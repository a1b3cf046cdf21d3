package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"henro/store/timequeue"
)

// startMinute is when the simulated crawl is opened: in the middle of an hour of a day.
var startMinute = uint32(time.Date(2026, 3, 1, 10, 20, 0, 0, time.UTC).Unix() / 60)

func openDB(path string) (*bbolt.DB, error) {
	return bbolt.Open(path, 0o644, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType,
		InitialMmapSize: 16 << 30})
}

func resolutionOf(name string) (timequeue.Resolution, error) {
	r, ok := map[string]timequeue.Resolution{"hier": timequeue.Hierarchical, "minute": timequeue.ByMinute,
		"hour": timequeue.ByHour, "day": timequeue.ByDay}[name]
	if !ok {
		return 0, fmt.Errorf("resolution %q", name)
	}
	return r, nil
}

// turning is a time queue at work: records are read when their slot opens, and put back when their visit ends, minutes
// later and out of order.
type turning struct {
	p       *population
	db      *bbolt.DB
	w       *timequeue.Writer
	minute  uint32
	cursor  timequeue.Ref
	ends    map[uint32][]timequeue.Ref // visits in flight, by the minute in which they end
	record  []byte
	splits  int
	commits int
}

func (t *turning) load() error {
	order, due := t.p.byDue()
	const batch = 100_000
	t.db.NoSync = true
	defer func() { t.db.NoSync = false }()
	for from := 0; from < len(order); from += batch {
		if err := t.db.Update(func(tx *bbolt.Tx) error {
			if err := t.w.Begin(tx, startMinute); err != nil {
				return err
			}
			for k := from; k < min(from+batch, len(order)); k++ {
				t.record = t.p.appendRecord(t.record[:0], order[k], startMinute*60+due[k])
				t.w.Put(t.record)
			}
			return t.w.Flush()
		}); err != nil {
			return err
		}
	}
	return t.db.Sync()
}

// run makes visits with a write buffer of so many bytes.
func (t *turning) run(visits, buffer int) error {
	var ended []timequeue.Ref
	size := 0
	for done := 0; done < visits; {
		t.minute++
		if err := t.db.View(func(tx *bbolt.Tx) (err error) {
			t.cursor, err = timequeue.Read(tx, t.minute, t.cursor, 1<<30, func(ref timequeue.Ref, _ []byte) error {
				// A host's politeness spreads the visits of a slot: 10 minutes on average, 2 hours at most.
				end := t.minute + uint32(min(t.p.rnd.ExpFloat64()*10, 120))
				t.ends[end] = append(t.ends[end], ref)
				return nil
			})
			return err
		}); err != nil {
			return err
		}
		now := t.ends[t.minute]
		delete(t.ends, t.minute)
		t.p.rnd.Shuffle(len(now), func(i, j int) { now[i], now[j] = now[j], now[i] })
		for len(now) > 0 && done < visits {
			ended = append(ended, now[0])
			now = now[1:]
			done++
			if size += recordLen + 75; size >= buffer {
				if err := t.flush(ended); err != nil {
					return err
				}
				ended, size = ended[:0], 0
			}
		}
		if len(now) > 0 {
			t.ends[t.minute+1] = append(t.ends[t.minute+1], now...)
		}
	}
	return t.flush(ended)
}

func (t *turning) flush(ended []timequeue.Ref) error {
	if len(ended) == 0 {
		return nil
	}
	t.commits++
	return t.db.Update(func(tx *bbolt.Tx) error {
		if err := t.w.Begin(tx, t.minute); err != nil {
			return err
		}
		slices.SortFunc(ended, timequeue.Ref.Compare)
		for _, ref := range ended {
			rec, err := t.w.Take(ref, func([]byte) bool { return true })
			if err != nil || rec == nil {
				return fmt.Errorf("%v has ended before: %w", ref, err)
			}
			t.record = append(t.record[:0], rec...)
			binary.LittleEndian.PutUint32(t.record, t.minute*60+t.p.next(idOf(rec)))
			t.w.Put(t.record)
		}
		n, _, err := t.w.Split(4096)
		if err != nil {
			return err
		}
		t.splits += n
		return t.w.Flush()
	})
}

// audit counts the live records and their URLs: every URL must be live once.
func (t *turning) audit() error {
	found := make([]bool, len(t.p.every))
	n := 0
	if err := t.db.View(func(tx *bbolt.Tx) error {
		return timequeue.Each(tx, func(_ timequeue.Ref, rec []byte) error {
			if id := idOf(rec); found[id] {
				return fmt.Errorf("record %d is live twice", id)
			} else {
				found[id] = true
			}
			n++
			return nil
		})
	}); err != nil {
		return err
	}
	if n != len(found) {
		return fmt.Errorf("%d records are live, not %d", n, len(found))
	}
	return nil
}

func newTurning(b *bench, name string) (*turning, error) {
	r, err := resolutionOf(b.resolution)
	if err != nil {
		return nil, err
	}
	db, err := openDB(filepath.Join(b.dir, name))
	if err != nil {
		return nil, err
	}
	t := &turning{p: newPopulation(b.n, b.seed), db: db, w: timequeue.NewWriter(r), minute: startMinute,
		ends: map[uint32][]timequeue.Ref{}}
	if err := db.Update(timequeue.Create); err != nil {
		return nil, err
	}
	m := startMeter()
	if err := t.load(); err != nil {
		return nil, err
	}
	us, _, _ := m.per(b.n)
	note("%s: loaded %d records of %d hosts, %.2f µs each", b.resolution, b.n, t.p.hosts, us)
	return t, nil
}

// queueBench measures the time queue by itself: the figure of the paper.
func queueBench(b *bench) error {
	buffers, err := numbers(b.buffers)
	if err != nil {
		return err
	}
	t, err := newTurning(b, "queue.db")
	if err != nil {
		return err
	}
	defer t.db.Close()
	row("bench", "n", "resolution", "buffer MB", "visits", "µs/visit", "cpu µs/visit", "bytes/visit", "commits",
		"splits/visit", "file MB")
	// Until the visits of the first two hours are in flight, there is less to do.
	if err := t.run(b.visits/4, 4<<20); err != nil {
		return err
	}
	return b.profiled(func() error {
		for _, mb := range buffers {
			visits := b.visits
			if mb >= 10 {
				visits = max(visits, int(mb*1e6/155)*2)
			}
			if mb < 0.3 {
				visits = max(visits/2, 50_000)
			}
			t.splits, t.commits = 0, 0
			m := startMeter()
			if err := t.run(visits, int(mb*1e6)); err != nil {
				return err
			}
			us, cpu, written := m.per(visits)
			row("queue", b.n, b.resolution, mb, visits, us, cpu, written, t.commits, float64(t.splits)/float64(visits),
				fileMB(t.db.Path()))
		}
		return t.audit()
	})
}

// stableBench follows the size of the file while it is turned over.
func stableBench(b *bench) error {
	buffers, err := numbers(b.buffers)
	if err != nil {
		return err
	}
	row("bench", "n", "resolution", "buffer MB", "visits", "µs/visit", "cpu µs/visit", "bytes/visit", "file MB",
		"pages in use MB", "slots")
	for _, mb := range buffers {
		t, err := newTurning(b, fmt.Sprintf("stable%v.db", mb))
		if err != nil {
			return err
		}
		row("stable", b.n, b.resolution, mb, 0, 0.0, 0.0, 0.0, fileMB(t.db.Path()), usedMB(t.db), slotCount(t.db))
		const parts = 16
		for part := range parts {
			m := startMeter()
			if err := t.run(b.visits/parts, int(mb*1e6)); err != nil {
				return err
			}
			us, cpu, written := m.per(b.visits / parts)
			row("stable", b.n, b.resolution, mb, (part+1)*(b.visits/parts), us, cpu, written, fileMB(t.db.Path()),
				usedMB(t.db), slotCount(t.db))
		}
		if err := t.audit(); err != nil {
			return err
		}
		if err := t.db.Close(); err != nil {
			return err
		}
	}
	return nil
}

func fileMB(path string) float64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(info.Size()) / 1e6
}

// usedMB is the file without its free pages.
func usedMB(db *bbolt.DB) float64 {
	s := db.Stats()
	var size int64
	db.View(func(tx *bbolt.Tx) error { size = tx.Size(); return nil })
	return float64(size-int64(s.FreeAlloc)) / 1e6
}

func slotCount(db *bbolt.DB) (n int) {
	db.View(func(tx *bbolt.Tx) error {
		return timequeue.Slots(tx, func(timequeue.Slot, uint32, uint32) error { n++; return nil })
	})
	return n
}
