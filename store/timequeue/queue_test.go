package timequeue

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func openDB(t testing.TB) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "q.db"), 0o644,
		&bbolt.Options{NoSync: true, NoGrowSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.View(func(tx *bbolt.Tx) error {
			for err := range tx.Check() {
				t.Error(err)
			}
			return Slots(tx, func(Slot, uint32, uint32) error { return nil })
		}); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	if err := db.Update(Create); err != nil {
		t.Fatal(err)
	}
	return db
}

func record(due, id uint32, size int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, due)
	b = binary.LittleEndian.AppendUint32(b, id)
	return append(b, make([]byte, size)...)
}

func idOf(rec []byte) uint32 { return binary.LittleEndian.Uint32(rec[4:]) }

func any([]byte) bool { return true }

func TestSlotOfADueTime(t *testing.T) {
	at := func(s string) uint32 {
		moment, err := time.Parse("2006-01-02 15:04:05", s)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(moment.Unix())
	}
	now := at("2026-03-01 10:17:30") / 60
	for _, c := range []struct {
		name, due string
		opens     string
		level     Level
	}{
		{"what is overdue goes to the next minute", "2026-03-01 09:00:00", "2026-03-01 10:18:00", Minutes},
		{"what is due within the minute too", "2026-03-01 10:17:40", "2026-03-01 10:18:00", Minutes},
		{"a due time is rounded up, never early", "2026-03-01 10:20:01", "2026-03-01 10:21:00", Minutes},
		{"the end of the next hour is still in minutes", "2026-03-01 12:00:00", "2026-03-01 12:00:00", Minutes},
		{"behind it come hours", "2026-03-01 12:00:01", "2026-03-01 13:00:00", Hours},
		{"until the end of the next day", "2026-03-03 00:00:00", "2026-03-03 00:00:00", Hours},
		{"behind it come days", "2026-03-03 00:00:01", "2026-03-04 00:00:00", Days},
		{"at most 400 of them", "2099-01-01 00:00:00", "2027-04-06 00:00:00", Days},
	} {
		got := Hierarchical.Slot(at(c.due), now)
		if want := (Slot{at(c.opens) / 60, c.level}); got != want {
			t.Errorf("%s: %v, not %v", c.name, got, want)
		}
	}
	if got := Hierarchical.Slot(0, now); got != RestSlot {
		t.Errorf("never: %v", got)
	}
	for _, r := range []Resolution{Hierarchical, ByMinute, ByHour, ByDay} {
		for due := now * 60; due < now*60+60*60*24*500; due += 3571 {
			s := r.Slot(due, now)
			if s.Opens <= now || s.Opens < due/60 && s.Opens < now+horizon {
				t.Fatalf("%d: %d goes to %v, which opens early", r, due, s)
			}
		}
	}
}

// TestEveryRecordComesAtItsMinute keeps the queue turning with commits every minute: all of a million minutes' worth of
// splits, and no record early, late, lost or doubled.
func TestEveryRecordComesAtItsMinute(t *testing.T) {
	db, w, rnd := openDB(t), NewWriter(Hierarchical), rand.New(rand.NewPCG(5, 6))
	const records = 500
	now := uint32(time.Date(2026, 3, 1, 22, 50, 0, 0, time.UTC).Unix() / 60)
	next := map[uint32]uint32{} // minute at which a record must come
	put := func(id, after uint32) {
		due := now*60 + after
		next[id] = max((due+59)/60, now+1)
		w.Put(record(due, id, rnd.IntN(300)))
	}
	interval := func() uint32 {
		return uint32(rnd.ExpFloat64() * []float64{60, 3600, 30000, 200000}[rnd.IntN(4)])
	}
	if err := db.Update(func(tx *bbolt.Tx) error {
		if err := w.Begin(tx, now); err != nil {
			return err
		}
		for id := range uint32(records) {
			put(id, interval())
		}
		return w.Flush()
	}); err != nil {
		t.Fatal(err)
	}
	var cursor Ref
	var late []Ref // read, to be finished later
	came := 0
	for range 4 * 1440 {
		now++
		if err := db.Update(func(tx *bbolt.Tx) error {
			var err error
			if cursor, err = Read(tx, now, cursor, 1<<30, func(ref Ref, rec []byte) error {
				if id := idOf(rec); next[id] != now {
					return fmt.Errorf("minute %d: record %d came, due at %d", now, id, next[id])
				}
				came++
				delete(next, idOf(rec))
				late = append(late, ref)
				return nil
			}); err != nil {
				return err
			}
			if err := w.Begin(tx, now); err != nil {
				return err
			}
			rnd.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
			for n := rnd.IntN(len(late) + 1); n > 0; n-- {
				ref := late[0]
				late = late[1:]
				rec, err := w.Take(ref, any)
				if err != nil || rec == nil {
					return fmt.Errorf("%v: %v %w", ref, rec, err)
				}
				put(idOf(rec), interval())
				if again, err := w.Take(ref, any); again != nil || err != nil {
					return fmt.Errorf("%v came twice", ref)
				}
			}
			if _, _, err := w.Split(100); err != nil {
				return err
			}
			return w.Flush()
		}); err != nil {
			t.Fatal(err)
		}
	}
	for id, minute := range next {
		if minute <= now {
			t.Errorf("record %d was due at %d, now is %d", id, minute, now)
		}
	}
	live := 0
	if err := db.View(func(tx *bbolt.Tx) error {
		return Each(tx, func(Ref, []byte) error { live++; return nil })
	}); err != nil {
		t.Fatal(err)
	}
	if live != records || came < records {
		t.Errorf("%d records live of %d, %d came", live, records, came)
	}
}

