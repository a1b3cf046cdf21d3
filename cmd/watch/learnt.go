package watch

import (
	"errors"
	"time"

	"github.com/cespare/xxhash/v2"
	"go.etcd.io/bbolt"

	"henro/store/report/news"
)

// Learnt is what was learnt of a page, for others that visit it; nil: nothing was. Any goroutine may ask.
func (w *Watcher) Learnt(url string) (record []byte) {
	w.open.RLock()
	defer w.open.RUnlock()
	if w.closed {
		return nil
	}
	_ = w.db.View(func(tx *bbolt.Tx) error {
		r := news.NewRecord()
		if at := load(tx, 0, xxhash.Sum64String(url), r); !at.IsZero() {
			record = r.Append(nil)
		}
		return nil
	})
	return record
}

var errNothingNew = errors.New("nothing was learnt")

// Adopt takes over what another has learnt of a page: all of it if the other visited the page last, or else what a
// reader has said alone. Any goroutine may call it.
func (w *Watcher) Adopt(url string, record []byte, all bool) error {
	w.open.RLock()
	defer w.open.RUnlock()
	if w.closed {
		return nil
	}
	return adopt(w.db.Update, url, record, all)
}

func adopt(update func(func(*bbolt.Tx) error) error, url string, record []byte, all bool) error {
	theirs, key := news.NewRecord(), xxhash.Sum64String(url)
	if theirs.Parse(record) != nil {
		return nil // what is damaged is learnt again
	}
	err := update(func(tx *bbolt.Tx) error {
		own := news.NewRecord()
		at := load(tx, 0, key, own)
		if !own.Adopt(theirs, all) {
			return errNothingNew
		}
		if at.IsZero() {
			at = time.Unix(0, 0)
		}
		return save(tx, 0, key, at, own)
	})
	if errors.Is(err, errNothingNew) {
		return nil
	}
	return err
}
