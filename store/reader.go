package store

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime/debug"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"henro/messages/weburl"
	"henro/store/fingerprint"
	"henro/store/seen"
)

// reader reads one file of the state. Each call is a transaction of its own; on a snapshot all share one.
type reader struct {
	path   string
	db     *bbolt.DB
	frozen *bbolt.Tx    // of a snapshot: every read is of that moment
	sound  *atomic.Bool // the pages of the file were looked through, and no damage was met since
}

func (r *reader) view(doing string, fn func(*bbolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer r.noteDamage(&err)
	defer rescue(doing, &err)
	if r.frozen != nil {
		return diagnose(doing, fn(r.frozen))
	}
	return diagnose(doing, r.db.View(fn))
}

// noteDamage makes the next opening look through all pages where damage was met.
func (r *reader) noteDamage(err *error) {
	if errors.Is(*err, ErrCorrupt) {
		r.sound.Store(false)
	}
}

// rescue turns a panic into an error: bbolt panics on broken pages, and reading a file that was cut off faults.
func rescue(doing string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: %w (%v)", doing, ErrCorrupt, r)
	}
}

// Tables are what a partition holds, each with what reads it.
type Tables struct {
	Hosts       Hosts
	Fresh       Fresh
	Pages       Pages
	Seen        Seen
	Links       LinkSets
	Leases      Table[Lease]
	Outbox      Table[Parcel]     // the oldest first
	Relaxations Table[Relaxation] // pages whose links are to be admitted again
	Metas       Metas
}

func tablesOf(r *reader) Tables {
	return Tables{
		Hosts: Hosts{Table[HostRecord]{r, bucketHosts, readHost}}, Fresh: Fresh{r}, Pages: Pages{r}, Seen: Seen{r},
		Links:       LinkSets{r},
		Leases:      Table[Lease]{r, bucketLeases, alone(decodeLease)},
		Outbox:      Table[Parcel]{r, bucketOutbox, alone(decodeParcel)},
		Relaxations: Table[Relaxation]{r, bucketRelax, readRelaxation}, Metas: Metas{r},
	}
}

// Table reads the values of one bucket, in the order of their keys.
type Table[T any] struct {
	*reader
	bucket []byte
	decode func(tx *bbolt.Tx, key, v []byte) (T, error)
}

// alone is a decoder that needs nothing but the value.
func alone[T any](decode func(key, v []byte) (T, error)) func(*bbolt.Tx, []byte, []byte) (T, error) {
	return func(_ *bbolt.Tx, key, v []byte) (T, error) { return decode(key, v) }
}

// Each calls fn for every value, on one snapshot, until it returns an error.
func (t Table[T]) Each(fn func(T) error) error {
	return t.view("read "+string(t.bucket), func(tx *bbolt.Tx) error {
		return tx.Bucket(t.bucket).ForEach(func(k, v []byte) error {
			value, err := t.decode(tx, k, v)
			if err != nil {
				return err
			}
			return fn(value)
		})
	})
}

// All reads all values.
func (t Table[T]) All() ([]T, error) { return t.First(math.MaxInt) }

// First reads up to limit values.
func (t Table[T]) First(limit int) ([]T, error) { return t.Within(limit, math.MaxInt) }

// Within reads up to limit values, and stops once they take size bytes on disk.
func (t Table[T]) Within(limit, size int) ([]T, error) { return t.list(nil, limit, size) }

func (t Table[T]) list(from []byte, limit, size int) (values []T, err error) {
	err = t.view("read "+string(t.bucket), func(tx *bbolt.Tx) error {
		c := tx.Bucket(t.bucket).Cursor()
		for k, v := c.Seek(from); k != nil; k, v = c.Next() {
			if len(values) >= limit || size <= 0 {
				return nil
			}
			size -= len(v)
			value, err := t.decode(tx, k, v)
			if err != nil {
				return err
			}
			values = append(values, value)
		}
		return nil
	})
	return values, err
}

// Hosts reads the hosts, in the order of their ids.
type Hosts struct{ Table[HostRecord] }

// Get reads one host, or ErrNotFound.
func (t Hosts) Get(id HostID) (h HostRecord, err error) {
	err = t.view("read host", func(tx *bbolt.Tx) error {
		key := key64(uint64(id))
		v := tx.Bucket(bucketHosts).Get(key)
		if v == nil {
			return ErrNotFound
		}
		h, err = readHost(tx, key, v)
		return err
	})
	return h, err
}

// List reads up to limit hosts behind one; 0 starts.
func (t Hosts) List(after HostID, limit int) ([]HostRecord, error) {
	var from []byte
	if after != 0 {
		from = append(key64(uint64(after)), 0) // the least key behind it
	}
	return t.list(from, limit, math.MaxInt)
}