func TestSplitIsBoundedAndGoesOn(t *testing.T) {
	db, w := openDB(t), NewWriter(Hierarchical)
	now := uint32(29_000_000 / day * day)
	update := func(fn func(tx *bbolt.Tx) error) {
		t.Helper()
		if err := db.Update(func(tx *bbolt.Tx) error {
			if err := w.Begin(tx, now); err != nil {
				return err
			}
			if err := fn(tx); err != nil {
				return err
			}
			return w.Flush()
		}); err != nil {
			t.Fatal(err)
		}
	}
	update(func(*bbolt.Tx) error {
		for id := range uint32(5000) {
			w.Put(record((now+2*day)*60+1+id*17, id, 50))
		}
		return nil
	})
	now += day
	for moved, rounds := 0, 1; ; rounds++ {
		var n int
		var remain bool
		update(func(*bbolt.Tx) (err error) { n, remain, err = w.Split(999); return err })
		moved += n
		if n > 999+MaxChunk/59 { // a chunk is split as a whole
			t.Fatalf("moved %d", n)
		}
		if !remain {
			if moved != 5000 || rounds > 6 {
				t.Errorf("moved %d in %d rounds", moved, rounds)
			}
			break
		}
	}
	if err := db.View(func(tx *bbolt.Tx) error {
		return Slots(tx, func(s Slot, total, ended uint32) error {
			if s.Level != Hours || ended != 0 {
				return fmt.Errorf("%v: %d of %d ended", s, ended, total)
			}
			return nil
		})
	}); err != nil {
		t.Error(err)
	}
}

func TestARefIsNeverGivenTwice(t *testing.T) {
	db, w := openDB(t), NewWriter(ByMinute)
	now, given := uint32(29_000_000), map[Ref]uint32{}
	for id := range uint32(50) {
		if err := db.Update(func(tx *bbolt.Tx) error {
			if err := w.Begin(tx, now); err != nil { // the clock stands still, so the slot is made again and again
				return err
			}
			w.Put(record((now+5)*60, id, 10))
			return w.Flush()
		}); err != nil {
			t.Fatal(err)
		}
		if err := db.Update(func(tx *bbolt.Tx) error {
			if err := w.Begin(tx, now); err != nil {
				return err
			}
			_, err := Read(tx, now+10, Ref{}, 10, func(ref Ref, rec []byte) error {
				if old, ok := given[ref]; ok {
					t.Errorf("%v was record %d and is %d", ref, old, idOf(rec))
				}
				given[ref] = idOf(rec)
				taken, err := w.Take(ref, any)
				if taken == nil {
					t.Errorf("%v cannot be taken", ref)
				}
				return err
			})
			if err != nil {
				return err
			}
			return w.Flush()
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNextSaysWhenToLookAgain(t *testing.T) {
	db, w := openDB(t), NewWriter(Hierarchical)
	midnight := uint32(29_000_000 / day * day)
	for _, c := range []struct {
		name      string
		due, want uint32 // minutes behind midnight
	}{
		{"a minute opens", 7, 7},
		{"an hour is split one hour before it begins", 5*60 + 30, 4 * 60},
		{"a day is split one day before it begins", 5*day + 30, 4 * day},
	} {
		if err := db.Update(func(tx *bbolt.Tx) error {
			if err := w.Begin(tx, midnight); err != nil {
				return err
			}
			w.Put(record((midnight+c.due)*60, 1, 0))
			if err := w.Flush(); err != nil {
				return err
			}
			next, err := Next(tx, Ref{})
			if got := Minute(next) - midnight; err != nil || got != c.want {
				t.Errorf("%s: %d, not %d", c.name, got, c.want)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := db.Update(func(tx *bbolt.Tx) error {
			if err := w.Begin(tx, midnight); err != nil {
				return err
			}
			if err := Each(tx, func(ref Ref, _ []byte) error { _, err := w.Take(ref, any); return err }); err != nil {
				return err
			}
			return w.Flush()
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.View(func(tx *bbolt.Tx) error {
		if next, err := Next(tx, Ref{}); err != nil || !next.IsZero() {
			t.Errorf("an empty queue: %v %v", next, err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func FuzzChunk(f *testing.F) {
	c := NewChunk(nil).Add([]byte("a")).Add(make([]byte, 200))
	c.Seal([]byte("k"))
	f.Add([]byte(c))
	more := append(Chunk(nil), c...)
	binary.LittleEndian.PutUint16(more[6:], 1)
	f.Add([]byte(more))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < chunkHeader {
			return
		}
		records, n := Chunk(b).Records(), 0
		for records.Next() != nil {
			n++
		}
		if n > Chunk(b).Count() {
			t.Errorf("%d records of %d", n, Chunk(b).Count())
		}
	})
}
