package proof

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"henro/store/fsync"
)

// awayFile says of how many leaves of a log the full tiles are in another place alone, and the checkpoints before them.
const awayFile = "away"

// away reads that.
func away(from Home, log string) int64 {
	text, err := from.Read(path.Join(log, awayFile), 32)
	size, err := number(strings.TrimSpace(string(text)), err)
	if err != nil {
		return 0
	}
	return size
}

// leave removes what of a log is in the other place, of files that are not here any more. Leaves there name what is
// removed; those of files that are here have to stay, since the next start looks for them.
func (b *bringing) leave(f *files, there int64) error {
	size := there
	if err := f.groups(func(g group) bool {
		if g.end <= there && b.here(g.file) {
			size = g.begin
		}
		return true
	}); err != nil {
		return err
	}
	if size>>height == b.away>>height { // no tile would go
		return nil
	}
	folder := filepath.Join(string(b.from), b.log)
	if err := fsync.WriteFile(filepath.Join(folder, awayFile), fmt.Appendln(nil, size), 0o644); err != nil {
		return err
	}
	return filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() { // the log grows meanwhile
			return nil
		} else if err != nil {
			return err
		}
		within, _ := filepath.Rel(folder, file)
		within = filepath.ToSlash(within)
		kept, isKept := strings.CutPrefix(within, checkpoints+"/")
		of, err := number(strings.TrimSuffix(kept, stampSuffix), nil)
		if isKept && err == nil && of < size {
			return os.Remove(file)
		}
		t, err := tlog.ParseTilePath(within)
		if err == nil && t.W == perTile && (t.N+1)<<(height*(max(t.L, 0)+1)) <= size {
			return os.Remove(file)
		}
		return nil
	})
}
