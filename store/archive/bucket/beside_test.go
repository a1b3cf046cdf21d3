package bucket

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/report/tables"
)

// ofRecords has a page for each response, with as many links as its digest has letters A.
var ofRecords = &Beside{Pages: asMany.Pages, Edges: asMany.Edges,
	Read: func(file io.ReadSeeker, name string, show func(bool, tables.Row) error) error {
		_, err := warc.Walk(file, func(r *warc.Entry) error {
			e, ok, err := cdxj.Of(r, name)
			if err != nil || !ok || r.Type() != warc.Response {
				return errors.Join(err, r.Close())
			}
			of := func(n int64) tables.Value { return tables.Value{Kind: tables.Integer, Int: n} }
			text := func(s string) tables.Value { return tables.Value{Kind: tables.Text, Text: s} }
			links := 1 + strings.Count(e.Digest, "A")
			err = show(false, &readRow{values: []tables.Value{text(e.URL), of(int64(links)), text(name), of(e.Offset)}})
			for range links {
				err = errors.Join(err, show(true, &readRow{values: []tables.Value{text(name), of(e.Offset),
					{Kind: tables.Boolean}}}))
			}
			return err
		})
		return err
	}}

// TestPagesAndEdgesAreComparedWithTheRecords, whether they are of a WARC file or of a part: a row that is gone, doubled
// or of another file is named, and so is what is no Parquet. Each is made again where it was removed.
func TestPagesAndEdgesAreComparedWithTheRecords(t *testing.T) {
	from := newSlave(t)
	paths := []string{from.file("1", 30), from.file("2", 20)}
	written := func(file string, change func(n int, edge bool, row *readRow) int) (made [][]byte) {
		t.Helper()
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := ofRecords.newPair(t.TempDir(), "a")
		n := 0
		err = errors.Join(err, ofRecords.Read(f, filepath.Base(file), func(edge bool, r tables.Row) error {
			n++
			row := r.(*readRow)
			for range change(n, edge, row) {
				err = errors.Join(err, p.add(edge, row))
			}
			return err
		}), p.finish())
		for _, path := range p.paths {
			data, bad := os.ReadFile(path)
			made, err = append(made, data), errors.Join(err, bad)
		}
		if err = errors.Join(err, p.remove()); err != nil {
			t.Fatal(err)
		}
		return made
	}
	same := func(int, bool, *readRow) int { return 1 }
	whole := written(paths[0], same)
	if other := written(paths[0], same); !bytes.Equal(whole[0], other[0]) || !bytes.Equal(whole[1], other[1]) {
		t.Error("the same file gives other bytes")
	}
	times := func(which bool, times int) func(int, bool, *readRow) int {
		return func(n int, edge bool, _ *readRow) int {
			if edge == which && n > 20 && n < 25 {
				return times
			}
			return 1
		}
	}
	changes := map[string][][]byte{
		"whole":                {whole[0], whole[1]},
		"pages are gone":       written(paths[0], times(false, 0)),
		"pages are twice":      written(paths[0], times(false, 2)),
		"edges are gone":       written(paths[0], times(true, 0)),
		"edges are twice":      written(paths[0], times(true, 2)),
		"pages are no Parquet": {[]byte("PAR1 PAR1"), whole[1]},
		"edges are cut off":    {whole[0], whole[1][:len(whole[1])-9]},
		"edges are empty":      {whole[0], nil},
		"pages are edges":      {whole[1], whole[1]},
		"a page of another URL": written(paths[0], func(n int, edge bool, row *readRow) int {
			if !edge && n > 1 {
				row.values[0].Text += "x"
			}
			return 1
		}),
		"edges of another page": written(paths[0], func(_ int, edge bool, row *readRow) int {
			if edge {
				row.values[1].Int++
			}
			return 1
		}),
		"rows of a file that is not there": written(paths[0], func(n int, _ bool, row *readRow) int {
			if n == 1 {
				row.values[2].Text = "other.warc.gz"
			}
			return 1
		}),
		"rows of another file": written(paths[1], same),
	}
	for name, data := range changes {
		for _, taken := range []bool{false, true} {
			s := newS3(t)
			s.where.Beside = ofRecords
			from.bring(s, paths[0])
			b := s.open(t)
			if err := s.where.WriteTables(paths[0], func(to, path string) error {
				return b.putFile(t.Context(), to, path)
			}); err != nil {
				t.Fatal(err)
			}
			if taken {
				if _, err := s.keeper(t).Pass(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.check(t, nil); got.Count > 0 || got.Unpaged > 0 {
				t.Fatalf("as it was brought, taken %v: %d, %q", taken, got.Unpaged, got.Problems)
			}
			there, err := b.besides(t.Context())
			if err != nil || len(there[0]) != 1 || len(there[1]) != 1 {
				t.Fatal(there, err)
			}
			for i := range there {
				for _, o := range there[i] {
					s.put(t, o.Name, data[i])
				}
			}
			got := s.check(t, nil)
			named := slices.ContainsFunc(got.Problems, func(p string) bool { return strings.Contains(p, "remove ") })
			if named == (name == "whole") || (got.Count == 0) != (name == "whole") {
				t.Errorf("%s, taken %v: %q", name, taken, got.Problems)
			}
			for i := range there { // as is said
				for _, o := range there[i] {
					if err := b.remove(t.Context(), o.Name); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := s.check(t, nil); got.Unpaged != 1 || got.Count > 0 {
				t.Errorf("%s, removed: %d, %q", name, got.Unpaged, got.Problems)
			}
			if _, err := s.keeper(t).Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := s.check(t, nil); got.Unpaged > 0 || got.Count > 0 {
				t.Errorf("%s, made again: %d, %q", name, got.Unpaged, got.Problems)
			}
		}
	}
}

// TestManyFilesBecomeFew: a part that is much greater than what comes is not written again.
func TestManyFilesBecomeFew(t *testing.T) {
	s := newS3(t)
	s.bring(t, "great", leastGathered/3+1, false)
	written := map[string]int{}
	for i := range 9 {
		s.bring(t, fmt.Sprint("a", i), 10, true)
		s.at = s.at.Add(2 * grace) // parts of the index that are gone leave the list of parts
		if _, err := s.keeper(t).Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		there, err := s.open(t).besides(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name := range there[0] {
			written[name]++
		}
	}
	if _, files := s.beside(t); files != 4 || len(written) != 9 {
		t.Errorf("%d files, of %v", files, written)
	}
}

// TestAColumnThatCameLaterIsEmpty in what an earlier henro wrote, which is gathered with the rest.
func TestAColumnThatCameLaterIsEmpty(t *testing.T) {
	s := newS3(t)
	s.bring(t, "a", 5, true)
	later := *asMany
	wider := *asMany.Pages
	wider.Columns = append(slices.Clone(wider.Columns), tables.Column{Name: "later", Kind: tables.Text})
	later.Pages = &wider
	s.where.Beside = &later
	if _, err := s.keeper(t).Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := s.open(t)
	there, err := b.besides(t.Context())
	if err != nil || len(there[0]) != 1 {
		t.Fatal(there, err)
	}
	rows := 0
	for _, o := range there[0] {
		err = eachRow(b.File(o), o.Size, &wider, func(row tables.Row) error {
			if rows++; row.Value(4).Kind != tables.Empty || row.Value(1).Int != 2 {
				t.Errorf("row %d: %v, %v", rows, row.Value(4), row.Value(1))
			}
			return nil
		})
	}
	if err != nil || rows == 0 {
		t.Error(rows, err)
	}
}

// TestAFileThatIsBeingBroughtIsNoDamage: its index and its seal come behind it. One that came long ago, or that has its
// seal, has lost its index.
func TestAFileThatIsBeingBroughtIsNoDamage(t *testing.T) {
	for _, c := range []struct {
		ago      time.Duration
		sealed   bool
		arriving int
	}{{0, false, 1}, {0, true, 0}, {2 * keepAfter, false, 0}} {
		s, from := newS3(t), newSlave(t)
		s.at = time.Now().Add(-c.ago)
		path := from.file("1", 3)
		if err := s.open(t).putFile(t.Context(), "1.warc.gz", path); err != nil {
			t.Fatal(err)
		}
		if c.sealed {
			s.put(t, "1.warc.gz"+SealSuffix, []byte(Seal(strings.Repeat("0a", 32), "1.warc.gz")))
		}
		got := s.check(t, nil)
		if got.Arriving != c.arriving || (got.Count == 0) != (c.arriving == 1) {
			t.Errorf("%+v: %+v", c, got)
		}
		a, err := OpenArchive(s.where, t.TempDir())
		said := ""
		if err == nil {
			_, err = a.Refresh(t.Context(), func(what string) { said += what })
		}
		if err != nil || !strings.Contains(said, "left out") ||
			strings.Contains(said, "is being brought") != (c.arriving == 1) {
			t.Errorf("%+v: %q, %v", c, said, err)
		}
	}
}
