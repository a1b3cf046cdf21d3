// Package recall answers requests from what a process that died had archived and its master had not stored.
//
// A capture is on the disk before the master is told of it, and the master's state is committed some time later. After
// kill -9 the pages of the last moments are so lent once more, though what they said lies in the archive: it is read
// there, and their host is not asked again.
//
// Only what was never visited is recalled: where a revisit is due, what was archived may have been counted already. So
// nothing is recalled twice, nothing of a run that ended in order, and nothing that is older than a few minutes.
//
// An error is recalled like a page, with what is left of the rest that the host asked for: the host is observed as if
// it had answered so now. That of a robots.txt is not: it is asked for until it comes, and may have been counted.
package recall

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"henro/actors/archivist"
	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/fetch"
	"henro/slave/render"
	"henro/slave/walk"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/folder"
	"henro/store/archive/warc"
)

const (
	// within is how long before the start of this process a capture was made at most, and for how long it is kept.
	within = 10 * time.Minute
	// patience is how long requests wait for the archive to be repaired, from the start on: 1 GB takes seconds.
	patience = 30 * time.Second
	// maxRecord and maxBody bound what is read of one capture, in bytes: as it lies there, and without its codings.
	maxRecord, maxBody = 8 << 20, 64 << 20
	// maxLooked bounds the captures of a page among which the one is looked for that another refers to.
	maxLooked = 16
)

// Book holds the last captures of the process before. Its methods may be called from any goroutine; a nil Book has
// nothing.
//
// Which files that one had left open stands in a file of the archive, for a process that dies soon after its start: the
// next finds them finished.
type Book struct {
	dir   string
	left  string // the path of that file
	most  int
	log   *logrus.Entry
	began time.Time
	ready chan struct{} // closed once found is filled

	mu    sync.Mutex // held while a capture is read: one at a time
	files []string   // names of WARC files that were left open
	found map[string]cdxj.Entry
}

// Place is where a capture lies that answers a request.
type Place struct {
	archivist.Archived
	identical uint64 // bytes of its payload that lie in another capture
}

// Of makes the book of an archive, which fills it as soon as it is repaired, of so many captures at most: as many as
// there may be that no master has stored.
func Of(o *archivist.Options, most int, log *logrus.Entry) *Book {
	b := &Book{dir: o.Writer.Dir, most: most, log: log, began: time.Now(), ready: make(chan struct{})}
	b.left = filepath.Join(b.dir, "."+o.Writer.Prefix+".left")
	o.Recovered = b.fill
	return b
}

// fill takes in WARC files that a process which died had left open.
func (b *Book) fill(repaired []folder.Repaired) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var last []cdxj.Entry
	before := len(b.files)
	if b.found == nil {
		b.files = b.leftBefore()
	}
	for _, r := range repaired {
		if r.Err == nil && r.Path != "" { // else nothing was in it
			b.files = append(b.files, filepath.Base(r.Path))
		}
	}
	for _, name := range b.files[before:] {
		if err := b.read(cdxj.Path(filepath.Join(b.dir, name)), &last); err != nil {
			b.log.WithField("err", err).Warn(asksAgain)
		}
	}
	b.note()
	b.keep(&last)
	if b.found == nil {
		b.found = map[string]cdxj.Entry{}
		close(b.ready)
	}
	for _, e := range last {
		b.found[e.URL] = e
	}
}

const asksAgain = "what was archived last cannot be read: its hosts are asked for it again"

// leftBefore returns the files that processes before the last one had left open, as far as they may hold something.
func (b *Book) leftBefore() (files []string) {
	data, err := os.ReadFile(b.left)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.log.WithField("err", err).Warn(asksAgain)
	}
	for name := range strings.FieldsSeq(string(data)) {
		info, err := os.Stat(cdxj.Path(filepath.Join(b.dir, filepath.Base(name))))
		if err == nil && b.began.Sub(info.ModTime()) <= within {
			files = append(files, filepath.Base(name))
		}
	}
	return files
}

// note writes down which files were left open.
func (b *Book) note() {
	var err error
	if len(b.files) > 0 {
		err = os.WriteFile(b.left, []byte(strings.Join(b.files, "\n")+"\n"), 0o600)
	} else if err = os.Remove(b.left); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		b.log.WithField("err", err).Warn("which files were left open is not noted: a process that dies soon asks again")
	}
}

// read adds what an index lists that may be recalled.
func (b *Book) read(path string, last *[]cdxj.Entry) error {
	index, err := os.Open(path)
	if err != nil {
		return err
	}
	defer index.Close()
	return cdxj.Each(index, cdxj.Parse, func(e cdxj.Entry) error {
		method, _ := e.Asked()
		if method != "" || e.Status < 200 || e.Field(cdxj.Truncated) != "" || e.Length > maxRecord ||
			b.began.Sub(e.At) > within {
			return nil
		}
		if *last = append(*last, e); len(*last) >= 2*b.most {
			b.keep(last)
		}
		return nil
	}, func(int, error) {})
}

