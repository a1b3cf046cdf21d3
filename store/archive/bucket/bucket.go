// Package bucket reads an archive of WARC files that lies in object storage, by ranges, and keeps a sorted index there.
//
// A folder of a bucket holds WARC files, each with its CDXJ beside it, as henro-slave --collect brings them. An Index
// makes of these sorted parts in the form that Common Crawl and pywb call ZipNum: blocks of lines, each compressed by
// itself, and above them a list of the first lines. A look-up costs one range of each part. Captures lie there as
// Parquet, too, for each WARC file until its part of the index has them, and pages and their links beside. A Keeper, of
// which one is at it, keeps all of these.
//
// # Invariants
//
//   - Nothing of the archive is changed or removed, but for parts of the index and tables that a greater one has taken
//     in. Whoever reads meanwhile misses no capture; in tables some may be there twice.
//   - An object is read as it was when it was listed: one that was changed since is an error.
//   - What is kept in memory is bounded by cacheBlocks blocks, and the lists of first lines.
package bucket

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Scheme is how the address of a bucket begins.
const Scheme = "s3://"

// ErrChanged is returned for an object that is not the one that was listed.
var ErrChanged = errors.New("it was changed or removed since it was listed: open the archive again")

const (
	blockSize   = 256 << 10 // of a range
	cacheBlocks = 256       // 64 MB
	maxObjects  = 2_000_000 // of a folder
	requestFor  = time.Minute
)

// Where says which folder of which store, and who asks; cmd/config reads it from an address and the environment.
type Where struct {
	Endpoint    string // HOST[:PORT]
	Secure      bool   // https
	Region      string // empty: the client finds it out
	Bucket      string
	Prefix      string // folder of the keys, without slashes around it; empty: none
	Credentials *credentials.Credentials
	Beside      *Beside // what reads the tables beside captures; nil: there are none
}

// Keys are those of the environment or of ~/.aws, else of a role that this machine has.
func Keys(role bool) *credentials.Credentials {
	from := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if role {
		from = append(from, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}})
	}
	return credentials.NewChainCredentials(from)
}

// String is the address, without who asks.
func (w Where) String() string { return Scheme + path.Join(w.Bucket, w.Prefix) }

// Bucket is a folder of object storage. Its methods may be called from any goroutine.
type Bucket struct {
	where Where
	core  *minio.Core
	now   func() time.Time

	mu     sync.Mutex
	blocks map[place]*list.Element // of recent
	recent *list.List              // of *block, the one used last in front
}

// place is where a block lies.
type place struct {
	name, etag string
	number     int64
}

type block struct {
	place
	bytes []byte
}

// Open returns a bucket. It is not asked for anything yet. transport nil is that of the client.
func Open(where Where, transport http.RoundTripper) (*Bucket, error) {
	core, err := minio.NewCore(where.Endpoint, &minio.Options{Creds: where.Credentials, Secure: where.Secure,
		Region: where.Region, Transport: transport, MaxRetries: 4})
	if err != nil {
		return nil, fmt.Errorf("%v: %w", where, err)
	}
	return &Bucket{where: where, core: core, now: time.Now, blocks: map[place]*list.Element{}, recent: list.New()}, nil
}

// String is the address of the bucket.
func (b *Bucket) String() string { return b.where.String() }

// Object is a file of the folder.
type Object struct {
	Name string // without the folder
	Size int64  // in bytes
	ETag string
	At   time.Time // when it was written, by the clock of the store
}

// List returns the files of the folder by name, without those of folders in it; at most maxObjects.
func (b *Bucket) List(ctx context.Context) (map[string]Object, error) { return b.list(ctx, "") }

