package captures

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"henro/messages/weburl"
	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
)

// TestWhatIsWrongInABucketIsFound: every kind of damage is named, a bucket without any is clean, and none is changed.
func TestWhatIsWrongInABucketIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, s *store, dir string)
		want   string // in a problem; empty: it is clean
	}{
		"nothing": {func(*testing.T, *store, string) {}, ""},
		"a byte was turned over": {func(t *testing.T, s *store, _ string) {
			text := []byte(object(t, s, "a.warc.gz"))
			text[len(text)/2] ^= 1
			put(t, s, "a.warc.gz", string(text))
		}, "are no record"},
		"a record was cut out, and its line": {func(t *testing.T, s *store, dir string) {
			other := filepath.Join(t.TempDir(), "a.warc.gz")
			whole := []byte(object(t, s, "a.warc.gz"))
			p, err := open(t, dir).Closest(weburl.MustParse("http://a.test/00002"), noon)
			err = errors.Join(err, os.WriteFile(other, whole[:p.Offset], 0o600), cdxj.IndexFile(other))
			index, bad := os.ReadFile(cdxj.Path(other))
			if err := errors.Join(err, bad); err != nil {
				t.Fatal(err)
			}
			put(t, s, "a.warc.gz", string(whole[:p.Offset]))
			put(t, s, "a.cdxj", string(index))
		}, "it is not what was brought"},
		"a line of an index is gone": {func(t *testing.T, s *store, _ string) {
			_, rest, _ := strings.Cut(object(t, s, "a.cdxj"), "\n")
			put(t, s, "a.cdxj", rest)
		}, "1 of its 5 captures are not in the index"},
		"a line leads elsewhere": {func(t *testing.T, s *store, _ string) {
			put(t, s, "a.cdxj", strings.Replace(object(t, s, "a.cdxj"), `"offset":"`, `"offset":"1`, 1))
		}, "leads to no such record"},
		"lines are out of order": {func(t *testing.T, s *store, _ string) {
			first, rest, _ := strings.Cut(object(t, s, "a.cdxj"), "\n")
			put(t, s, "a.cdxj", rest+first+"\n")
		}, "is out of order"},
		"no line at all": {func(t *testing.T, s *store, _ string) {
			put(t, s, "a.cdxj", "{")
		}, "line 1 of its index is cut off"},
		"a file is there twice": {func(t *testing.T, s *store, _ string) {
			put(t, s, "c.warc.gz", object(t, s, "a.warc.gz"))
		}, "c.warc.gz: a record is in a.warc.gz too"},
		"an index is gone": {func(t *testing.T, s *store, _ string) { drop(t, s, "a.cdxj") }, "it has no index"},
		"a WARC file is gone": {func(t *testing.T, s *store, _ string) {
			drop(t, s, "a.warc.gz")
		}, "a.cdxj: its WARC file is gone; a.warc.gz.sha256: its WARC file is gone; a.warc.gz: the index of the"},
		"a seal says nothing": {func(t *testing.T, s *store, _ string) {
			put(t, s, "a.warc.gz.sha256", "?")
		}, "no digest"},
		"the index of the bucket is older": {func(t *testing.T, s *store, dir string) {
			s.bring(t, dir, file(t, dir, "d", "d.test", 3)...)
		}, ""},
		"a part of it is damaged": {func(t *testing.T, s *store, _ string) {
			part := s.named(t, "index-00001-")[0]
			put(t, s, part, strings.Repeat("x", len(object(t, s, part))))
		}, "index of the bucket"},
		"a part of it is gone": {func(t *testing.T, s *store, _ string) {
			drop(t, s, s.named(t, "index-00001-")[0])
		}, "the index of the bucket names it"},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := newStore(t), t.TempDir()
			for i, stem := range []string{"a", "b"} {
				names := file(t, dir, stem, stem+".test", 5+i)
				s.bring(t, dir, names...)
				seal := ""
				for _, name := range names {
					sum := sha256.Sum256([]byte(object(t, s, name)))
					seal += bucket.Seal(hex.EncodeToString(sum[:]), name)
				}
				put(t, s, names[0]+bucket.SealSuffix, seal)
			}
			if _, err := bucket.AddToIndex(t.Context(), s.where); err != nil {
				t.Fatal(err)
			}
			c.damage(t, s, dir)
			before := s.requests.Load()
			got, err := bucket.Check(t.Context(), s.where, nil, func(string, uint64, uint64) {})
			if err != nil {
				t.Fatal(err)
			}
			found := strings.Join(got.Problems, "; ")
			if found != "" != (c.want != "") || len(got.Problems) != got.Count {
				t.Errorf("%d problems: %s", got.Count, found)
			}
			for part := range strings.SplitSeq(c.want, "; ") {
				if !strings.Contains(found, part) {
					t.Errorf("found %s; want %s", found, part)
				}
			}
			if asked := s.requests.Load() - before; asked > 30 {
				t.Errorf("%d requests", asked)
			}
		})
	}
}

func drop(t *testing.T, s *store, name string) {
	t.Helper()
	if _, err := s.DeleteObject("archive", "crawl/"+name); err != nil {
		t.Fatal(err)
	}
}

// FuzzSeal: whatever stands in a seal, it is read as digests, or refused.
func FuzzSeal(f *testing.F) {
	f.Add(bucket.Seal(strings.Repeat("0a", 32), "a.warc.gz") + bucket.Seal(strings.Repeat("ff", 32), "a.cdxj"))
	f.Add("x  y\n")
	f.Fuzz(func(t *testing.T, text string) {
		said, err := bucket.ReadSeal([]byte(text))
		if (err == nil) != (len(said) > 0) {
			t.Errorf("%d digests, %v", len(said), err)
		}
		for name, sum := range said {
			if again, err := bucket.ReadSeal([]byte(bucket.Seal(sum, name))); err != nil || again[name] != sum {
				t.Errorf("%q %q: %v", name, sum, err)
			}
		}
	})
}
