package reading

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"henro/store"
	"henro/store/archive/bucket"
	"henro/store/archive/captures"
	"henro/store/archive/warc"
)

// ErrNoArchive is of what was named and holds none.
var ErrNoArchive = errors.New("no archive")

// ArchiveFolder returns where the WARC files of a crawl lie, finished or not: DIR/warc, or DIR itself, which may be
// anybody's collection. Without any it returns ErrNoArchive.
func ArchiveFolder(dir string) (string, error) {
	for _, in := range []string{filepath.Join(dir, "warc"), dir} {
		finished, _ := warc.Files(in) // none, where they cannot be listed
		open, _ := warc.Leftovers(in, "")
		if len(finished)+len(open) > 0 {
			return in, nil
		}
	}
	if store.Exists(filepath.Join(dir, "state")) {
		return "", fmt.Errorf("%w: %s holds no WARC files: those of a master are with its slaves, until henro nodes "+
			"collect brings them here, or in the bucket of their --archive: name s3://BUCKET/FOLDER", ErrNoArchive, dir)
	}
	return "", fmt.Errorf("%w: %s holds no WARC files: neither itself nor its folder warc", ErrNoArchive, dir)
}

// OpenArchive opens an archive: that of a bucket, whose address find reads, a WACZ file, or the folder that
// ArchiveFolder finds. unread is told of what cannot be read.
func OpenArchive(path string, find func(address string) (bucket.Where, error), unread func(what string)) (
	*captures.Archive, error) {
	if strings.HasPrefix(path, bucket.Scheme) {
		where, err := find(path)
		if err != nil {
			return nil, err
		}
		return captures.OpenBucket(where, unread)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		if path, err = ArchiveFolder(path); err != nil {
			return nil, err
		}
	}
	return captures.Open(path, unread)
}
