package collect

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"

	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
)

// Bucket is a bucket of a store that speaks S3.
//
// A file goes up in pieces, each with its MD5 and SHA-256, which the store compares. Pieces that came across before a
// restart are found in the list of the unfinished upload and not sent again. When the store has put them together the
// object is read back and its SHA-256 compared, since digests of an object in pieces mean something else in every
// store, and not every store has them.
type Bucket struct {
	// Piece is what one request carries, and what is repeated when it fails, in bytes. Default 16 MB; S3 wants 5 MB at
	// least, and takes 10,000.
	Piece int64
	// Brought is told of each WARC file that is there whole with all that belongs to it; nil: nobody is.
	Brought func()

	bucket.Where
	core *minio.Core
	Logs *bucket.Logs // of the archive
}

// NewBucket returns a bucket. It is not asked for anything yet.
func NewBucket(where bucket.Where) (*Bucket, error) {
	core, err := minio.NewCore(where.Endpoint, &minio.Options{Creds: where.Credentials, Secure: where.Secure,
		Region: where.Region, MaxRetries: 1}) // the Sender waits and tries again, and says so
	logs, bad := bucket.OpenLogs(context.Background(), where)
	return &Bucket{Piece: 16 << 20, Where: where, core: core, Logs: logs}, errors.Join(err, bad)
}

// Check asks for what Bring needs. An error that the store itself gives, and that waiting does not mend, is ErrRefused.
func (b *Bucket) Check(ctx context.Context) error {
	_, err := b.core.ListMultipartUploads(ctx, b.Bucket, b.Prefix, "", "", "", 1)
	response := minio.ToErrorResponse(err)
	if err == nil || response.Code == minio.NoSuchUpload {
		return nil
	}
	switch response.StatusCode {
	case http.StatusForbidden, http.StatusNotFound, http.StatusUnauthorized:
		return fmt.Errorf("%w: %w", ErrRefused, b.explain(err))
	}
	return b.explain(err)
}

// digestKey is where an object says what it should be: x-amz-meta-henro-sha256.
const digestKey = "Henro-Sha256"

// Bring is that of a Place. A WARC file's index comes behind it, since nobody reads the file whole to make one there,
// and its tables, and the digests of both: whoever reads the bucket sees by these that all is whole. The log comes
// last.
func (b *Bucket) Bring(ctx context.Context, file *File) error {
	if err := b.bring(ctx, file); err != nil {
		return err
	}
	path, seal := cdxj.Path(file.here.Name()), bucket.Seal(file.SHA256, file.Name)
	index, err := open(path, filepath.Base(path))
	if err == nil {
		defer index.here.Close()
		index.made, seal = true, seal+bucket.Seal(index.SHA256, index.Name)
		err = b.bringIndex(ctx, index, file.here.Name())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sum := sha256.Sum256([]byte(seal))
	err = b.bring(ctx, &File{ReaderAt: strings.NewReader(seal), Name: file.Name + bucket.SealSuffix,
		Size: int64(len(seal)), SHA256: hex.EncodeToString(sum[:]), made: true})
	if err == nil {
		err = b.Logs.Bring(ctx, file.here.Name())
	}
	if err == nil && b.Brought != nil {
		b.Brought()
	}
	return err
}

// bringIndex brings an index, and the tables of its WARC file before it. If it is there, greater tables may have their
// rows.
func (b *Bucket) bringIndex(ctx context.Context, index *File, of string) error {
	whole, err := b.compare(ctx, path.Join(b.Prefix, index.Name), index)
	if err != nil || whole {
		return b.explain(err)
	}
	if err := b.WriteTables(of, func(name, path string) error {
		table, err := open(path, name)
		if err != nil {
			return err
		}
		defer table.here.Close()
		table.made = true
		return b.bring(ctx, table)
	}); err != nil {
		return err
	}
	return b.bring(ctx, index)
}

func (b *Bucket) bring(ctx context.Context, file *File) error {
	key := path.Join(b.Prefix, file.Name)
	for range maxTries {
		whole, err := b.compare(ctx, key, file)
		if err != nil {
			return b.explain(err)
		}
		if whole {
			return nil
		}
		if err := b.upload(ctx, key, file); err != nil {
			return b.explain(fmt.Errorf("%s: %w", file.Name, err))
		}
	}
	whole, err := b.compare(ctx, key, file)
	if err == nil && !whole {
		err = fmt.Errorf("%w: %s", ErrDigest, file.Name)
	}
	return b.explain(err)
}

// compare reads the object back and reports whether it is the file. An object that is neither the file nor the
// beginning of it, as some stores have it after they died, and was not brought for this file, is ErrConflict.
func (b *Bucket) compare(ctx context.Context, key string, file *File) (whole bool, err error) {
	info, err := b.core.StatObject(ctx, b.Bucket, key, minio.StatObjectOptions{})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.Size <= file.Size {
		body, _, _, err := b.core.GetObject(ctx, b.Bucket, key, minio.GetObjectOptions{})
		if err != nil {
			return false, err
		}
		sum, size, err := digest(body)
		if err := errors.Join(err, body.Close()); err != nil {
			return false, err
		}
		if sum == file.SHA256 && size == file.Size {
			return true, nil
		}
		if here, _, err := digest(io.NewSectionReader(file, 0, size)); err != nil || sum == here {
			return false, err
		}
	}
	if !file.made && info.UserMetadata[digestKey] != file.SHA256 {
		return false, fmt.Errorf("%w: %s", ErrConflict, key)
	}
	return false, nil
}

func (b *Bucket) options(file *File) minio.PutObjectOptions {
	return minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true,
		UserMetadata: map[string]string{digestKey: file.SHA256}}
}