// InBatches yields every host, size a transaction. A host that is new meanwhile may be left out. After an error, of
// which the host is nil, nothing is yielded.
func (t Hosts) InBatches(size int) iter.Seq2[*HostRecord, error] {
	return func(yield func(*HostRecord, error) bool) {
		for after, more := HostID(0), true; more; {
			records, err := t.List(after, size)
			if err != nil {
				yield(nil, err)
			}
			for i := range records {
				if after = records[i].ID; !yield(&records[i], nil) {
					return
				}
			}
			more = len(records) == size
		}
	}
}

// eachName calls fn for every host, on one snapshot.
func (t Hosts) eachName(fn func(id HostID, name string)) error {
	return t.view("read the names of hosts", func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketHosts).ForEach(func(k, v []byte) error {
			b, err := unseal(k, v)
			if err != nil {
				return fmt.Errorf("host %x: %w", k, err)
			}
			s := scanner{rest: b}
			name := s.string()
			if s.bad {
				return fmt.Errorf("host %x: %w", k, ErrCorrupt)
			}
			fn(hostKey(k), name)
			return nil
		})
	})
}

// readHost reads a host from the buckets that have parts of it.
func readHost(tx *bbolt.Tx, key, v []byte) (HostRecord, error) {
	h, err := decodeHost(key, v)
	if err != nil {
		return h, err
	}
	if v := tx.Bucket(bucketRobots).Get(key); v != nil {
		b, err := unseal(key, v)
		if err != nil {
			return h, fmt.Errorf("robots of %s: %w", h.Name, err)
		}
		h.Robots = append([]byte(nil), b...)
	}
	if v := tx.Bucket(bucketCounts).Get(key); v != nil {
		c, err := decodeCounts(key, v)
		if err != nil {
			return h, err
		}
		h.Waiting, h.Known, h.Visited, h.Load = c.waiting, c.known, c.visited, float64(c.load)/loadUnit
	}
	return h, nil
}

// Seen reads the seen set.
type Seen struct{ *reader }

// Get reports whether a URL is known, with which depth left, and whether it was visited or given up.
func (t Seen) Get(url string) (depthLeft uint8, visited, known bool, err error) {
	e, known, err := t.entry(url)
	return e.DepthLeft(), e.Visited(), known, err
}

func (t Seen) entry(url string) (e seen.Entry, known bool, err error) {
	err = t.view("read seen set", func(tx *bbolt.Tx) error {
		set, err := seen.Read(tx)
		if err != nil {
			return err
		}
		e, known, err = set.Get(uint64(IDOf(weburl.HostOf(url))), fingerprint.URL(url))
		return err
	})
	return e, known, err
}

// IsPage reports whether the URL of a record is a page by itself. If a page came to link to a requisite after its last
// visit, only the seen set knows.
func (t Seen) IsPage(page *Page) (bool, error) {
	if page.Flags.Requisite() == 0 {
		return true, nil
	}
	e, _, err := t.entry(page.URL)
	return e.IsPage(), err
}

// Host reads up to max fingerprints of a host, ascending, and whether they are all. The lowest eight bits are not kept:
// they read as zero, and a comparison must clear them too.
func (t Seen) Host(host HostID, max int) (fps []uint64, complete bool, err error) {
	complete = true
	err = t.view("read known URLs", func(tx *bbolt.Tx) error {
		set, err := seen.Read(tx)
		if err != nil {
			return err
		}
		return set.Host(uint64(host), func(e seen.Entry) bool {
			if len(fps) >= max {
				complete = false
				return false
			}
			fps = append(fps, e.Fingerprint())
			return true
		})
	})
	return fps, complete, err
}

// Metas reads the owner's own values, which PutMeta stored.
type Metas struct{ *reader }

// ownMeta stands before the names of PutMeta.
const ownMeta = "own/"

// Get reads a value; nil when there is none.
func (t Metas) Get(name string) (value []byte, err error) {
	err = t.view("read meta "+name, func(tx *bbolt.Tx) error {
		key := []byte(ownMeta + name)
		v := tx.Bucket(bucketMeta).Get(key)
		if v == nil {
			return nil
		}
		b, err := unseal(key, v)
		value = append([]byte{}, b...)
		return err
	})
	return value, err
}

// Each calls fn for every value whose name begins with a prefix.
func (t Metas) Each(prefix string, fn func(name string, value []byte) error) error {
	return t.view("read metas "+prefix, func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketMeta).Cursor()
		own := []byte(ownMeta + prefix)
		for k, v := c.Seek(own); k != nil && bytes.HasPrefix(k, own); k, v = c.Next() {
			value, err := unseal(k, v)
			if err != nil {
				return err
			}
			if err := fn(string(k[len(ownMeta):]), value); err != nil {
				return err
			}
		}
		return nil
	})
}
