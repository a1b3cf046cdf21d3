package qa

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"henro/cmd/replay"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// archived is an archive of a page with a picture, captured twice, of 30 more pages, and of what is no page.
func archived(t *testing.T) *captures.Archive {
	t.Helper()
	dir := t.TempDir()
	b, err := warc.NewBuilder(warc.Options{Level: 3})
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	put := func(hour int, path, mime, status string) {
		data, _ = b.AppendExchange(data, &warc.Exchange{URI: "http://docs.test" + path,
			At: noon.Add(time.Duration(hour) * time.Hour), Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Head: []byte("HTTP/1.1 " + status + "\r\nContent-Type: " + mime + "\r\n\r\n"), Body: []byte("x")})
	}
	put(0, "/", "text/html", "200 OK")
	put(1, "/", "text/html", "200 OK")
	put(1, "/a.png", "image/png", "200 OK")
	put(1, "/gone", "text/html", "404 Not Found")
	for i := range 30 {
		put(1, fmt.Sprintf("/page%02d", i), "application/xhtml+xml", "200 OK")
	}
	if err := os.WriteFile(filepath.Join(dir, "a.warc.gz"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := captures.Open(dir, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// picture is a white picture whose first pixels are black.
func picture(t *testing.T, height, black int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 10, height))
	for i := range 10 * height {
		m.Set(i%10, i/10, color.White)
		if i < black {
			m.Set(i%10, i/10, color.Black)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// shown is a replay, and where it shows captures.
func shown(t *testing.T) (Shown, string) {
	t.Helper()
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	l := replay.Listeners{Own: listen(), Content: []net.Listener{listen()}}
	_, port, _ := net.SplitHostPort(l.Content[0].Addr().String())
	return Shown{Address: l.Address, Asked: l.Asked}, "http://20261120120000-http.docs.test.archive.localhost:" + port
}

func TestEachPageIsDrawnOnceInItsLatestCapture(t *testing.T) {
	a := archived(t)
	o := DefaultOptions()
	o.Pages = 100
	all, err := Draw(a, o)
	if err != nil || len(all) != 31 {
		t.Fatalf("%d pages, %v: want 31", len(all), err)
	}
	for _, e := range all {
		if e.At != noon.Add(time.Hour) {
			t.Errorf("%s is drawn of %v", e.URL, e.At)
		}
	}
	o.Pages = 5
	drawn := map[uint64][]cdxj.Entry{}
	for _, seed := range []uint64{1, 1, 2} {
		o.Seed = seed
		some, err := Draw(a, o)
		if err != nil || len(some) != 5 {
			t.Fatalf("%d pages, %v: want 5", len(some), err)
		}
		if before := drawn[seed]; before != nil && !reflect.DeepEqual(some, before) {
			t.Errorf("seed %d draws %v and %v", seed, before, some)
		}
		drawn[seed] = some
	}
	if reflect.DeepEqual(drawn[1], drawn[2]) {
		t.Error("two seeds draw the same pages")
	}
}

func TestWhatDiffersIsFound(t *testing.T) {
	a := archived(t)
	s, captured := shown(t)
	e := cdxj.Entry{URL: "http://docs.test/", At: noon}
	live := &Sight{Text: "one two  three three", Picture: picture(t, 10, 0), Requests: []Request{
		{URL: "http://docs.test/", Type: "Document", Status: 200},
		{URL: "http://docs.test/a.png#x", Type: "Image", Status: 200},
		{URL: "http://docs.test/a.png?_rsc=1r34m", Type: "Fetch", Status: 200}, // the replay has one that is like it
		{URL: "http://docs.test/b.png", Type: "Image", Status: 200},
		{URL: "https://elsewhere.test/", Type: "Image", Err: "net::ERR_NAME_NOT_RESOLVED"},
		{URL: "http://docs.test/forbidden", Type: "Script", Refused: true},
		{URL: "http://docs.test/favicon.ico", Type: "Other", Status: 404},
	}}
	replayed := &Sight{Text: "one three four", Picture: picture(t, 10, 7), Requests: []Request{
		{URL: s.Address(e), Type: "Document", Status: 200}, {URL: captured + "/", Type: "Document", Status: 200},
		{URL: captured + "/a.png", Type: "Image", Status: 404},
		{URL: captured + "/new.png", Type: "Image", Status: 404},
		{URL: "http://docs.test/out", Type: "Image", Status: 200},
		{URL: "http://docs.test/kept", Type: "Image", Refused: true},
	}}
	p, err := Judge(a, s, e, live, replayed)
	if err != nil {
		t.Fatal(err)
	}
	want := &Page{URL: e.URL, At: e.At, Live: 5, Replay: 3, Text: 2. / 5, Pixels: 0.93,
		Missing: []Lack{
			{URL: "http://docs.test/b.png", Type: "Image", Reason: "the live answer was 200"},
			{URL: "https://elsewhere.test/", Type: "Image", Reason: "no live answer: net::ERR_NAME_NOT_RESOLVED"}},
		Unanswered: []Lack{{URL: "http://docs.test/a.png", Type: "Image", Reason: "the replay answered 404"}},
		Outside:    []Lack{{URL: "http://docs.test/out", Type: "Image", Reason: "200 "}},
		live:       live, replayed: replayed}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("found %+v\nwant  %+v", p, want)
	}
	if p.Score() != 0 {
		t.Error("a page that leaves the replay is not the worst")
	}
	if p.Outside = nil; p.Score() != 2./5 {
		t.Errorf("score %v: want that of the text", p.Score())
	}
}

func TestPicturesOfTwoSizesDiffer(t *testing.T) {
	if share, err := samePixels(picture(t, 10, 0), picture(t, 20, 0)); err != nil || share != 0.5 {
		t.Errorf("half a picture is %v of it, %v", share, err)
	}
}

func TestTheReportBeginsWithTheWorst(t *testing.T) {
	a, folder := archived(t), t.TempDir()
	s, _ := shown(t)
	summary := &Summary{}
	for i, black := range []int{0, 50, 1} {
		e := cdxj.Entry{URL: fmt.Sprintf("http://docs.test/page%02d?<b>", i), At: noon}
		p, err := Judge(a, s, e, &Sight{Picture: picture(t, 10, 0)}, &Sight{Picture: picture(t, 10, black)})
		if err != nil {
			t.Fatal(err)
		}
		if err := summary.Add(p, folder); err != nil {
			t.Fatal(err)
		}
	}
	if err := summary.Add(&Page{URL: "http://docs.test/broken", Err: "no way"}, folder); err != nil {
		t.Fatal(err)
	}
	if err := summary.Write(folder, "crawl"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "pages.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read Summary
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	var order []float64
	for _, p := range read.Pages {
		order = append(order, p.Pixels)
	}
	if !reflect.DeepEqual(order, []float64{0, 0.5, 0.99, 1}) || read.Compared != 3 || read.SamePicture != 2 {
		t.Errorf("order %v, %d compared, %d with the same picture", order, read.Compared, read.SamePicture)
	}
	page, err := os.ReadFile(filepath.Join(folder, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"page00002-live.png", "page00002-replay.png"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil || !strings.Contains(string(page), name) {
			t.Errorf("the report does not show %s: %v", name, err)
		}
	}
	if strings.Contains(string(page), "<b>") || !strings.Contains(string(page), "no way") {
		t.Errorf("the report holds %s", page)
	}
}

func TestResolverRules(t *testing.T) {
	rules, err := ResolverRules([]string{"a.test:80:127.0.0.2", "b.test:8080:[::1]"})
	if want := "MAP a.test:80 127.0.0.2:80,MAP b.test:8080 [::1]:8080"; err != nil || rules != want {
		t.Errorf("%q, %v: want %q", rules, err, want)
	}
	for _, bad := range []string{"a.test", "a.test:80", "a.test:80:x", "a.test:80:127.0.0.1,MAP * 10.0.0.1"} {
		if rules, err := ResolverRules([]string{bad}); err == nil {
			t.Errorf("%q gives %q", bad, rules)
		}
	}
}
