package watch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/report/changes"
	"henro/store/report/news"
)

// archive is a folder with one file that grows by a version of a page a day.
type archive struct {
	t    *testing.T
	path string
	day  int
}

func newArchive(t *testing.T) *archive {
	a := &archive{t: t, path: filepath.Join(t.TempDir(), "a.warc.gz")}
	a.add(200, "<title>Salt</title><p>Salt costs 1 €</p>")
	return a
}

// add appends a capture to the file, and then its line to the index, as an archivist does.
func (a *archive) add(status int, html string) { a.addAll(status, []string{"http://a.test/", html}) }

func (a *archive) addAll(status int, pages ...[]string) {
	a.t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		a.t.Fatal(err)
	}
	head := fmt.Sprintf("HTTP/1.1 %d OK\r\nContent-Type: text/html\r\n\r\n", status)
	var data []byte
	for _, page := range pages {
		data, _ = b.AppendExchange(data, &warc.Exchange{URI: page[0], Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			At:   time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC).AddDate(0, 0, a.day),
			Head: []byte(head), Body: []byte(page[1])})
		a.day++
	}
	all, _ := os.ReadFile(a.path + warc.OpenSuffix)
	index, _ := os.ReadFile(cdxj.Path(a.path) + warc.OpenSuffix)
	all = append(all, data...)
	for name, text := range map[string][]byte{a.path: all, a.path + warc.OpenSuffix: all} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	if err := cdxj.IndexFile(a.path); err != nil {
		a.t.Fatal(err)
	}
	whole, err := os.ReadFile(cdxj.Path(a.path))
	if err != nil {
		a.t.Fatal(err)
	}
	for _, line := range bytes.SplitAfter(whole, []byte("\n")) {
		if !bytes.Contains(index, line) {
			index = append(index, line...)
		}
	}
	for _, name := range []string{a.path, cdxj.Path(a.path)} {
		if err := os.Remove(name); err != nil {
			a.t.Fatal(err)
		}
	}
	if err := os.WriteFile(cdxj.Path(a.path)+warc.OpenSuffix, index, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *archive) open() (*captures.Archive, *Watcher, string) {
	a.t.Helper()
	c, err := captures.Open(filepath.Dir(a.path), func(what string) { a.t.Error(what) })
	if err != nil {
		a.t.Fatal(err)
	}
	folder := filepath.Join(a.t.TempDir(), "feed")
	w, err := Open(filepath.Dir(a.path), folder, c)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _, _ = w.Close(), c.Close() })
	return c, w, folder
}

// What comes is told as it comes, each once, with the version before, also one that was captured before the tail began.
func TestWhatComesIsComparedWithWhatWasBefore(t *testing.T) {
	a := newArchive(t)
	_, w, _ := a.open()
	tail, err := NewTail(w)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range []struct {
		status     int
		html, want string
	}{
		{200, "<title>Salt</title><p>Salt costs 2 €</p>", "-Salt costs 1 €\n+Salt costs 2 €\n"},
		{200, "<title>Salt</title><p>Salt costs 2 €</p>", ""},
		{500, "broken", ""},
		{200, "<title>Salt</title><p>Salt costs 2 € <b>now</b></p>", "-Salt costs 2 €\n+Salt costs 2 € now\n"},
		{404, "<p>Gone", "+status 404\n"},
	} {
		a.add(v.status, v.html)
		got := ""
		for range 2 {
			pairs, _, err := tail.Next()
			if err != nil {
				t.Fatal(err)
			}
			for j := range pairs {
				told, _, err := w.Compare(&pairs[j])
				if err != nil || told == nil {
					t.Fatalf("version %d: %v, %v", i, told, err)
				}
				got += told.Diff
			}
		}
		if (got == "") != (v.want == "") || !strings.Contains(got, v.want) {
			t.Errorf("version %d: %q, want %q", i, got, v.want)
		}
	}
	for _, ending := range []string{"", cdxj.Suffix} { // a file that is finished is looked for in the index
		name := strings.TrimSuffix(a.path, ".warc.gz") + ".warc.gz"
		if ending != "" {
			name = cdxj.Path(a.path)
		}
		if err := os.Rename(name+warc.OpenSuffix, name); err != nil {
			t.Fatal(err)
		}
	}
	if _, finished, err := tail.Next(); !finished || err != nil {
		t.Errorf("finished %v, %v", finished, err)
	}
}

