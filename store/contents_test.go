package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"henro/store/fingerprint"
)

// contentsState opens a state of several partitions, and again after it was closed.
func contentsState(t *testing.T, dir string, change func(*Options)) *State {
	t.Helper()
	o := DefaultOptions()
	o.NoSync, o.Partitions = true, 3
	if change != nil {
		change(&o)
	}
	s, err := OpenState(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// visit commits visits of pages of one text each, together, and reads the records back.
func visitTexts(t *testing.T, s *State, visits ...[2]string) map[string]Page {
	t.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	batches := map[int]*Batch{}
	for _, v := range visits {
		i := s.PartitionOf(hostOfURL(v[0]))
		if batches[i] == nil {
			batches[i] = NewBatch(now)
		}
		entry, _, err := s.Partitions[i].Pages.Lookup(v[0])
		page := entry.Page
		if err != nil {
			page = Page{URL: v[0]}
		}
		page.Status, page.LastVisit, page.Next = 200, now, now.Add(time.Hour)
		page.MainDigest, page.SimHash = fingerprint.Main([]byte(v[1])), fingerprint.Sim([]byte(v[1]))
		if v[1] == "" {
			page.Status = 404
		}
		_, near := new(fingerprint.Nearer).Sketch([]byte(v[1]))
		batches[i].Visit(Visited{Position: entry.Position, Page: page, Near: near.Append(nil)})
	}
	for i, b := range batches {
		for range 2 { // the same batch again changes nothing
			if _, err := s.Partitions[i].Commit(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	return recordsOf(t, s)
}

func hostOfURL(url string) string {
	return url[:strings.IndexByte(url[len("http://"):], '/')+len("http://")]
}

func recordsOf(t *testing.T, s *State) map[string]Page {
	t.Helper()
	pages := map[string]Page{}
	for _, p := range s.Partitions {
		if err := p.Pages.Each(func(page Page, _ Place) error {
			pages[page.URL] = page
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return pages
}

// words makes a text of n words.
func words(seed uint64, n int) string {
	rnd := rand.New(rand.NewPCG(seed, 1))
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("w%d", rnd.IntN(5000))
	}
	return strings.Join(all, " ")
}

func want(t *testing.T, pages map[string]Page, url, same string) {
	t.Helper()
	if p := pages[url]; p.SameAs != same {
		t.Errorf("%s is the same as %q, not %q", url, p.SameAs, same)
	}
}

func check(t *testing.T, dir string) {
	t.Helper()
	r, err := Check(dir, nil)
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("check: %v %v", err, r)
	}
}

func TestAContentIsKnownUnderAllURLsThatHaveIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := contentsState(t, dir, nil)
	a, b := words(1, 400), words(2, 400)
	visitTexts(t, s, [2]string{"http://a.example/", a})
	pages := visitTexts(t, s, [2]string{"http://a.example/again", a}, [2]string{"http://www.a.example/", a},
		[2]string{"http://b.test/", a}, [2]string{"http://c.invalid/", b})
	want(t, pages, "http://a.example/", "")
	for _, url := range []string{"http://a.example/again", "http://www.a.example/", "http://b.test/"} {
		want(t, pages, url, "http://a.example/")
	}
	want(t, pages, "http://c.invalid/", "")

	// The index is on disk.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, dir)
	s = contentsState(t, dir, nil)
	pages = visitTexts(t, s, [2]string{"http://d.example/", b}, [2]string{"http://e.example/", words(4, 400)})
	want(t, pages, "http://d.example/", "http://c.invalid/")
	want(t, pages, "http://e.example/", "")

	// The first page has another content from now on: the next one that has the old one is the first.
	pages = visitTexts(t, s, [2]string{"http://a.example/", words(3, 400)})
	want(t, pages, "http://a.example/", "")
	pages = visitTexts(t, s, [2]string{"http://f.example/", a})
	want(t, pages, "http://f.example/", "")
	// A page that is missing has no content, neither of its own nor of another.
	visitTexts(t, s, [2]string{"http://c.invalid/", ""})
	pages = visitTexts(t, s, [2]string{"http://g.example/", b})
	want(t, pages, "http://c.invalid/", "")
	want(t, pages, "http://g.example/", "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, dir)
}

func TestOfPagesThatComeTogetherOneIsTheFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := contentsState(t, dir, nil)
	text := words(1, 100)
	const pages = 40
	var visits [][2]string
	batches := make([]*Batch, len(s.Partitions))
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range batches {
		batches[i] = NewBatch(now)
	}
	for i := range pages {
		url := fmt.Sprintf("http://h%d.example%d/", i, i%7)
		visits = append(visits, [2]string{url, text})
		batches[s.PartitionOf(hostOfURL(url))].Visit(Visited{Page: Page{URL: url, Status: 200, LastVisit: now,
			MainDigest: fingerprint.Main([]byte(text)), SimHash: fingerprint.Sim([]byte(text))}})
	}
	errs := make(chan error)
	for i, p := range s.Partitions {
		go func() { _, err := p.Commit(batches[i]); errs <- err }()
	}
	for range s.Partitions {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	firsts := map[string]int{}
	for url, p := range recordsOf(t, s) {
		if p.SameAs == "" {
			firsts[url]++
		}
	}
	contents := uint64(0)
	for _, p := range s.Partitions {
		stats, err := p.Stats()
		if err != nil {
			t.Fatal(err)
		}
		contents += stats.Contents
	}
	if len(firsts) != 1 || contents != 1 || len(s.Partitions[0].contents.claims) != 0 {
		t.Errorf("%d of %d pages are the first, %d contents", len(firsts), len(visits), contents)
	}
}

func TestTheIndexOfContentsIsBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := contentsState(t, dir, func(o *Options) { o.Partitions, o.Contents = 1, 5 })
	for round := range 2 {
		for i := range uint64(20) {
			visitTexts(t, s, [2]string{fmt.Sprintf("http://h%d.example/%d", i, round), words(i, 50)})
		}
	}
	like := 0
	for _, p := range recordsOf(t, s) {
		if p.SameAs != "" {
			like++
		}
	}
	stats, err := s.Partitions[0].Stats()
	if err != nil || stats.Contents != 5 || like != 5 {
		t.Errorf("%d contents, %d pages like others: %v", stats.Contents, like, err)
	}
}

func TestContentsOfAStateThatHasNoIndex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	off := func(o *Options) { o.Contents = 0 }
	s := contentsState(t, dir, off)
	text := words(1, 50)
	pages := visitTexts(t, s, [2]string{"http://a.example/", text}, [2]string{"http://b.example/", text})
	want(t, pages, "http://b.example/", "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, dir)
	s = contentsState(t, dir, nil)
	visitTexts(t, s, [2]string{"http://a.example/", text})
	pages = visitTexts(t, s, [2]string{"http://c.example/", text})
	want(t, pages, "http://c.example/", "http://a.example/")
}

func TestAContentIsNearTheFirstThatIsNearlyTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := contentsState(t, dir, nil)
	// changed returns a text with other words, spread evenly; each of them is in three shingles.
	changed := func(text string, n int) string {
		all := strings.Fields(text)
		for i := range n {
			all[i*len(all)/n] = fmt.Sprint("other", n, i)
		}
		return strings.Join(all, " ")
	}
	text, short := words(1, 400), words(2, 2)
	var others [][2]string
	for i := range uint64(50) {
		others = append(others, [2]string{fmt.Sprintf("http://other%d.example/", i), words(100+i, 400)})
	}
	visitTexts(t, s, append(others, [2]string{"http://a.example/", text}, [2]string{"http://s.example/", short})...)
	wantNear := func(pages map[string]Page, url, near string) {
		t.Helper()
		if p := pages[url]; p.Near != near || p.SameAs != "" {
			t.Errorf("%s is near %q and the same as %q, not near %q", url, p.Near, p.SameAs, near)
		}
	}
	pages := visitTexts(t, s, [2]string{"http://b.test/", changed(text, 2)},
		[2]string{"http://c.test/", changed(text, 40)}, [2]string{"http://t.example/", short + " more"})
	wantNear(pages, "http://a.example/", "")
	wantNear(pages, "http://b.test/", "http://a.example/")
	wantNear(pages, "http://c.test/", "")
	wantNear(pages, "http://t.example/", "")
	for _, other := range others {
		wantNear(pages, other[0], "")
	}

	// The sketches are on disk; a page is not near its own earlier text.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, dir)
	s = contentsState(t, dir, nil)
	pages = visitTexts(t, s, [2]string{"http://d.test/", changed(text, 3)},
		[2]string{"http://other7.example/", changed(others[7][1], 1)})
	if near := pages["http://d.test/"].Near; near != "http://a.example/" && near != "http://b.test/" {
		t.Errorf("after a restart it is near %q", near)
	}
	wantNear(pages, "http://other7.example/", "")
	// Nor is it near a text that no page has any more, or when it is missing.
	visitTexts(t, s, [2]string{"http://other9.example/", words(3, 400)}, [2]string{"http://b.test/", ""})
	pages = visitTexts(t, s, [2]string{"http://e.test/", changed(others[9][1], 1)})
	wantNear(pages, "http://e.test/", "")
	wantNear(pages, "http://b.test/", "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, dir)
}

// A replica that takes over finds contents that came to it by the log, and all replicas note the same.
func TestAReplicaThatTakesOverFindsContents(t *testing.T) {
	dir := t.TempDir()
	one, other := filepath.Join(dir, "one"), filepath.Join(dir, "other")
	replica := func(o *Options) { o.Replica, o.Partitions = true, 1 }
	if err := contentsState(t, one, replica).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(other, os.DirFS(one)); err != nil {
		t.Fatal(err)
	}
	replicas := []*State{contentsState(t, one, replica), contentsState(t, other, replica)}
	index := uint64(0)
	lead := func(s *State) {
		t.Helper()
		if err := s.Replicate(1, func(_ int, b *Batch) (out Outcome, err error) {
			entry, err := b.MarshalBinary()
			if err != nil {
				return out, err
			}
			index++
			for _, replica := range replicas {
				var read Batch
				if err := read.UnmarshalBinary(entry); err != nil {
					return out, err
				}
				if out, err = replica.Partitions[0].Apply(index, 1, &read); err != nil {
					return out, err
				}
			}
			return out, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	text := words(1, 400)
	lead(replicas[0])
	visitTexts(t, replicas[0], [2]string{"http://a.example/", text})
	if err := replicas[0].Replicate(1, nil); err != nil {
		t.Fatal(err)
	}
	lead(replicas[1])
	nearly := "other " + text[strings.IndexByte(text, ' ')+1:]
	visitTexts(t, replicas[1], [2]string{"http://b.test/", nearly}, [2]string{"http://c.test/", text})
	var digests []string
	for _, s := range replicas {
		pages := recordsOf(t, s)
		if near, same := pages["http://b.test/"].Near, pages["http://c.test/"].SameAs; near != "http://a.example/" ||
			same != "http://a.example/" {
			t.Errorf("near %q, the same as %q", near, same)
		}
		digest, err := s.Partitions[0].Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	if digests[0] != digests[1] {
		t.Error("the replicas differ")
	}
}
