package stoplist

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/messages/weburl"
)

var start = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

// saw shows a visit to a list. It returns the entries that are new or renewed, and the prefixes that are off the list.
func saw(l *List, o *Options, v Visit, now time.Time) (outcome Outcome, listed []Entry, lifted []string) {
	before := slices.Clone(l.Entries())
	outcome = l.Saw(o, v, now)
	for _, e := range l.Entries() {
		if !slices.Contains(before, e) {
			listed = append(listed, e)
		}
	}
	for _, e := range before {
		if _, found := l.find(e.Prefix); !found {
			lifted = append(lifted, e.Prefix)
		}
	}
	return outcome, listed, lifted
}

// run shows visits to a list, each a minute after the last: "URL outcome", n times with # in the URL counting up.
func run(l *List, o *Options, visits ...string) (listed []string, now time.Time) {
	now = start
	for _, visit := range visits {
		url, rest, _ := strings.Cut(visit, " ")
		word, times, _ := strings.Cut(rest, " ×")
		n := 1
		if times != "" {
			fmt.Sscan(times, &n)
		}
		for i := range n {
			now = now.Add(time.Minute)
			v := Visit{URL: strings.ReplaceAll(url, "#", fmt.Sprint(i)), Outcome: Outcome(slices.Index(words[:], word))}
			_, entries, _ := saw(l, o, v, now)
			for _, e := range entries {
				listed = append(listed, e.Prefix)
			}
		}
	}
	return listed, now
}

// By the rule of the thesis one page lists its folder, and no other; no good page takes it off, and the host as a whole
// is never listed.
func TestTheRuleOfTheThesis(t *testing.T) {
	o := DefaultOptions()
	o.MinBroken = 1
	var l List
	listed, now := run(&l, &o, "http://a.example/d/e/# good ×20", "http://a.example/d/e/x missing",
		"http://a.example/d/e/y good", "http://a.example/d/e/z slow", "http://a.example/f/x moved",
		"http://a.example/x missing")
	if want := []string{"http://a.example/d/e/", "http://a.example/f/"}; !slices.Equal(listed, want) {
		t.Errorf("listed %v, want %v", listed, want)
	}
	if _, stopped := l.Stopped("http://a.example/d/e/y", now); !stopped {
		t.Error("a good page has taken its folder off the list")
	}
	_, again, _ := saw(&l, &o, Visit{URL: "http://a.example/f/y", Outcome: Moved}, now.Add(25*time.Hour))
	if len(again) != 1 || again[0].Rounds != 2 {
		t.Errorf("on probation: %+v", again)
	}
}

func TestEvidence(t *testing.T) {
	for _, tt := range []struct {
		name   string
		visits []string
		listed []string
	}{
		{"one bad page stops nothing", []string{"http://a.example/d/x missing"}, nil},
		{"nine in a row are not enough", []string{"http://a.example/d/# missing ×9"}, nil},
		{"ten in a row stop their folder", []string{"http://a.example/d/# missing ×10"},
			[]string{"http://a.example/d/"}},
		{"one good page among them, and nothing is stopped",
			[]string{"http://a.example/d/# missing ×9", "http://a.example/d/y good", "http://a.example/d/# missing ×9"},
			nil},
		{"a good folder is not stopped by ten dead links", []string{"http://a.example/d/# good ×100",
			"http://a.example/d/x# missing ×50"}, nil},
		{"it is by a hundred", []string{"http://a.example/d/# good ×100", "http://a.example/d/x# missing ×100"},
			[]string{"http://a.example/d/"}},
		{"pages of the root never stop the host", []string{"http://a.example/# missing ×1000"}, nil},
		{"a page below is good for the folders above", []string{"http://a.example/d/# missing ×9",
			"http://a.example/d/e/y good", "http://a.example/d/# missing ×9"}, nil},
		{"one bad folder does not stop the folder above", []string{"http://a.example/d/e/# missing ×20"},
			[]string{"http://a.example/d/e/"}},
		{"ten bad folders of three pages do", []string{"http://a.example/d/#/x missing ×10",
			"http://a.example/d/#/y missing ×10", "http://a.example/d/#/z missing ×10"},
			[]string{"http://a.example/d/"}},
		{"redirects and passwords say nothing", []string{"http://a.example/d/# silent ×100"}, nil},
		{"slow and failing pages count as missing ones do", []string{"http://a.example/d/# slow ×5",
			"http://a.example/d/x# failing ×5"}, []string{"http://a.example/d/"}},
		{"slashes of a query are no folders", []string{"http://a.example/d?u=/e/# missing ×20"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := DefaultOptions()
			var l List
			if listed, _ := run(&l, &o, tt.visits...); !slices.Equal(listed, tt.listed) {
				t.Errorf("listed %q, want %q", listed, tt.listed)
			}
		})
	}
}

