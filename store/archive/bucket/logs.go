package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"

	"henro/store/proof"
)

// LogsFolder is the folder of a bucket in which the logs of its archive lie, as package proof has them, but that tiles
// which have grown stay.
const LogsFolder = "proof"

// Logs are the logs of an archive in a bucket: a proof.Away. Its methods, but for Own, may be called from any
// goroutine.
type Logs struct {
	b   *Bucket
	ctx context.Context // of reading

	mu     sync.Mutex
	failed error  // of the store
	owner  string // the crawl whose archive this is, once that was seen
}

// CrawlName is the object that has the number of the crawl whose archive it is.
const CrawlName = "crawl.id"

// ErrTaken is returned for the archive of another crawl.
var ErrTaken = errors.New("it is the archive of another crawl")

// Own has the archive be that of a crawl from now on, which ErrTaken says that it cannot; "": of one that is not known.
func (l *Logs) Own(ctx context.Context, crawl string) error {
	if crawl == "" || crawl == l.owner {
		return nil
	}
	there, err := l.read(ctx, CrawlName, 64)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = l.b.replace(ctx, CrawlName, "", []byte(crawl)); err == nil || errors.Is(err, ErrLost) {
			there, err = l.read(ctx, CrawlName, 64) // another may have been faster
		}
	}
	if err == nil && string(there) != crawl {
		err = fmt.Errorf("%v: %w, %.40q, and these pages are of %s: give another folder as --archive, or remove %s "+
			"there if both are to be one archive", l.b, ErrTaken, there, crawl, CrawlName)
	}
	if err == nil {
		l.owner = crawl
	}
	return err
}

// Logs returns the logs of a bucket, read until a context ends.
func (b *Bucket) Logs(ctx context.Context) *Logs { return &Logs{b: b, ctx: ctx} }

// OpenLogs is Logs of the bucket there.
func OpenLogs(ctx context.Context, where Where) (*Logs, error) {
	b, err := Open(where, nil)
	if err != nil {
		return nil, err
	}
	return b.Logs(ctx), nil
}

// Bring brings the logs of the folder in which a WARC file is that was brought: see proof.Bring.
func (l *Logs) Bring(ctx context.Context, file string) error {
	l.mu.Lock()
	l.failed = nil
	l.mu.Unlock()
	dir := filepath.Dir(file)
	return proof.Bring(ctx, proof.Disk(proof.Path(dir)), l, dir, filepath.Base(file))
}

// String is the address of their folder.
func (l *Logs) String() string { return l.b.String() + "/" + LogsFolder }

// Keeps is true.
func (l *Logs) Keeps() bool { return true }

// Failed is the first error of the store, for which no file is to blame.
func (l *Logs) Failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

func (l *Logs) fail(what string, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err = l.b.explain(what, err); l.failed == nil {
		l.failed = err
	}
	return err
}

func (l *Logs) key(name string) string { return path.Join(LogsFolder, name) }

// Read reads an object of at most so many bytes; fs.ErrNotExist.
func (l *Logs) Read(name string, most int) ([]byte, error) { return l.read(l.ctx, l.key(name), most) }

func (l *Logs) read(ctx context.Context, key string, most int) (data []byte, err error) {
	for range 3 { // what is cut off is asked for again
		if data, err = l.try(ctx, key, most); err == nil || minio.ToErrorResponse(err).StatusCode != 0 {
			break
		}
	}
	switch {
	case err == nil && len(data) > most:
		return nil, fmt.Errorf("is longer than %d bytes", most)
	case minio.ToErrorResponse(err).Code == minio.NoSuchKey:
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, l.fail("read "+key, err)
	}
	return data, nil
}

func (l *Logs) try(ctx context.Context, key string, most int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestFor)
	defer cancel()
	body, _, _, err := l.b.core.GetObject(ctx, l.b.where.Bucket, path.Join(l.b.where.Prefix, key),
		minio.GetObjectOptions{})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, int64(most)+1))
}

// Names lists what is in a folder.
func (l *Logs) Names(folder string) (names []string, err error) {
	prefix := path.Join(l.b.where.Prefix, l.key(folder)) + "/"
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel() // ends the listing, too
	for o := range l.b.core.Client.ListObjects(ctx, l.b.where.Bucket, minio.ListObjectsOptions{Prefix: prefix}) {
		if o.Err != nil {
			return nil, l.fail("list "+l.key(folder), o.Err)
		}
		if len(names) == maxObjects {
			return nil, fmt.Errorf("more than %d files", maxObjects)
		}
		if name := strings.TrimSuffix(strings.TrimPrefix(o.Key, prefix), "/"); name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// Put writes an object that has these bytes or none, or the first of them, as some stores have it after they died, and
// reads it back. proof.ErrOther: it has others.
func (l *Logs) Put(ctx context.Context, name string, data []byte) error {
	return l.write(ctx, name, data, false)
}

// Renew is Put of an object that is replaced.
func (l *Logs) Renew(ctx context.Context, name string, data []byte) error {
	return l.write(ctx, name, data, true)
}

func (l *Logs) write(ctx context.Context, name string, data []byte, renew bool) error {
	key := l.key(name)
	for range 3 {
		there, err := l.read(ctx, key, len(data))
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case err == nil && bytes.Equal(there, data):
			return nil
		case err != nil && !missing && l.Failed() != nil:
			return err
		case !missing && !renew && (err != nil || !bytes.HasPrefix(data, there)):
			return fmt.Errorf("%s: %w", key, proof.ErrOther)
		}
		if err := l.b.put(ctx, key, bytes.NewReader(data), int64(len(data))); err != nil {
			return err
		}
	}
	there, err := l.read(ctx, key, len(data))
	if err == nil && !bytes.Equal(there, data) {
		err = fmt.Errorf("%v: %s is not what was written, three times", l.b, key)
	}
	return err
}
