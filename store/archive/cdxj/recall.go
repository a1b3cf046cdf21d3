package cdxj

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"henro/messages/weburl"
	"henro/store/archive/warc"
)

// recallFiles bounds one Recall. A sorted index takes some 25 small reads. One that still grows is read as a whole: for
// 1 GB of WARC that is some 25 MB if it holds pages, and 300 MB if it holds nothing but answers of 304.
const recallFiles = 512

// Recall finds the latest captures of a page in a folder of WARC files, of which some may still grow: at most so many,
// the latest first. more says that there are earlier ones, or that these were not looked for. A folder that is not
// there holds none.
func Recall(dir string, url weburl.URL, most int) (latest []Entry, more bool, err error) {
	return Latest(dir, url.IndexKey(), func(e *Entry) bool {
		u, err := weburl.Parse(e.URL)
		return err == nil && u == url // others share the key
	}, most)
}

// Latest is Recall for the entries with a key that are wanted.
func Latest(dir, key string, is func(*Entry) bool, most int) (latest []Entry, more bool, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	slices.Reverse(files) // names begin with the moment at which they were begun
	read := 0
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), warc.OpenSuffix)
		if !strings.HasSuffix(name, Suffix) || name == MergedName {
			continue
		}
		if read++; read > recallFiles {
			return latest, true, nil
		}
		var found []Entry
		err := ScanFile(filepath.Join(dir, f.Name()), []byte(key+" "), func(line []byte) bool {
			if e, bad := Parse(line); bad == nil && is(&e) {
				found = append(found, e)
			}
			return true
		})
		if err != nil {
			return nil, false, err
		}
		latest = append(latest, found...)
		slices.SortStableFunc(latest, func(a, b Entry) int {
			return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Filename, b.Filename), cmp.Compare(b.Offset, a.Offset))
		})
		// An index that is being sorted is read twice.
		latest = slices.CompactFunc(latest, func(a, b Entry) bool {
			return a.Filename == b.Filename && a.Offset == b.Offset
		})
		if len(latest) > most {
			latest, more = latest[:most], true
		}
	}
	return latest, more, nil
}