func TestAnEntryStopsWhatIsBelowIt(t *testing.T) {
	o := DefaultOptions()
	var l List
	_, now := run(&l, &o, "http://a.example/d/# missing ×10")
	for url, want := range map[string]bool{
		"http://a.example/d/": true, "http://a.example/d/y": true, "http://a.example/d/e/f?g": true,
		"http://a.example/d": false, "http://a.example/dd/y": false, "https://a.example/d/y": false,
		"http://a.example/": false,
	} {
		if _, stopped := l.Stopped(url, now); stopped != want {
			t.Errorf("%s: %v, want %v", url, stopped, want)
		}
	}
	if got := l.Prefixes(now); !slices.Equal(got, []string{"http://a.example/d/"}) {
		t.Error("prefixes", got)
	}
}

// A calendar of empty months: folder after folder falls, then the one above them, which stands for all.
func TestAListedFolderStandsForAllBelow(t *testing.T) {
	o := DefaultOptions()
	var l List
	years := 0
	for year := range 20 {
		for month := range 12 {
			l.Saw(&o, Visit{URL: fmt.Sprintf("http://a.example/calendar/%d/%d", year, month), Outcome: Alike}, start)
			years = max(years, len(l.Entries()))
		}
	}
	if got := l.Prefixes(start); years < 2 || !slices.Equal(got, []string{"http://a.example/calendar/"}) {
		t.Errorf("%d years were listed, and then %v", years, got)
	}
}

// An entry ends, is renewed sooner and for longer, and goes with one good page.
func TestEntriesDecay(t *testing.T) {
	o := DefaultOptions()
	var l List
	_, now := run(&l, &o, "http://a.example/d/# missing ×10")
	for round, span := 1, o.FirstSpan; round <= 6; round, span = round+1, min(4*span, o.MaxSpan) {
		if _, stopped := l.Stopped("http://a.example/d/y", now.Add(span-time.Second)); !stopped {
			t.Fatalf("round %d: ended before %v", round, span)
		}
		now = now.Add(span)
		if _, stopped := l.Stopped("http://a.example/d/y", now); stopped {
			t.Fatalf("round %d: lasts longer than %v", round, span)
		}
		for i := range 4 {
			_, listed, _ := saw(&l, &o, Visit{URL: fmt.Sprintf("http://a.example/d/%d-%d", round, i),
				Outcome: Missing}, now)
			if want := i == 3; len(listed) > 0 != want {
				t.Fatalf("round %d, page %d: %v", round, i, listed)
			}
		}
	}
	_, _, lifted := saw(&l, &o, Visit{URL: "http://a.example/d/e/y", Outcome: Good}, now)
	if !slices.Equal(lifted, []string{"http://a.example/d/"}) || len(l.entries) != 0 {
		t.Errorf("lifted %v, left %v", lifted, l.entries)
	}
}

// A host that has the same text for whatever is asked: its folder is stopped, and one whose pages differ is not.
func TestTheSameTextEverywhereIsNoPage(t *testing.T) {
	o := DefaultOptions()
	var l List
	rnd := rand.New(rand.NewPCG(1, 2))
	alike := 0
	for i := range 200 {
		if _, stopped := l.Stopped("http://a.example/soft/x", start); !stopped {
			if l.Saw(&o, Visit{URL: fmt.Sprintf("http://a.example/soft/%d", i), Outcome: Good, Main: 7},
				start) == Alike {
				alike++
			}
		}
		if _, listed, _ := saw(&l, &o, Visit{URL: fmt.Sprintf("http://a.example/real/%d", i), Outcome: Good, Main: 8 +
			rnd.Uint64N(1<<60)}, start); len(listed) > 0 {
			t.Fatal("stopped", listed)
		}
	}
	if got := l.Prefixes(start); !slices.Equal(got, []string{"http://a.example/soft/"}) || alike < o.MinBroken ||
		alike > 100 {
		t.Errorf("stopped %v after %d pages alike", got, alike)
	}
}

// However many folders a host makes up, the memory is that of MaxFolders.
func TestMemoryIsBounded(t *testing.T) {
	o := DefaultOptions()
	o.MaxFolders = 50
	var l List
	for i := range 10_000 {
		for j := range 10 {
			l.Saw(&o, Visit{URL: fmt.Sprintf("http://a.example/%d/%d", i, j), Outcome: Missing}, start)
		}
		l.Saw(&o, Visit{URL: fmt.Sprintf("http://a.example/g%d/x/y/z/y", i), Outcome: Good, Main: uint64(i) + 1}, start)
		if len(l.watched) > o.MaxFolders || len(l.entries) > o.MaxFolders {
			t.Fatalf("%d folders watched, %d listed", len(l.watched), len(l.entries))
		}
	}
}

