package cdxj

import (
	"bytes"
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
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	slices.Reverse(files) // names begin with the moment at which they were begun
	read := 0
	for _, f := range files {
		name, grows := strings.CutSuffix(f.Name(), warc.OpenSuffix)
		if !strings.HasSuffix(name, Suffix) || name == MergedName {
			continue
		}
		if read++; read > recallFiles {
			return latest, true, nil
		}
		found, err := recallFile(filepath.Join(dir, f.Name()), grows, url)
		if errors.Is(err, fs.ErrNotExist) {
			found, err = recallFile(filepath.Join(dir, name), false, url) // it was finished meanwhile
		}
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

// recallFile finds the captures in one index.
func recallFile(path string, grows bool, url weburl.URL) (found []Entry, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	each := func(e Entry) bool {
		if u, err := weburl.Parse(e.URL); err == nil && u == url { // others share the key
			found = append(found, e)
		}
		return true
	}
	if !grows {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		err = Lookup(f, info.Size(), url.IndexKey(), each)
		return found, err
	}
	want := []byte(url.IndexKey() + " ")
	err = ScanOpen(f, func(line []byte) bool {
		if bytes.HasPrefix(line, want) {
			if e, err := Parse(line); err == nil {
				each(e)
			}
		}
		return true
	})
	return found, err
}
