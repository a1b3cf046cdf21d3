package bucket

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/fingerprint"
	"henro/store/report/tables"
)

// sums are what is compared of the pages and edges of a WARC file: how many they are, which captures pages are of, and
// that the links of each are among edges.
type sums struct {
	pages, edges, links int64
	captures            uint64 // of pages: the sum of their fingerprints
	linked              uint64 // of captures, each by its links
	edged               uint64 // the same, of edges
}

// FingerprintAt is the fingerprint of what a file, or a URL, has at an offset.
func FingerprintAt(of string, offset int64) uint64 {
	return fingerprint.URL(strconv.FormatInt(offset, 10) + " " + of)
}

// page counts a record that pages has, by what its index says.
func (c *checking) page(r *warc.Entry, e cdxj.Entry) {
	if r.Type() == warc.Response && e.Status > 0 {
		s := c.pages[e.Filename]
		s.pages, s.captures = s.pages+1, s.captures+FingerprintAt(e.URL, e.Offset)
		c.pages[e.Filename] = s
	}
}

// beside compares the files of pages and edges with the records, whatever made them: links are counted alone, since
// another version may find more of them.
func (c *checking) beside(x *Index) error {
	if c.b.where.Beside == nil {
		return nil
	}
	kept, has := x.gathered(c.besides)
	files := map[string][]string{} // by the name of a table
	for _, p := range kept {
		files[p.Name] = p.Files
	}
	for _, name := range c.files {
		of := tableOf(name)
		if files[of] = []string{name}; !has[of] && c.objects[cdxj.Path(name)].Name != "" &&
			(c.besides[0][of].Name == "" || c.besides[1][of].Name == "") {
			c.Unpaged++
		}
	}
	for _, of := range slices.Sorted(maps.Keys(c.besides[0])) {
		if of, known := files[of], c.besides[1][of]; of == nil || known.Name == "" {
			continue // the next pass removes it or reads the other one again
		}
		if err := c.pair(of, files[of]); err != nil && !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return nil
}

// pair compares a file of pages and its edges.
func (c *checking) pair(of string, files []string) error {
	got := map[string]*sums{}
	for i, t := range c.b.where.Beside.both() {
		o := c.besides[i][of]
		path := filepath.Join(c.dir, "got"+tableSuffix)
		err := c.b.copy(o, path)
		if err == nil {
			bad := countRows(path, t, i == 1, got)
			if bad != nil {
				c.note("%s: %v: remove it, and henro check --repair makes it again", o.Name, bad)
				got = nil
			}
		}
		if err = errors.Join(err, os.Remove(path)); err != nil || got == nil {
			return err
		}
	}
	differs := func(format string, values ...any) {
		c.note("%s and the edges of that name: %s: remove both, and henro check --repair makes them again",
			c.besides[0][of].Name, fmt.Sprintf(format, values...))
	}
	for _, name := range files {
		is := got[name]
		if delete(got, name); is == nil {
			is = &sums{}
		}
		switch want := c.pages[name]; {
		case c.objects[name].Name == "":
		case is.pages != want.pages || is.captures != want.captures:
			differs("%d pages of %s, which has %d, or others", is.pages, name, want.pages)
		case is.links != is.edges || is.linked != is.edged:
			differs("%d edges of %s, of whose pages are %d, or others", is.edges, name, is.links)
		}
	}
	for name := range got {
		differs("rows of %q, which they do not have", name)
	}
	return nil
}

// countRows adds up the rows of a file.
func countRows(path string, t *tables.Table, edge bool, got map[string]*sums) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, at := t.Column("warc_filename"), t.Column("warc_record_offset")
	links, url := t.Column("links"), t.Column("url")
	return eachRow(f, info.Size(), t, func(row tables.Row) error {
		name, offset := row.Value(file).Text, row.Value(at).Int
		s := got[name]
		if s == nil {
			if len(got) >= maxObjects {
				return fmt.Errorf("has rows of more than %d files", maxObjects)
			}
			s = &sums{}
			got[name] = s
		}
		one := FingerprintAt(name, offset)
		if edge {
			s.edges, s.edged = s.edges+1, s.edged+one
		} else {
			n := row.Value(links).Int
			s.pages, s.captures = s.pages+1, s.captures+FingerprintAt(row.Value(url).Text, offset)
			s.links, s.linked = s.links+n, s.linked+uint64(n)*one
		}
		return nil
	})
}
