package cdxj_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
)

func TestCapturesAreRecalledFromFinishedAndGrowingFiles(t *testing.T) {
	dir := t.TempDir()
	page, other := weburl.MustParse("http://a.test/p"), weburl.MustParse("http://www.a.test/p")
	line := func(u weburl.URL, hour int, file string) []byte {
		e := cdxj.Entry{Key: u.IndexKey(), At: noon.Add(time.Duration(hour) * time.Hour), URL: u.String(), Status: 200,
			Digest: "D", Offset: int64(hour), Filename: file}
		return e.Append(nil)
	}
	write := func(name string, lines ...[]byte) {
		t.Helper()
		var all []byte
		for _, l := range lines {
			all = append(all, l...)
		}
		if err := os.WriteFile(filepath.Join(dir, name), all, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	recall := func(most int) (hours string, more bool) {
		t.Helper()
		latest, more, err := cdxj.Recall(dir, page, most)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range latest {
			hours += fmt.Sprint(e.At.Sub(noon).Hours(), " ")
		}
		return hours, more
	}
	write("h-1.cdxj", line(page, 1, "h-1"), line(page, 3, "h-1"), line(weburl.MustParse("http://b.test/"), 2, "h-1"))
	write("h-2.cdxj", line(other, 4, "h-2"), line(page, 5, "h-2"))
	torn := line(page, 9, "h-3")
	write("h-3.cdxj.open", line(page, 8, "h-3"), line(page, 7, "h-3"), torn[:len(torn)-20])
	write("h-2.cdxj.open", line(page, 5, "h-2")) // it was just sorted
	write(cdxj.MergedName, line(page, 1, "h-1"), line(page, 2, "a file that is gone"))
	write("h-1.warc.gz", line(page, 6, "no index"))
	for _, c := range []struct {
		most  int
		hours string
		more  bool
	}{{10, "8 7 5 3 1 ", false}, {5, "8 7 5 3 1 ", false}, {2, "8 7 ", true}} {
		if hours, more := recall(c.most); hours != c.hours || more != c.more {
			t.Errorf("at most %d: %q %v, want %q %v", c.most, hours, more, c.hours, c.more)
		}
	}
	for i := range 512 { // of others, after which the older ones are not looked for
		write(fmt.Sprintf("i-%03d.cdxj", i))
	}
	if hours, more := recall(10); hours != "" || !more {
		t.Errorf("behind many files: %q %v", hours, more)
	}
	if latest, more, err := cdxj.Recall(filepath.Join(dir, "none"), page, 3); latest != nil || more || err != nil {
		t.Errorf("of no folder: %v %v %v", latest, more, err)
	}
}
