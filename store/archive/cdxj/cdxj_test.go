package cdxj_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func TestLinesOfOtherWritersAreRead(t *testing.T) {
	for _, c := range []struct {
		sentence, line string
		want           cdxj.Entry
	}{
		{"pywb's with spaces and numbers in quotes",
			`test,docs)/?x=1 20260314120000 {"url": "http://docs.test?x=1", "mime": "warc/revisit", "digest": ` +
				`"B2LT", "length": "553", "offset": "1864", "filename": "a.warc.gz"}`,
			cdxj.Entry{Key: "test,docs)/?x=1", At: noon, URL: "http://docs.test?x=1", Mime: "warc/revisit",
				Digest: "B2LT", Length: 553, Offset: 1864, Filename: "a.warc.gz"}},
		{"numbers as numbers, any order, fields of its own",
			`test,docs)/ 20260314120000 ` +
				`{"offset":3,"status":200,"url":"http://docs.test/","requestBody":"a=1","digest":"sha1:B2LT",` +
				`"x":{"y":[1]}}` + "\r\n",
			cdxj.Entry{Key: "test,docs)/", At: noon, URL: "http://docs.test/", Status: 200, Digest: "B2LT", Offset: 3,
				Extra: []warc.Field{{Name: "requestBody", Value: "a=1"}, {Name: "x", Value: `{"y":[1]}`}}}},
		{"no status and a short time",
			`test,docs)/ 2026 {"url":"http://docs.test/","status":"-","mime":"unk"}`,
			cdxj.Entry{Key: "test,docs)/", At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), URL: "http://docs.test/",
				Mime: "unk"}},
		{"numbers that are none",
			`test,docs)/ 2026 {"url":"http://docs.test/","offset":"-5","length":"99999999999999999999"}`,
			cdxj.Entry{Key: "test,docs)/", At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), URL: "http://docs.test/"}},
	} {
		got, err := cdxj.Parse([]byte(c.line))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.sentence, got, err)
		}
		again, err := cdxj.Parse(got.Append(nil))
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s, written and read: %+v, %v", c.sentence, again, err)
		}
	}
	for _, line := range []string{"", "x", "x 20260314120000", "x 20260314120000 {", "x 2026031412000 {}",
		"x 20261314120000 {}", " 20260314120000 {}", " CDX N b a m s k r M S V g", "x 20260314120000 []",
		`x 2026 {"url":"\ud`} {
		if _, err := cdxj.Parse([]byte(line)); !errors.Is(err, cdxj.ErrLine) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// Lines of ours are read by a short way of their own, which agrees with JSON on whatever is left of them.
func TestLinesOfOursAreReadAsAnyJSON(t *testing.T) {
	line := (&cdxj.Entry{Key: "test,docs)/ä", At: noon, URL: "http://docs.test/ä", Mime: "text/html", Status: 200,
		Digest: "B2LT", Length: 553, Offset: 1864, Filename: "a.warc.gz"}).Append(nil)
	object := bytes.IndexByte(line, '{')
	rnd := rand.New(rand.NewPCG(1, 1))
	for round := range 20_000 {
		broken := slices.Clone(line)
		for range round % 4 {
			at := object + rnd.IntN(len(broken)-object)
			switch rnd.IntN(3) {
			case 0:
				broken[at] = "\"\\,:{}1a \x00\xff\n"[rnd.IntN(12)]
			case 1:
				broken = slices.Delete(broken, at, min(len(broken), at+1+rnd.IntN(12)))
			default:
				broken = slices.Insert(broken, at, line[object:][rnd.IntN(len(line)-object):]...)
			}
			if len(broken) <= object {
				break // nothing is left of it
			}
		}
		any := broken
		if len(broken) > object && broken[object] == '{' {
			any = slices.Insert(slices.Clone(broken), object+1, ' ') // JSON, and not as we write it
		}
		got, err := cdxj.Parse(broken)
		want, wantErr := cdxj.Parse(any)
		if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, %v, want %+v, %v", broken, got, err, want, wantErr)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	line := (&cdxj.Entry{Key: "test,docs)/a", At: noon, URL: "http://docs.test/a", Mime: "text/html", Status: 200,
		Digest: "B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A", Length: 553, Offset: 1864,
		Filename: "HENRO-20260314120000-00001.warc.gz"}).Append(nil)
	for b.Loop() {
		if _, err := cdxj.Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTheLineOfACapture(t *testing.T) {
	e := cdxj.Entry{Key: "test,docs)/a", At: noon, URL: "http://docs.test/\"a\"&é\x01", Mime: "text/html", Status: 200,
		Digest: "B2LT", Length: 7, Filename: "a.warc.gz"}
	want := `test,docs)/a 20260314120000 ` +
		`{"url":"http://docs.test/\"a\"&é\u0001","mime":"text/html","status":"200","digest":"B2LT","length":"7",` +
		`"offset":"0","filename":"a.warc.gz"}` + "\n"
	if got := string(e.Append(nil)); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	e = cdxj.Entry{Key: "test,docs)/a", At: noon, URL: "http://docs.test/a", Offset: 3}
	want = `test,docs)/a 20260314120000 {"url":"http://docs.test/a","offset":"3"}` + "\n"
	if got := string(e.Append(nil)); got != want {
		t.Errorf("of little that is known: got  %swant %s", got, want)
	}
}

// archive writes a WARC of n captures, some of them revisits, and returns its bytes and the entries their writer made.
func archive(t *testing.T, name string, n int) ([]byte, []cdxj.Entry) {
	t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	data := b.AppendInfo(nil, &warc.Info{Software: "henro/0.1"}, name, noon)
	var entries []cdxj.Entry
	for i := range n {
		url := weburl.MustParse(fmt.Sprintf("http://www%d.docs.test/Page/%d?b=%d&a=é", i%3, n-i, i))
		x := warc.Exchange{
			URI: url.String(), IP: netip.MustParseAddr("127.0.0.7"),
			At:      noon.Add(time.Duration(i) * time.Millisecond * 700),
			Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Head:    []byte("HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\n\r\n"),
			Body:    bytes.Repeat([]byte{byte(i)}, 50*i), About: []warc.Field{{Name: "fetchTimeMs", Value: "3"}},
		}
		if i%4 == 3 {
			x.Earlier = &warc.Earlier{URI: x.URI, At: noon.Add(-time.Hour)}
		}
		status := 200
		switch {
		case i%5 == 1: // it leads elsewhere
			status = 302
			x.Head = []byte("HTTP/1.1 302 Found\r\nContent-Type: Text/HTML; charset=utf-8\r\n" +
				"location:  ../to?x#y \r\n\r\n")
		case i%5 == 2:
			x.Truncated = "time"
		}
		var m warc.Members
		offset := int64(len(data))
		data, m = b.AppendExchange(data, &x)
		e := cdxj.New(url, &x, m, status, "Text/HTML; charset=utf-8")
		e.Offset += offset
		e.Filename = name
		entries = append(entries, e)
	}
	return data, entries
}

func TestAnIndexMadeFromTheFileIsThatOfItsWriter(t *testing.T) {
	data, want := archive(t, "HENRO-1.warc.gz", 20)
	path := filepath.Join(t.TempDir(), "HENRO-1.warc.gz")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cdxj.IndexFile(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(cdxj.Path(path))
	if err != nil {
		t.Fatal(err)
	}
	var got []cdxj.Entry
	for line := range bytes.Lines(text) {
		e, err := cdxj.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	slices.SortFunc(want, func(a, b cdxj.Entry) int { return bytes.Compare(a.Append(nil), b.Append(nil)) })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestRepairWritesTheIndexAnew(t *testing.T) {
	for _, cut := range []int{0, 1, 400, 5000} {
		data, entries := archive(t, "HENRO-1.warc.gz", 20)
		dir := t.TempDir()
		path := filepath.Join(dir, "HENRO-1.warc.gz")
		data = data[:max(len(data)-cut, 100)]
		if err := os.WriteFile(path+warc.OpenSuffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
		// What the dead process had written of the index goes.
		if err := os.WriteFile(cdxj.Path(path)+warc.OpenSuffix, []byte("half a li"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cdxj.Repair(path + warc.OpenSuffix); err != nil {
			t.Fatal(err)
		}
		want := [][]byte{}
		for _, e := range entries {
			if e.Offset+e.Length <= int64(len(data)) {
				want = append(want, e.Append(nil))
			}
		}
		slices.SortFunc(want, bytes.Compare)
		got, err := os.ReadFile(filepath.Join(dir, "HENRO-1.cdxj"))
		if len(want) > 0 && (err != nil || !bytes.Equal(got, bytes.Join(want, nil))) {
			t.Errorf("cut by %d: %v\n%s\nwant %d lines", cut, err, got, len(want))
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 2 && len(want) > 0 || len(left) > 2 {
			t.Errorf("cut by %d: %v %v", cut, left, err)
		}
	}
}

func TestFinishedFilesWithoutIndexAreFound(t *testing.T) {
	dir := t.TempDir()
	data, _ := archive(t, "HENRO-1.warc.gz", 3)
	for _, name := range []string{"HENRO-1.warc.gz", "HENRO-2.warc.gz", "HENRO-3.warc.gz.open", "X-1.warc.gz"} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		paths, err := cdxj.Unindexed(dir, "HENRO")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if err := cdxj.IndexFile(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := filepath.Glob(filepath.Join(dir, "*.cdxj"))
	if err != nil || len(got) != 2 {
		t.Errorf("indexes are %v %v", got, err)
	}
}

func TestMergeIsTheSortOfAll(t *testing.T) {
	seed := uint64(7)
	rnd := rand.New(rand.NewPCG(seed, seed))
	dir := t.TempDir()
	var all [][]byte
	var paths []string
	for i := range 11 {
		var text []byte
		for range rnd.IntN(200) {
			e := cdxj.Entry{Key: fmt.Sprintf("test,docs)/%d", rnd.IntN(300)),
				At: noon.Add(time.Duration(rnd.IntN(4)) * time.Hour), URL: "http://docs.test/"}
			all = append(all, e.Append(nil))
			text = e.Append(text)
		}
		src, dst := filepath.Join(dir, "unsorted"), filepath.Join(dir, fmt.Sprint(i, ".cdxj"))
		if err := os.WriteFile(src, bytes.TrimSuffix(text, []byte("\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := cdxj.SortFileIn(dst, src, []int{100, 1 << 20}[i%2]); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, dst)
	}
	slices.SortFunc(all, bytes.Compare)
	want := bytes.Join(slices.CompactFunc(all, bytes.Equal), nil)
	dst := paths[3] // one of them
	for range 2 {   // and merging again changes nothing
		if err := cdxj.MergeFilesBy(dst, 3, paths); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(dst)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %d bytes, want %d: %v", seed, len(got), len(want), err)
		}
	}
	for i := range 301 {
		key := fmt.Sprintf("test,docs)/%d", i)
		var found, scanned []byte
		if err := cdxj.ScanFile(dst, []byte(key+" "), func(line []byte) bool {
			found = append(found, line...)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(want) {
			if bytes.HasPrefix(line, []byte(key+" ")) {
				scanned = append(scanned, line...)
			}
		}
		if !bytes.Equal(found, scanned) {
			t.Errorf("%s: %q, want %q", key, found, scanned)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.*[0-9np]")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestMergeRefusesWhatIsNotSorted(t *testing.T) {
	var out bytes.Buffer
	if err := cdxj.Merge(&out, strings.NewReader("a\nc\n"), strings.NewReader("d\nb\n")); !errors.Is(err,
		cdxj.ErrUnsorted) {
		t.Error(err)
	}
	if err := cdxj.Merge(&out, strings.NewReader(strings.Repeat("x", 2<<20))); !errors.Is(err, cdxj.ErrLine) {
		t.Error(err)
	}
}

// TestPywbFindsTheSame compares with the indexes that pywb made of its sample archive, part of HENRO_DATA.
func TestPywbFindsTheSame(t *testing.T) {
	dir := os.Getenv("HENRO_DATA")
	if dir == "" {
		return
	}
	indexes, err := filepath.Glob(filepath.Join(dir, "warc", "pywb-*.cdxj"))
	if err != nil || len(indexes) == 0 {
		t.Fatal(indexes, err)
	}
	for _, path := range indexes {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			want, err := cdxj.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(want.Key, "__wb_method") {
				continue // pywb's own way with forms, whose body is not in the URL
			}
			f, err := os.Open(filepath.Join(dir, "warc", "pywb-"+want.Filename))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := warc.At(f, want.Offset)
			if err != nil {
				t.Fatal(err)
			}
			got, listed, err := cdxj.Of(r, want.Filename)
			got.Offset = want.Offset
			if strings.HasSuffix(want.Filename, ".warc") {
				got.Length = want.Length // pywb counts a plain record without the line ends before the next
			}
			if want.Status == 0 {
				got.Status = 0 // not part of every index
			}
			if want.Digest == "" {
				got.Digest = ""
			}
			if want.Mime == "" || want.Mime == "unk" {
				got.Mime = want.Mime
			}
			if want.Field(cdxj.Redirect) == "" { // pywb has none
				got.Extra = slices.DeleteFunc(got.Extra, func(f warc.Field) bool { return f.Name == cdxj.Redirect })
				got.Extra = append([]warc.Field(nil), got.Extra...)
			}
			if err != nil || !listed || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v\ngot  %+v\nwant %+v", filepath.Base(path), err, got, want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`test,docs)/?x=1 20260314120000 {"url": "http://docs.test?x=1", "mime": "text/html", "length": ` +
		`"553", "offset": 1864, "x": [1]}`))
	f.Add([]byte("a 2026 {}"))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := cdxj.Parse(line)
		if err != nil {
			return
		}
		again, err := cdxj.Parse(e.Append(nil))
		if err != nil || !reflect.DeepEqual(e, again) {
			t.Errorf("%q\n%+v\n%+v %v", line, e, again, err)
		}
	})
}

// TestFurtherFieldsAreThoseOfCommonCrawl: where an answer leads, as a whole URL, and why a payload is not whole.
func TestFurtherFieldsAreThoseOfCommonCrawl(t *testing.T) {
	_, entries := archive(t, "HENRO-1.warc.gz", 20)
	for i, e := range entries {
		redirect, truncated := "", ""
		switch {
		case i%5 == 1:
			redirect = e.URL[:strings.Index(e.URL, "/Page")] + "/to?x#y"
		case i%5 == 2 && i%4 != 3:
			truncated = "time"
		}
		if e.Field(cdxj.Redirect) != redirect || e.Field(cdxj.Truncated) != truncated {
			t.Errorf("%d: %v, want %q and %q", i, e.Extra, redirect, truncated)
		}
	}
	var b bytes.Buffer
	e := cdxj.New(weburl.MustParse("http://a.test/"), &warc.Exchange{URI: "http://a.test/",
		Head: []byte("HTTP/1.1 301 Moved\r\nLocation: /" + strings.Repeat("x", 9000) + "\r\n\r\n")}, warc.Members{},
		301, "")
	if b.Write(e.Append(nil)); strings.Contains(b.String(), "redirect") || b.Len() > 300 {
		t.Errorf("a Location of 9,000 bytes: %s", b.String())
	}
}