// upload brings a file up, in one request if it is small.
func (b *Bucket) upload(ctx context.Context, key string, file *File) error {
	if file.Size <= b.Piece {
		p, err := b.piece(file, 0)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, pieceFor)
		defer cancel()
		_, err = b.core.PutObject(ctx, b.Bucket, key, p, p.Size(), base64.StdEncoding.EncodeToString(p.md5),
			hex.EncodeToString(p.sha256), b.options(file))
		return err
	}
	upload, there, err := b.unfinished(ctx, key)
	if err == nil && upload == "" {
		upload, err = b.core.NewMultipartUpload(ctx, b.Bucket, key, b.options(file))
	}
	if err != nil {
		return err
	}
	var parts []minio.CompletePart
	for number := 1; int64(number-1)*b.Piece < file.Size; number++ {
		part, err := b.part(ctx, key, upload, file, number, there[number])
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	if _, err = b.core.CompleteMultipartUpload(ctx, b.Bucket, key, upload, parts, b.options(file)); err != nil {
		// What cannot be put together is begun again by the next try, and costs no storage meanwhile.
		if response := minio.ToErrorResponse(err); response.StatusCode >= 400 && response.StatusCode < 500 {
			err = errors.Join(err, b.core.AbortMultipartUpload(ctx, b.Bucket, key, upload))
		}
	}
	return err
}

// piece is a part of a file with what the store compares it with.
type piece struct {
	*io.SectionReader
	md5, sha256 []byte
}

func (b *Bucket) piece(file *File, offset int64) (*piece, error) {
	size := min(b.Piece, file.Size-offset)
	m, s := md5.New(), sha256.New()
	if _, err := io.Copy(io.MultiWriter(m, s), io.NewSectionReader(file, offset, size)); err != nil {
		return nil, err
	}
	return &piece{io.NewSectionReader(file, offset, size), m.Sum(nil), s.Sum(nil)}, nil
}

// part brings one piece up, unless it is there.
func (b *Bucket) part(ctx context.Context, key, upload string, file *File, number int,
	there minio.ObjectPart) (minio.CompletePart, error) {
	p, err := b.piece(file, int64(number-1)*b.Piece)
	if err != nil {
		return minio.CompletePart{}, err
	}
	if there.Size != p.Size() || strings.Trim(there.ETag, `"`) != hex.EncodeToString(p.md5) {
		ctx, cancel := context.WithTimeout(ctx, pieceFor)
		defer cancel()
		there, err = b.core.PutObjectPart(ctx, b.Bucket, key, upload, number, p, p.Size(), minio.PutObjectPartOptions{
			Md5Base64: base64.StdEncoding.EncodeToString(p.md5), Sha256Hex: hex.EncodeToString(p.sha256),
			DisableContentSha256: true, // once for the piece, not for each 64 kB of it, which not every store knows
		})
	}
	return minio.CompletePart{PartNumber: number, ETag: there.ETag}, err
}

// unfinished returns the upload that an earlier try began, and its pieces by number.
func (b *Bucket) unfinished(ctx context.Context, key string) (upload string, parts map[int]minio.ObjectPart,
	err error) {
	// The name of a file is the beginning of no other, so all uploads below it are its own.
	list, err := b.core.ListMultipartUploads(ctx, b.Bucket, key, "", "", "", 1000)
	if minio.ToErrorResponse(err).Code == minio.NoSuchUpload {
		return "", nil, nil // what some stores say when there is none
	}
	if err != nil {
		return "", nil, fmt.Errorf("list unfinished uploads: %w", err)
	}
	for _, u := range list.Uploads {
		if u.Key == key {
			upload = u.UploadID
		}
	}
	if upload == "" {
		return "", nil, nil
	}
	parts = map[int]minio.ObjectPart{}
	for marker, more := 0, true; more; {
		page, err := b.core.ListObjectParts(ctx, b.Bucket, key, upload, marker, 1000)
		if err != nil {
			return "", nil, fmt.Errorf("list the pieces of an unfinished upload: %w", err)
		}
		for _, p := range page.ObjectParts {
			parts[p.PartNumber] = p
		}
		more = page.IsTruncated && page.NextPartNumberMarker > marker
		marker = page.NextPartNumberMarker
	}
	return upload, parts, nil
}

// explain says what to do about what the store answers.
func (b *Bucket) explain(err error) error {
	if err == nil || errors.Is(err, ErrConflict) || errors.Is(err, ErrDigest) {
		return err
	}
	return fmt.Errorf("%v at %s: %w%s", b.Where, b.Endpoint, err, bucket.Hint(err))
}
