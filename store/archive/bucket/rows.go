package bucket

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// table compares a table with the one that write makes of the lines that it should have. One that went meanwhile is
// passed over: a greater one has taken its rows in.
func (c *checking) table(of string, write func(to string) error) error {
	o, there := c.tables[of]
	if !there {
		return nil
	}
	got, want := filepath.Join(c.dir, "got"+tableSuffix), filepath.Join(c.dir, "want"+tableSuffix)
	err := write(want)
	if err == nil {
		err = c.b.copy(o, got)
	}
	if errors.Is(err, ErrChanged) {
		err = nil
	} else if err == nil {
		var differs string
		if differs, err = compareTables(got, want); differs != "" {
			c.note("%s: %s: remove it, and henro check --repair makes it again", o.Name, differs)
		}
	}
	return errors.Join(err, os.RemoveAll(got), os.RemoveAll(want))
}

// digest is the SHA-256 of a file, in hexadecimal digits, and how many bytes it has.
func digest(path string) (size int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	hash := sha256.New()
	size, err = io.Copy(hash, f)
	return size, hex.EncodeToString(hash.Sum(nil)), err
}

// compareTables says how a file of Parquet, of whatever writer, differs from one of ours; empty: it does not. Columns
// of ours that it does not have count for nothing, but for those that say where a capture is.
func compareTables(got, want string) (differs string, err error) {
	var files [2]*os.File
	var sizes [2]int64
	var sums [2]string
	for i, path := range []string{got, want} {
		if sizes[i], sums[i], err = digest(path); err == nil {
			files[i], err = os.Open(path)
		}
		if err != nil {
			return "", err
		}
		defer files[i].Close()
	}
	if sums[0] == sums[1] {
		return "", nil
	}
	if sizes[0] > 4*sizes[1]+1<<20 {
		return fmt.Sprintf("has %d bytes, and its rows %d", sizes[0], sizes[1]), nil
	}
	defer func() {
		if p := recover(); p != nil { // what reads Parquet does so on some that is damaged
			differs = fmt.Sprintf("is no Parquet: %.100v", p)
		}
	}()
	theirs, err := parquet.OpenFile(files[0], sizes[0])
	if err != nil {
		return "is no Parquet: " + err.Error(), nil
	}
	ours, err := parquet.OpenFile(files[1], sizes[1])
	if err != nil {
		return "", err
	}
	return compareRows(theirs, ours), nil
}

func compareRows(got, want *parquet.File) string {
	at := columnsOf(got)
	for _, name := range []string{"url", "warc_filename", "warc_record_offset"} {
		if _, there := at[name]; !there {
			return "has no column " + name
		}
	}
	a, b := parquet.MultiRowGroup(got.RowGroups()...).Rows(), parquet.MultiRowGroup(want.RowGroups()...).Rows()
	defer a.Close()
	defer b.Close()
	var one, other [1]parquet.Row
	for row := 1; ; row++ {
		n, err1 := a.ReadRows(one[:])
		m, err2 := b.ReadRows(other[:])
		for _, err := range []error{err1, err2} {
			if err != nil && err != io.EOF {
				return fmt.Sprintf("row %d: %v", row, err)
			}
		}
		switch {
		case n != m:
			return fmt.Sprintf("has %d rows, and the index %d", got.NumRows(), want.NumRows())
		case n == 0:
			return ""
		}
		for name, i := range columnsOf(want) {
			if j, there := at[name]; there && !parquet.Equal(value(one[0], j), value(other[0], i)) {
				return fmt.Sprintf("row %d has another %s than its line of the index", row, name)
			}
		}
	}
}

// columnsOf are the places of flat columns, by name.
func columnsOf(f *parquet.File) map[string]int {
	at := map[string]int{}
	for i, path := range f.Schema().Columns() {
		if len(path) == 1 {
			at[path[0]] = i
		}
	}
	return at
}

// value is that of a column, which may lie anywhere in a row.
func value(row parquet.Row, column int) parquet.Value {
	if i := slices.IndexFunc(row, func(v parquet.Value) bool { return v.Column() == column }); i >= 0 {
		return row[i]
	}
	return parquet.Value{}
}
