package captures

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// under is a WARC file under way with its index, as an Archivist leaves them between two captures.
type under struct {
	t       *testing.T
	path    string // of the finished file
	builder *warc.Builder
	size    int64
}

func grow(t *testing.T, path string) *under {
	t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return &under{t: t, path: path, builder: b}
}

func (u *under) write(path string, data []byte) {
	u.t.Helper()
	f, err := os.OpenFile(path+warc.OpenSuffix, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.Write(data)
	}
	if err != nil || f.Close() != nil {
		u.t.Fatal(err)
	}
}

// capture appends an exchange, and then its line.
func (u *under) capture(url string) {
	u.t.Helper()
	x := &warc.Exchange{URI: url, At: noon, Request: []byte("GET / HTTP/1.1\r\n\r\n"),
		Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"), Body: []byte("of " + url)}
	data, members := u.builder.AppendExchange(nil, x)
	u.write(u.path, data)
	e := cdxj.New(weburl.MustParse(url), x, members, 200, "text/plain")
	e.Filename, e.Offset = filepath.Base(u.path), e.Offset+u.size
	u.write(cdxj.Path(u.path), e.Append(nil))
	u.size += int64(len(data))
}

// finish leaves the file as an Archivist does.
func (u *under) finish() {
	u.t.Helper()
	index := cdxj.Path(u.path)
	for _, step := range []func() error{
		func() error { return os.Rename(u.path+warc.OpenSuffix, u.path) },
		func() error { return cdxj.SortFile(index, index+warc.OpenSuffix) },
		func() error { return os.Remove(index + warc.OpenSuffix) },
	} {
		if err := step(); err != nil {
			u.t.Fatal(err)
		}
	}
}

// read are the URLs of an archive in the order of its index, those whose payload can be read.
func read(t *testing.T, a *Archive) (urls []string) {
	t.Helper()
	if err := a.Entries(func(e cdxj.Entry) bool {
		c, err := a.Read(e)
		if err != nil {
			t.Errorf("%s: %v", e.URL, err)
			return true
		}
		defer c.Close()
		if body, err := io.ReadAll(c.Body); err == nil && string(body) == "of "+e.URL {
			urls = append(urls, e.URL)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return urls
}

// What is synced of a file that still grows is read within seconds, in its place among what is finished, and once when
// that file is finished.
func TestWhatGrowsIsReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		first, second := grow(t, filepath.Join(dir, "a.warc.gz")), grow(t, filepath.Join(dir, "b.warc.gz"))
		first.capture("http://a.test/2")
		a, err := Open(dir, func(what string) { t.Error(what) })
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		packed, err := Open(dir, func(what string) { t.Error(what) })
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		packed.Finished()
		check := func(step string, want ...string) {
			t.Helper()
			for range 2 { // the second time a file that was finished is merged
				time.Sleep(2 * growsFor)
				if got := read(t, a); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %v are read, want %v", step, got, want)
				}
			}
			for _, url := range want {
				if p, err := a.Closest(weburl.MustParse(url), noon); err != nil || p.Count != 1 {
					t.Errorf("%s: %s: %+v, %v", step, url, p, err)
				}
			}
		}
		check("one grows", "http://a.test/2")
		second.capture("http://a.test/3")
		second.capture("http://a.test/1")
		second.write(cdxj.Path(second.path), []byte("test,a)/4 20260314120000 {"))
		check("two grow", "http://a.test/1", "http://a.test/2", "http://a.test/3")
		first.finish()
		check("one is finished", "http://a.test/1", "http://a.test/2", "http://a.test/3")
		for range 2 {
			time.Sleep(2 * growsFor)
			got := read(t, packed)
			if len(a.Merged().Files) != 1 || !reflect.DeepEqual(got, []string{"http://a.test/2"}) {
				t.Errorf("%v are finished, %v of what is packed is read", a.Merged().Files, got)
			}
		}
		third := grow(t, filepath.Join(dir, "c.warc.gz"))
		third.capture("http://a.test/0")
		third.finish()
		check("another came", "http://a.test/0", "http://a.test/1", "http://a.test/2", "http://a.test/3")
		if err := os.Remove(cdxj.Path(second.path) + warc.OpenSuffix); err != nil {
			t.Fatal(err)
		}
		check("nothing grows", "http://a.test/0", "http://a.test/2")
		folder := a.grows.folder
		if a.Close(); exists(folder) {
			t.Errorf("%s is left", folder)
		}
	})
}

// What grows is not sorted for each reader: one that comes soon after another, or meanwhile, has the copy as it is.
func TestWhatGrowsIsNotSortedForEachReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := grow(t, filepath.Join(dir, "a.warc.gz"))
		file.capture("http://a.test/1")
		a, err := Open(dir, func(what string) { t.Error(what) })
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for _, step := range []struct {
			do   func()
			want int
		}{
			{func() { time.Sleep(2 * growsFor) }, 1},
			{func() { file.capture("http://a.test/2") }, 1},
			{func() { time.Sleep(2 * growsFor); a.grows.looking.Lock() }, 1},
			{func() { a.grows.looking.Unlock() }, 2},
		} {
			step.do()
			if got := read(t, a); len(got) != step.want {
				t.Errorf("%v are read, want %d", got, step.want)
			}
		}
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Lines are shown in the order of the index whichever of the two they are in, until that is enough.
func TestTwoIndexesAreShownAsOne(t *testing.T) {
	file := func(lines ...string) *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "index"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		for _, l := range lines {
			fmt.Fprintln(f, l)
		}
		return f
	}
	a, b := file("b", "d", "e"), file("a", "b", "c", "f", "g")
	for _, c := range []struct {
		from string
		most int
		want string
	}{{"", 9, "abcdefg"}, {"c", 9, "cdefg"}, {"", 1, "a"}, {"", 2, "ab"}, {"", 4, "abcd"}, {"", 6, "abcdef"}} {
		got := ""
		var err error
		for line := range bucket.Merged(bucket.ScanFile(a, c.from, &err), bucket.ScanFile(b, c.from, &err)) {
			if got += string(line[:1]); len(got) == c.most {
				break
			}
		}
		if err != nil || got != c.want {
			t.Errorf("from %q, %d: %q, %v; want %q", c.from, c.most, got, err, c.want)
		}
	}
}