// With the longest URLs there are fewer entries: what is written of them is bounded.
func TestEntriesAreBoundedInBytes(t *testing.T) {
	o := DefaultOptions()
	o.MinBroken = 1
	var l List
	for i := range o.MaxFolders {
		url := fmt.Sprintf("http://a.example/%d/%s/x", i, strings.Repeat("a", weburl.MaxLength-32))
		l.Saw(&o, Visit{URL: url, Outcome: Missing}, start)
	}
	b, err := l.MarshalEntries()
	if err != nil || len(l.Entries()) < 30 || len(b) > maxListed+maxListed/8 {
		t.Errorf("%d entries of the longest URLs are %d bytes, %v", len(l.Entries()), len(b), err)
	}
}

func TestTextsFindsWhatIsFrequent(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var texts texts
	got, real := 0, 0
	for range 10_000 {
		if rnd.IntN(5) == 0 {
			real++
			got = texts.count(7)
		} else {
			texts.count(rnd.Uint64())
		}
	}
	if got > real || got < real-10_000/(textsKept+1) {
		t.Errorf("counted %d of %d", got, real)
	}
}

func TestAPersonsWordStandsForTheWholeHost(t *testing.T) {
	l, o, now := &List{}, DefaultOptions(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l.Put(Entry{Prefix: "http://a.example/docs/", Until: now.Add(time.Hour)})
	if l.Excluded(now) {
		t.Error("a folder stands for the host")
	}
	l.Put(Entry{Prefix: "http://a.example/"})
	l.Saw(&o, Visit{URL: "http://a.example/b/c", Outcome: Good}, now)
	for _, url := range []string{"http://a.example/", "http://a.example/?q", "http://a.example/b/c"} {
		if e, stopped := l.Stopped(url, now.Add(1000*time.Hour)); !stopped || e.Prefix != "http://a.example/" {
			t.Errorf("%s is not stopped, but by %q", url, e.Prefix)
		}
	}
	l.Remove("http://a.example/")
	if _, stopped := l.Stopped("http://a.example/b/c", now); stopped || l.Excluded(now) {
		t.Error("it is stopped after the word was taken back")
	}
}

// Whatever a list is told, one that was written and read back after every visit says the same.
func TestAListSurvivesBeingWritten(t *testing.T) {
	o := DefaultOptions()
	o.MaxAlike = 3
	rnd := rand.New(rand.NewPCG(7, 9))
	var kept, carried List
	var entries []byte
	var err error
	written := 0
	for i := range 20_000 {
		now := start.Add(time.Duration(i) * time.Minute)
		v := Visit{URL: fmt.Sprintf("http://a.example/%d/%d/%d", rnd.IntN(3), rnd.IntN(4), i),
			Outcome: Outcome(rnd.IntN(int(Alike)))}
		if v.Outcome == Good && rnd.IntN(4) > 0 {
			v.Outcome = Missing
		}
		if v.Outcome == Good {
			v.Main = 1 + rnd.Uint64N(9)
		}
		outcome, listed, lifted := saw(&kept, &o, v, now)
		again, too, off := saw(&carried, &o, v, now)
		if again != outcome || !slices.Equal(too, listed) || !slices.Equal(off, lifted) {
			t.Fatalf("visit %d: %v %v %v after reading back, %v %v %v without", i, again, too, off, outcome, listed,
				lifted)
		}
		if carried.Changed() == 0 && v.Outcome != Silent {
			t.Fatal("a visit changed nothing")
		}
		if is := carried.Changed()&Listed != 0; is != (len(listed)+len(lifted) > 0) {
			t.Fatalf("visit %d: other entries: %v, but %v and %v", i, is, listed, lifted)
		} else if is {
			if entries, err = carried.MarshalEntries(); err != nil {
				t.Fatal(err)
			}
		}
		b, err := carried.MarshalBinary()
		if err != nil || carried.Changed() != 0 {
			t.Fatal(err, carried.Changed())
		}
		written = max(written, len(b))
		var next List
		if err := errors.Join(next.UnmarshalEntries(entries), next.UnmarshalBinary(b)); err != nil {
			t.Fatal(err)
		}
		carried = next
	}
	if written > 600 {
		t.Errorf("%d bytes of evidence for 15 folders", written)
	}
}

func FuzzUnmarshal(f *testing.F) {
	o := DefaultOptions()
	for n := range 3 {
		var l List
		run(&l, &o, fmt.Sprintf("http://a.example/d/# missing ×%d", 4*n), "http://a.example/e/# good ×3")
		b, _ := l.MarshalBinary()
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var l List
		if l.UnmarshalBinary(b) != nil {
			return
		}
		again, _ := l.MarshalBinary()
		var twin List
		if err := twin.UnmarshalBinary(again); err != nil || len(again) > len(b)+2 {
			t.Fatalf("%x becomes %x: %v", b, again, err)
		}
		l.Saw(&o, Visit{URL: "http://a.example/d/e", Outcome: Missing}, start)
	})
}