// keep keeps the captures that were stored last.
func (b *Book) keep(last *[]cdxj.Entry) {
	slices.SortFunc(*last, func(x, y cdxj.Entry) int {
		return cmp.Or(cmp.Compare(x.Filename, y.Filename), cmp.Compare(x.Offset, y.Offset))
	})
	*last = slices.Clone((*last)[max(0, len(*last)-b.most):])
}

// Answer returns what the archive has for a visit, once, with its place; else what ask returns, which asks the host.
func (b *Book) Answer(ctx context.Context, v *walk.Visit, ask func() *fetch.Response) (*fetch.Response, *Place) {
	if r, p := b.recall(ctx, v); r != nil {
		return r, p
	}
	return ask(), nil
}

func (b *Book) recall(ctx context.Context, v *walk.Visit) (*fetch.Response, *Place) {
	if b == nil || v.Task.GetCapturedUnix() != 0 || v.Attempts > 0 || time.Since(b.began) > within || !b.filled(ctx) {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.found[v.URL.String()]
	if !known || v.File != nil && fails(e.Status) {
		return nil, nil
	}
	delete(b.found, e.URL)
	r, p, err := b.response(v.URL, e)
	if err != nil {
		b.log.WithFields(logrus.Fields{"url": e.URL, "err": err}).Warn(asksAgain)
		return nil, nil
	}
	return r, p
}

// fails reports that a host which answers so is to rest.
func fails(status int) bool { return status >= 500 || status == http.StatusTooManyRequests }

// filled waits until the book is, and reports whether it is.
func (b *Book) filled(ctx context.Context) bool {
	select {
	case <-b.ready:
		return true
	default:
	}
	ctx, cancel := context.WithDeadline(ctx, b.began.Add(patience))
	defer cancel()
	select {
	case <-b.ready:
		return true
	case <-ctx.Done():
		return false
	}
}

// response reads a capture as if its host had answered now.
func (b *Book) response(url weburl.URL, e cdxj.Entry) (*fetch.Response, *Place, error) {
	p := &Place{Archived: archivist.Archived{File: filepath.Base(e.Filename), Offset: e.Offset, Length: e.Length}}
	record, message, payload, err := b.open(e)
	if err == nil && record.Type() == warc.Revisit {
		payload, err = b.original(e, record)
		p.identical = uint64(len(payload))
	}
	if err != nil {
		return nil, nil, err
	}
	if warc.Sum(payload).Base32() != e.Digest {
		return nil, nil, warc.ErrDamaged
	}
	r := &fetch.Response{URL: url, Status: e.Status, Header: http.Header{}, Payload: payload, Started: e.At}
	for _, f := range message.Header {
		r.Header.Add(f.Name, f.Value)
	}
	r.RetryAfter = max(0, fetch.RetryAfter(r.Header.Get("Retry-After"), r.Header.Get("Date"), e.At)-time.Since(e.At))
	body, err := captures.Uncoded(bytes.NewReader(payload), strings.Join(r.Header["Content-Encoding"], ","))
	if err == nil {
		r.Body, err = io.ReadAll(io.LimitReader(body, maxBody))
	}
	return r, p, err
}

// open reads the record of a capture.
func (b *Book) open(e cdxj.Entry) (record *warc.Entry, message *warc.Message, payload []byte, err error) {
	f, err := os.Open(filepath.Join(b.dir, filepath.Base(e.Filename)))
	if err != nil {
		return nil, nil, nil, err
	}
	defer f.Close()
	if record, err = warc.At(f, e.Offset); err == nil {
		message, err = record.HTTP()
	}
	if err == nil {
		payload, err = io.ReadAll(io.LimitReader(message.Payload(), maxBody))
	}
	return record, message, payload, err
}

// original reads the payload of a capture that refers to another one.
func (b *Book) original(e cdxj.Entry, record *warc.Entry) (payload []byte, err error) {
	url, err := weburl.Parse(record.Header.Get("WARC-Refers-To-Target-URI"))
	if err != nil {
		return nil, err
	}
	latest, _, err := cdxj.Recall(b.dir, url, maxLooked)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(latest, func(o cdxj.Entry) bool { return o.Mime != cdxj.Revisit && o.Digest == e.Digest })
	if i < 0 {
		return nil, captures.ErrNoOriginal
	}
	_, _, payload, err = b.open(latest[i])
	return payload, err
}

// Tell completes the fact of a visit that a capture answers, and lets scripts have it; v is nil where the visit was not
// of a page. A nil Place has nothing to tell.
func (p *Place) Tell(v *messages.PageVisited, r *fetch.Response, scripts *render.Lease) {
	if p == nil {
		return
	}
	scripts.Recalled(r.URL, r.Started, p.File, p.Offset)
	if v != nil {
		v.WarcFile, v.WarcOffset, v.WarcBytes = p.File, uint64(p.Offset), uint64(p.Length)
		v.CapturedUnix, v.IdenticalBytes, v.Unasked = r.Started.Unix(), p.identical, !fails(r.Status)
	}
}