// list is List of a folder in the folder.
func (b *Bucket) list(ctx context.Context, folder string) (map[string]Object, error) {
	prefix := path.Join(b.where.Prefix, folder)
	if prefix != "" {
		prefix += "/"
	}
	found := map[string]Object{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing, too
	for o := range b.core.Client.ListObjects(ctx, b.where.Bucket, minio.ListObjectsOptions{Prefix: prefix}) {
		if o.Err != nil {
			return nil, b.explain("list", o.Err)
		}
		name := strings.TrimPrefix(o.Key, prefix)
		if name == "" || strings.Contains(name, "/") {
			continue
		}
		if len(found) == maxObjects {
			return nil, fmt.Errorf("%v: more than %d files: archive into several folders", b, maxObjects)
		}
		found[name] = Object{Name: name, Size: o.Size, ETag: strings.Trim(o.ETag, `"`), At: o.LastModified}
	}
	return found, nil
}

// File reads an object from any place, by ranges.
func (b *Bucket) File(o Object) *io.SectionReader {
	return io.NewSectionReader(ranges{b, o}, 0, o.Size)
}

// Unread is an error of the store, and not of what was read.
type Unread struct{ error }

// Unwrap returns it.
func (u *Unread) Unwrap() error { return u.error }

type ranges struct {
	b *Bucket
	o Object
}

func (f ranges) ReadAt(to []byte, at int64) (n int, err error) {
	for n < len(to) && at < f.o.Size {
		data, err := f.b.block(f.o, at/blockSize)
		if err != nil {
			return n, &Unread{err}
		}
		some := copy(to[n:], data[at%blockSize:])
		n, at = n+some, at+int64(some)
	}
	if n < len(to) {
		return n, io.EOF
	}
	return n, nil
}

// block returns a block of an object, from memory if it was used lately.
func (b *Bucket) block(o Object, number int64) ([]byte, error) {
	at := place{o.Name, o.ETag, number}
	b.mu.Lock()
	if e := b.blocks[at]; e != nil {
		b.recent.MoveToFront(e)
		b.mu.Unlock()
		return e.Value.(*block).bytes, nil
	}
	b.mu.Unlock()
	first := number * blockSize
	data, err := b.get(o, first, min(blockSize, o.Size-first))
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.blocks[at] == nil { // else another reader was faster
		b.blocks[at] = b.recent.PushFront(&block{at, data})
		if b.recent.Len() > cacheBlocks {
			delete(b.blocks, b.recent.Remove(b.recent.Back()).(*block).place)
		}
	}
	return data, nil
}

// get reads a range of an object.
func (b *Bucket) get(o Object, first, size int64) ([]byte, error) {
	var options minio.GetObjectOptions
	err := errors.Join(options.SetRange(first, first+size-1), options.SetMatchETag(o.ETag))
	for try := 0; err == nil; try++ {
		var data []byte
		if data, err = b.try(o, options, size); err == nil {
			return data, nil
		}
		if response := minio.ToErrorResponse(err); try < 2 && response.StatusCode == 0 {
			err = nil // it was cut off
		} else if response.StatusCode == http.StatusPreconditionFailed || response.Code == minio.NoSuchKey {
			err = ErrChanged
		}
	}
	return nil, b.explain("read "+o.Name, err)
}

func (b *Bucket) try(o Object, options minio.GetObjectOptions, size int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestFor)
	defer cancel()
	body, _, _, err := b.core.GetObject(ctx, b.where.Bucket, path.Join(b.where.Prefix, o.Name), options)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data := bytes.NewBuffer(make([]byte, 0, size))
	if _, err = io.CopyN(data, body, size); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return data.Bytes(), err
}

// put writes an object.
func (b *Bucket) put(ctx context.Context, name string, body io.Reader, size int64) error {
	_, err := b.core.Client.PutObject(ctx, b.where.Bucket, path.Join(b.where.Prefix, name), body, size,
		minio.PutObjectOptions{ContentType: "application/octet-stream"})
	return b.explain("write "+name, err)
}

// ErrLost is returned when another node has written meanwhile what this one was about to.
var ErrLost = errors.New("another node was faster")

// replace writes a small object in place of the one that has etag, or of none if that is empty. A store that compares
// ETags refuses where it is another, with ErrLost; others do not notice.
func (b *Bucket) replace(ctx context.Context, name, etag string, text []byte) (now string, err error) {
	o := minio.PutObjectOptions{ContentType: "application/json"}
	if o.SetMatchETag(etag); etag == "" {
		o = minio.PutObjectOptions{ContentType: o.ContentType}
		o.SetMatchETagExcept("*")
	}
	ctx, cancel := context.WithTimeout(ctx, requestFor)
	defer cancel()
	info, err := b.core.Client.PutObject(ctx, b.where.Bucket, path.Join(b.where.Prefix, name), bytes.NewReader(text),
		int64(len(text)), o)
	switch minio.ToErrorResponse(err).StatusCode {
	case http.StatusPreconditionFailed, http.StatusConflict:
		err = ErrLost
	}
	return strings.Trim(info.ETag, `"`), b.explain("write "+name, err)
}

// stat returns the ETag of an object; empty: it is not there.
func (b *Bucket) stat(ctx context.Context, name string) (etag string, err error) {
	info, err := b.core.StatObject(ctx, b.where.Bucket, path.Join(b.where.Prefix, name), minio.StatObjectOptions{})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return "", nil
	}
	return strings.Trim(info.ETag, `"`), b.explain("look for "+name, err)
}

func (b *Bucket) remove(ctx context.Context, name string) error {
	err := b.core.Client.RemoveObject(ctx, b.where.Bucket, path.Join(b.where.Prefix, name), minio.RemoveObjectOptions{})
	return b.explain("remove "+name, err)
}

// explain says where, and what to do.
func (b *Bucket) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v at %s: %s: %w%s", b, b.where.Endpoint, what, err, Hint(err))
}

// Hint says what to do about what a store answers; empty: nothing is known.
func Hint(err error) string {
	switch minio.ToErrorResponse(err).Code {
	case minio.NoSuchBucket:
		return ": there is no such bucket; make it"
	case minio.AccessDenied:
		return ": these credentials may not do this, or hold no more; henro needs to get, put, delete and list " +
			"objects, and to list and abort uploads in pieces"
	case minio.InvalidAccessKeyID, minio.SignatureDoesNotMatch, "InvalidToken", "ExpiredToken":
		return ": the credentials are not those of this store; see AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and " +
			"AWS_SESSION_TOKEN"
	case minio.AuthorizationHeaderMalformed, "PermanentRedirect":
		return ": the bucket is in another region; see AWS_REGION"
	case "RequestTimeTooSkewed":
		return ": the clock of this machine is wrong"
	}
	return ""
}