// What a reader says of a change holds for the next ones, also when all is opened again.
func TestAReaderTeaches(t *testing.T) {
	a := newArchive(t)
	c, w, folder := a.open()
	tail, err := NewTail(w)
	if err != nil {
		t.Fatal(err)
	}
	next := func(price int) (told, quiet *changes.Change) {
		t.Helper()
		a.add(200, fmt.Sprintf("<title>Salt</title><p>Salt costs %d €</p>", price))
		pairs, _, err := tail.Next()
		if err != nil || len(pairs) != 1 {
			t.Fatalf("%d pairs, %v", len(pairs), err)
		}
		if told, quiet, err = w.Compare(&pairs[0]); err != nil {
			t.Fatal(err)
		}
		return told, quiet
	}
	first, _ := next(2)
	if first == nil || fmt.Sprint(first.PricesWent, first.PricesCame) != "[1 €] [2 €]" || first.Title != "Salt" {
		t.Fatalf("the first: %+v", first)
	}
	if err := changes.Append(folder, []changes.Change{*first}); err != nil {
		t.Fatal(err)
	}
	// what was archived before the archive is opened is found, as by a command of its own
	again := func() {
		opened, err := captures.Open(filepath.Dir(a.path), func(what string) { t.Error(what) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = opened.Close() })
		w.archive = opened
	}
	again()
	if _, err := w.TeachByID(folder, first.ID, true, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	told, quiet := next(3)
	if told != nil || quiet == nil || fmt.Sprint(quiet.Why) != "["+string(news.Dismissed)+"]" {
		t.Fatalf("dismissed, and told: %+v, %+v", told, quiet)
	}
	if err := changes.AppendNoise(folder, []changes.Change{*quiet}); err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	if err := Noise(folder, &shown); err != nil || !strings.Contains(shown.String(), quiet.ID) ||
		!strings.Contains(shown.String(), "+Salt costs 3 €") {
		t.Errorf("shown: %s, %v", shown.String(), err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w, err = Open(filepath.Dir(a.path), folder, c); err != nil {
		t.Fatal(err)
	}
	if told, _ = next(4); told != nil {
		t.Errorf("forgotten: %+v", told)
	}
	again()
	if _, err := w.TeachByID(folder, quiet.ID, false, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	for price := range 5 {
		if told, _ = next(10 + price); told == nil {
			t.Error("kept, and not told")
		}
	}
	if _, err := w.TeachByID(folder, "urn:x", false, &bytes.Buffer{}); err == nil {
		t.Error("a change that is none")
	}
}

// A page that is not archived yet differs from its last capture in noise alone, by what was learnt, or in what its
// reader wants to know. Nothing is learnt by asking.
func TestAPageIsComparedWithItsLastCapture(t *testing.T) {
	a := newArchive(t)
	_, w, _ := a.open()
	tail, err := NewTail(w)
	if err != nil {
		t.Fatal(err)
	}
	text := func(visit int, news string) string {
		return fmt.Sprintf("<title>Salt</title><p>Salt is %s</p><p>It comes from the sea</p><p>or from a mine</p>"+
			"<div class=seen><b>Seen by %d people today</b></div>", news, 100+7*visit)
	}
	quiet := func(visit int, news string) bool { return w.Quiet("http://a.test/", 200, []byte(text(visit, news))) }
	for visit := range 8 {
		if visit == 1 && quiet(visit, "white") {
			t.Error("it is quiet before anything is learnt")
		}
		a.add(200, text(visit, "white"))
		pairs, _, err := tail.Next()
		if err != nil || len(pairs) != 1 {
			t.Fatalf("%d pairs, %v", len(pairs), err)
		}
		if _, _, err := w.Compare(&pairs[0]); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if !quiet(20, "white") || quiet(20, "rosy") {
			t.Errorf("noise alone is quiet: %v, news too: %v", quiet(20, "white"), quiet(20, "rosy"))
		}
	}
	if w.Quiet("http://b.test/", 200, nil) || w.Quiet(":", 200, nil) || w.Quiet("http://a.test/", 404, nil) {
		t.Error("quiet is what cannot be compared")
	}
	if err := w.Close(); err != nil || quiet(20, "white") {
		t.Errorf("closed: %v", err)
	}
}

// A file of records that is damaged is set aside; watches that are wrong are an error with file and line.
func TestWhatIsDamagedIsSetAside(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, RecordsName), bytes.Repeat([]byte("x"), 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := Open(dir, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, RecordsName+".damaged")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, news.WatchesName), []byte("- pages: a b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, dir, nil); err == nil || !strings.Contains(err.Error(), "watch.yaml: line 1") {
		t.Errorf("watches: %v", err)
	}
}

// An update that goes through a site page by page is news on all pages: visits that found the others as they were count
// when they are made, also those of pages that never change again, and those that found another comment alone.
func TestVisitsThatChangedNothingCountForTheTemplate(t *testing.T) {
	for _, v := range []struct {
		comment string
		reaches func(page int) (round int)
		want    int
	}{
		{"", func(page int) int { return page % 3 }, 30},
		{"<!-- %d -->", func(page int) int { return page % 3 }, 30},
		{"", func(page int) int { return page / 10 }, 24}, // those that are visited first change first
	} {
		a := newArchive(t)
		c, live, _ := a.open()
		tail, err := NewTail(live)
		if err != nil {
			t.Fatal(err)
		}
		for i := range maxPages { // so many that others are looked for among the older
			tail.pages.last[fmt.Sprint(i)] = &Pair{}
		}
		asItCame := 0
		for round := range 5 {
			var visits [][]string
			for page := range 30 {
				text := "Nothing is to be said."
				if round > v.reaches(page) {
					text = fmt.Sprintf("Prices rise, says number %d of us.", page)
				}
				text = fmt.Sprintf("<p>The words of page %d.<p>%s", page, text)
				if v.comment != "" {
					text += fmt.Sprintf(v.comment, round)
				}
				visits = append(visits, []string{fmt.Sprintf("http://b.test/p/%d", page), text})
			}
			a.addAll(200, visits...)
			pairs, _, err := tail.Next()
			if err != nil {
				t.Fatal(err)
			}
			asItCame += told(t, live, pairs)
		}
		_, later, _ := a.open()
		if err := c.Refresh(); err != nil {
			t.Fatal(err)
		}
		if atOnce := told(t, later, pairsOf(t, later)); asItCame != v.want || atOnce != v.want {
			t.Errorf("of 30 pages %d are told as they change, and %d in one pass", asItCame, atOnce)
		}
		pairsOf(t, later)
		keys, _ := recordsOf("http://b.test/p/1")
		if n := later.alike.take(keys[1], time.Now().AddDate(9, 0, 0)); v.comment == "" && n < 30 {
			t.Errorf("%d visits are counted since the last change", n)
		}
	}
}

func told(t *testing.T, w *Watcher, pairs []Pair) (count int) {
	t.Helper()
	for i := range pairs {
		change, _, err := w.Compare(&pairs[i])
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			count++
		}
	}
	return count
}

// pairsOf are all that are in an archive, as a pass finds them.
func pairsOf(t *testing.T, w *Watcher) (pairs []Pair) {
	t.Helper()
	pages := NewPages(w)
	if err := w.archive.Entries(func(e cdxj.Entry) bool {
		if p := pages.Add(e); p != nil {
			pairs = append(pairs, *p)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(pairs, func(a, b Pair) int { return a.Now.At.Compare(b.Now.At) })
	return pairs
}

// However many visits there are, they are counted in little room, and each once.
func TestVisitsAreCountedInLittleRoom(t *testing.T) {
	_, w, _ := newArchive(t).open()
	begin := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	for i := range maxSlots + 5000 {
		at := begin.Add(time.Duration(i) * time.Minute)
		if i%2 == 0 {
			at = begin.Add(time.Duration(maxSlots-i) * time.Minute)
		}
		w.alike.add(&cdxj.Entry{URL: fmt.Sprint("http://c.test/", i%2), At: at})
		if w.alike.size > maxSlots {
			t.Fatalf("%d slots after %d visits", w.alike.size, i)
		}
	}
	keys, _ := recordsOf("http://c.test/7")
	half := w.alike.take(keys[1], begin.Add(maxSlots/2*time.Minute))
	rest := w.alike.take(keys[1], begin.Add(2*maxSlots*time.Minute))
	if half < maxSlots/2+2490 || half > maxSlots/2+2510 || half+rest != maxSlots+5000 || w.alike.size != 1 {
		t.Errorf("%d until the middle, %d later, %d slots are left", half, rest, w.alike.size)
	}
	for i := range maxSlots + 10 {
		w.alike.add(&cdxj.Entry{URL: fmt.Sprintf("http://h%d.test/", i), At: begin})
	}
	if w.alike.size > 20 {
		t.Errorf("%d sites are too many", w.alike.size)
	}
}

// A page that another slave visited since is compared with what that one has, also one that was never visited here.
func TestWhatOthersHaveIsComparedToo(t *testing.T) {
	a := newArchive(t)
	watch := []byte("- pages: a.test\n  learn: false\n")
	if err := os.WriteFile(filepath.Join(filepath.Dir(a.path), news.WatchesName), watch, 0o600); err != nil {
		t.Fatal(err)
	}
	c, w, _ := a.open()
	pages := NewPages(w)
	var other *Copy
	w.Elsewhere = func(url string, before time.Time) (*Copy, error) {
		if url != "http://a.test/" {
			t.Errorf("asked for %s", url)
		}
		return other, nil
	}
	version := func(price int) string { return fmt.Sprintf("<title>Salt</title><p>Salt costs %d €</p>", price) }
	at := func(day int) time.Time { return time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC).AddDate(0, 0, day) }
	a.add(200, version(3))
	var all []*Pair
	if err := c.Entries(func(e cdxj.Entry) bool { all = append(all, pages.Add(e)); return true }); err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Before.URL != "" || all[1].Before.URL == "" || pages.Last("http://a.test/").At != at(1) {
		t.Fatalf("pairs: %+v", all)
	}
	copyOf := func(day, price int) *Copy {
		return &Copy{At: at(day).Add(-time.Hour), Digest: fmt.Sprint(price), Status: 200, Body: []byte(version(price))}
	}
	same := copyOf(1, 3)
	same.Digest = all[1].Now.Digest
	seenAgain := *all[1]
	seenAgain.Before = cdxj.Entry{URL: "http://a.test/", At: at(1).Add(-time.Minute), Mime: cdxj.Revisit, Digest: "5",
		Status: 200}
	for _, v := range []struct {
		what  string
		other *Copy
		pair  Pair
		want  string
	}{
		{"nobody had it", nil, *all[0], ""},
		{"another had it", copyOf(0, 5), *all[0], "-Salt costs 5 €\n+Salt costs 1 €\n"},
		{"another has none", nil, *all[1], "-Salt costs 1 €\n+Salt costs 3 €\n"},
		{"another has an older one", copyOf(0, 5), *all[1], "-Salt costs 1 €\n+Salt costs 3 €\n"},
		{"another has a newer one", copyOf(1, 5), *all[1], "-Salt costs 5 €\n+Salt costs 3 €\n"},
		{"another has told it", same, *all[1], ""},
		{"another has what is referred to", copyOf(1, 5), seenAgain, "-Salt costs 5 €\n+Salt costs 3 €\n"},
	} {
		other = v.other
		told, _, err := w.Compare(&v.pair)
		got := ""
		if told != nil {
			got = told.Diff
		}
		if err != nil || (got == "") != (v.want == "") || !strings.Contains(got, v.want) {
			t.Errorf("%s: %q, %v, want %q", v.what, got, err, v.want)
		}
	}
}

// Others are asked for many pages at once, and for each once: a slave that is silent holds up all of them as long as
// one.
func TestOthersAreAskedForManyPagesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under, most, asked atomic.Int32
		w := &Watcher{Elsewhere: func(url string, _ time.Time) (*Copy, error) {
			asked.Add(1)
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			time.Sleep(time.Second)
			return nil, errors.New(url)
		}}
		pairs := make([]Pair, 3*atOnce)
		for i := range pairs {
			pairs[i].Now.URL = fmt.Sprint("http://a.test/", i)
		}
		begun := time.Now()
		w.askAll(pairs)
		if took := time.Since(begun); took != 3*time.Second || most.Load() > atOnce {
			t.Errorf("asked for %d at once, in %v", most.Load(), took)
		}
		for i := range pairs {
			if _, _, err := w.Compare(&pairs[i]); err == nil || err.Error() != pairs[i].Now.URL {
				t.Errorf("the answer for %s: %v", pairs[i].Now.URL, err)
			}
		}
		if asked.Load() != int32(len(pairs)) {
			t.Errorf("asked %d times for %d pages", asked.Load(), len(pairs))
		}
	})
}

// What many pairs teach is stored in one transaction, and each pair is judged by those before it. A lesson of another
// slave waits for that.
func TestWhatManyPairsTeachIsStoredOnce(t *testing.T) {
	a := newArchive(t)
	_, w, _ := a.open()
	tail, err := NewTail(w)
	if err != nil {
		t.Fatal(err)
	}
	for price := range 6 {
		a.add(200, fmt.Sprintf("<title>Salt</title><p>Salt costs %d €</p>", price+2))
	}
	pairs, _, err := tail.Next()
	if err != nil || len(pairs) != 6 {
		t.Fatalf("%d pairs, %v", len(pairs), err)
	}
	end, held := w.Begin(pairs), 0
	for i := range pairs {
		told, _, err := w.Compare(&pairs[i])
		if err != nil {
			t.Fatal(err)
		}
		if told == nil {
			held++
		}
	}
	if held != 4 || w.Learnt("http://a.test/") != nil {
		t.Errorf("%d of 6 are held for noise, %d bytes stored too early", held, len(w.Learnt("http://a.test/")))
	}
	adopted := make(chan error)
	go func() { adopted <- w.Adopt("http://b.test/", news.NewRecord().Append(nil), true) }()
	err = errors.Join(end(), <-adopted)
	if err != nil || w.Learnt("http://a.test/") == nil {
		t.Errorf("nothing is stored: %v", err)
	}
}

// A watch that looks where there is no text is found out; one that finds some, none at all, and a page that failed are
// not taken for it. Changes of what is no page are not told.
func TestAWatchThatFindsNothingIsFoundOut(t *testing.T) {
	for selector, want := range map[string]bool{"p": false, "#price": true, "": false} {
		a := newArchive(t)
		if selector != "" {
			text := fmt.Sprintf("- pages: a.test\n  watch: [%q]\n", selector)
			name := filepath.Join(filepath.Dir(a.path), news.WatchesName)
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, w, _ := a.open()
		if got, err := w.Misses("http://a.test/"); got != want || err != nil {
			t.Errorf("%q finds nothing: %v, %v", selector, got, err)
		}
		if _, err := w.Misses("http://a.test/none"); (err == nil) != (selector == "") {
			t.Errorf("%q on what was never archived: %v", selector, err)
		}
		w.IsPage = func(url string) bool { return url != "http://a.test/" }
		a.add(200, "<p>Salt costs 2 €</p>")
		if count := told(t, w, pairsOf(t, w)); count != 0 {
			t.Errorf("%d changes of what is no page", count)
		}
		a.add(404, "<p>Gone")
		if _, w, _ = a.open(); selector != "" {
			if got, err := w.Misses("http://a.test/"); got || err != nil {
				t.Errorf("a page that is gone has no text: %v, %v", got, err)
			}
		}
	}
}
