package news

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func said(all []Changed) string {
	var words []string
	for _, b := range all {
		sign := "-"
		if b.Came {
			sign = "+"
		}
		words = append(words, sign+b.Kind.String()+" "+b.Text)
	}
	return strings.Join(words, "|")
}

func compared(before, now string, r *Watch) *Change {
	return Compare(Read([]byte(before), 200, "", r), Read([]byte(now), 200, "", r))
}

func TestWhatChangedIsOfBlocks(t *testing.T) {
	for name, c := range map[string]struct{ before, now, want string }{
		"a paragraph":     {"<p>a<p>b <b>c</b>", "<p>a<p>b <b>d</b>", "-text b c|+text b d"},
		"a title":         {"<title>a</title>x", "<title>b</title>x", "-title a|+title b"},
		"a link":          {"<a href=/1>x</a>", "<a href=/2>x</a>", "-link /1|+link /2"},
		"a picture":       {"<img src=/1>", "<img src=/2>", "-picture /1|+picture /2"},
		"lines of code":   {"<pre>a\nb\nc</pre>", "<pre>a\nd\nc</pre>", "-text b|+text d"},
		"moved":           {"<p>a<p>b<p>c", "<p>c<p>a<p>b", ""},
		"navigation":      {"<nav>a</nav><footer>b</footer>c", "<nav>d</nav><footer>e</footer>c", ""},
		"scripts":         {"<script>a</script><p>c", "<script>b</script><p>c", ""},
		"white space":     {"<p>a  b", "<p>\na\u00a0b\n", ""},
		"twice, now once": {"<p>a<p>a", "<p>a", "-text a"},
		"main in an aside": {"<aside><main>a</main></aside>", "<aside><main>b</main></aside>",
			"-text a|+text b"},
	} {
		if got := said(compared(c.before, c.now, nil).Blocks); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	c := Compare(Read(nil, 200, "", nil), Read(nil, 301, "https://b.test/", nil))
	if got := said(c.Blocks); got != "+status 301|+redirect https://b.test/" {
		t.Errorf("redirected: %q", got)
	}
}

func TestPricesAndDatesOfAChangeAreTold(t *testing.T) {
	c := compared("<p>Salt 3 € until 2026-03-14, pepper $4.50", "<p>Salt 5 € until 1 April 2026, pepper $4.50", nil)
	went, came := c.Prices()
	if fmt.Sprint(went, came) != "[3 €] [5 €]" {
		t.Errorf("prices %v, %v", went, came)
	}
	if went, came = c.Dates(); fmt.Sprint(went, came) != "[2026-03-14] [1 April 2026]" {
		t.Errorf("dates %v, %v", went, came)
	}
}

// A page that has a clock, an advertisement, and a list to which news is added.
func withNoise(r *rand.Rand, news string) string {
	return fmt.Sprintf("<h1>Salt</h1><p>It is %d:%02d now</p><div class=ad>Buy %x</div><ul>%s<li>old one</ul>",
		r.IntN(24), r.IntN(60), r.Uint64(), news)
}

func TestNoiseIsLearntUndoneAndTaught(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	own, list, before := NewRecord(), "", ""
	visit := func(own *Record) *Change {
		now := withNoise(r, list)
		c := compared(before, now, nil)
		Judge(c, 1, own, nil, DefaultLimits())
		before = now
		return c
	}
	visit(own)
	for i := range 10 {
		before := own.visits
		if c := visit(own); c.Told(nil) != (i < 2) || own.visits != before+1 {
			t.Errorf("visit %d: told %v: %s", i, c.Told(nil), said(c.News()))
		}
	}
	for i := range 10 { // news at each visit, added to a list
		list = fmt.Sprintf("<li>news of day %c", 'a'+i) + list
		if c := visit(own); said(c.News()) != fmt.Sprintf("+text news of day %c", 'a'+i) || len(c.Noise()) != 4 {
			t.Errorf("day %d: %q, %q", i, said(c.News()), said(c.Noise()))
		}
	}
	c := visit(own)
	if c.Told(nil) || c.Noise()[0].Noise == "" {
		t.Errorf("told: %q", said(c.News()))
	}
	own.Keep(c)
	if c = visit(own); len(c.News()) != 4 {
		t.Errorf("undone: %q", said(c.News()))
	}
	own.Dismiss(c)
	if c = visit(own); c.Told(nil) || c.Noise()[0].Noise != Dismissed {
		t.Errorf("dismissed: %q", said(c.News()))
	}
	fresh := NewRecord() // what is dismissed at its first change
	c = visit(fresh)
	fresh.Dismiss(c)
	if c = visit(fresh); c.Told(nil) {
		t.Errorf("dismissed at once: %q", said(c.News()))
	}
}

// Noise of a template is known on pages that were never compared before, and one release of all pages is none.
func TestNoiseIsLearntFromOtherPages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	template := NewTemplate()
	judge := func(page int, before, now string) *Change {
		c := compared(before, now, nil)
		Judge(c, uint64(page), NewRecord(), template, DefaultLimits())
		return c
	}
	told := 0
	for page := range 20 {
		if judge(page, withNoise(r, ""), withNoise(r, "")).Told(nil) {
			told++
		}
	}
	if told > 8 {
		t.Errorf("%d of 20 are told", told)
	}
	template = NewTemplate()
	template.Visited(400)
	for page := range 100 {
		if c := judge(page, "<p>Manual of 1.0", "<p>Manual of 1.1"); !c.Told(nil) {
			t.Fatalf("page %d: the release is noise", page)
		}
	}
}

// An update that reaches page after page, each once, is news on all of them, also where nothing is known yet; what
// changes again and again on some pages is known on the others.
func TestAnUpdateOfASiteIsNews(t *testing.T) {
	version := func(page, round int, often bool) string {
		if often && page%2 == 0 {
			return fmt.Sprintf("<p>The words of page %d.<p>Of the day: %s", page, strings.Repeat("tea and ", round+1))
		}
		if round > page%3 {
			return fmt.Sprintf("<p>The words of page %d.<p>Prices rise, says number %d of us.", page, page)
		}
		return fmt.Sprintf("<p>The words of page %d.<p>Nothing is to be said.", page)
	}
	for _, often := range []bool{false, true} {
		template, own, told := NewTemplate(), map[int]*Record{}, 0
		for round := 1; round < 4; round++ {
			for page := range 30 {
				if own[page] == nil {
					own[page] = NewRecord()
				}
				before, now := version(page, round-1, often), version(page, round, often)
				if before == now {
					own[page].Visited(1)
					template.Visited(1)
					continue
				}
				c := compared(before, now, nil)
				Judge(c, uint64(page), own[page], template, DefaultLimits())
				if c.Told(nil) {
					told++
				}
			}
		}
		if often && told > 30 || !often && told != 30 {
			t.Errorf("of 30 pages, half of them with noise: %v, %d changes are told", often, told)
		}
	}
}

func TestARecordIsBoundedAndReadAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	own, before := NewRecord(), ""
	for range 300 {
		var b strings.Builder
		for i := range 50 {
			fmt.Fprintf(&b, "<div class=x%c>%x</div>", 'a'+i%26, r.Uint64())
		}
		c := compared(before, b.String(), nil)
		Judge(c, 1, own, nil, DefaultLimits())
		before = b.String()
	}
	text := own.Append(nil)
	again := NewRecord()
	if err := again.Parse(text); err != nil || !reflect.DeepEqual(own, again) {
		t.Errorf("read again: %v", err)
	}
	if len(own.marks) > ofPage || len(text) > 2000 {
		t.Errorf("%d keys, %d bytes", len(own.marks), len(text))
	}
	for i := range text {
		broken := append([]byte(nil), text...)
		broken[i] ^= 4
		if NewRecord().Parse(broken) == nil {
			t.Fatalf("byte %d is another, and nobody notices", i)
		}
	}
}

func TestHostilePagesAreRead(t *testing.T) {
	for name, page := range map[string]string{
		"nested":     strings.Repeat("<div>", 1<<20) + "deep",
		"50 MB":      "<p>a" + strings.Repeat("<p>b c", 8<<20),
		"one word":   strings.Repeat("x", 5<<20),
		"many links": strings.Repeat("<a href=x>", 100_000),
		"not closed": strings.Repeat("<table><tr><td><b><i>x", 20_000),
		"no UTF-8":   "<p>\xff\xfe\x00a",
	} {
		p := Read([]byte(page), 200, "", nil)
		if len(p.Blocks) == 0 || len(p.Blocks) > maxBlocks+1 {
			t.Errorf("%s: %d blocks", name, len(p.Blocks))
		}
	}
	p := Read([]byte("<title>"+strings.Repeat("ß", 10_000)+"</title>"), 200, "", nil)
	if p.Title != strings.Repeat("ß", maxTitle)+"…" || len(p.Blocks) != 1 || len(p.Blocks[0].Text) <= len(p.Title) {
		t.Errorf("a long title is %.20q of %d bytes, in %d blocks", p.Title, len(p.Title), len(p.Blocks))
	}
	p = Read([]byte("<title>safe \u202egnp.exe\u202c \u2066of the Do\u00adnau</title>"), 200, "", nil)
	if p.Title != "safe gnp.exe of the Donau" {
		t.Errorf("a title that turns text round is %+q", p.Title)
	}
	long := "<p>" + strings.Repeat("a ", MaxBytes)
	if c := compared(long+"b", long+"c", nil); !c.Told(nil) {
		t.Error("what changes behind the bound is not told")
	}
}

func TestRulesAreRead(t *testing.T) {
	watches, err := ParseWatches(strings.NewReader(`
- pages: https://A.test/shop/*
  watch: ["#price", .stock]
  ignore: ['Updated \d+']
- pages: "*"
  leave: [.ad]
  least: 5
- pages: b.test
  come: [In Stock]
  links: false
  learn: false
`))
	if err != nil {
		t.Fatal(err)
	}
	shop := watches.For("https://a.test/shop/1")
	c := compared("<nav id=price>3 Updated 1</nav><p>a", "<nav id=price>3 Updated 2</nav><p>b", shop)
	if len(c.Blocks) != 0 {
		t.Errorf("shop: %q", said(c.Blocks))
	}
	c = compared("<nav id=price>3</nav><p>a", "<nav id=price>4</nav><p>b", shop)
	if said(c.Blocks) != "-text 3|+text 4" {
		t.Errorf("shop: %q", said(c.Blocks))
	}
	all := watches.For("https://a.test/")
	if c = compared("<div class=ad>a</div>", "<div class=ad>b</div>", all); len(c.Blocks) != 0 {
		t.Errorf("left out: %q", said(c.Blocks))
	}
	if compared("a", "b", all).Told(all) || !compared("abc", "def", all).Told(all) {
		t.Error("least is not the least")
	}
	b := watches.For("https://b.test/x")
	if !compared("<a href=1>no", "<a href=2>now in stock", b).Told(b) || compared("in stock", "x", b).Told(b) ||
		compared("<a href=1>x", "<a href=2>x", b).Told(b) || b.Learns() || !all.Learns() {
		t.Error("words, links or learning are not as the watch says")
	}
	if watches.For("https://c.test/") != all || (*Watches)(nil).For("https://c.test/") != nil {
		t.Error("other pages have another watch")
	}
}

func TestErrorsOfRulesNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"- pages: a.test\n  wach: [x]":            `line 2: "wach": want pages, watch`,
		"- pages: a.test\n  watch:\n  - '##'":     `line 3: "##" is no CSS selector`,
		"- pages: a.test\n  ignore: ['(']":        `line 2: "(" is no regular expression`,
		"- watch: [x]":                            `line 1: pages "": want a URL`,
		"- pages: a.test/x":                       `line 1: pages "a.test/x": want https://`,
		"- pages: a.test\n  least: many":          `line 2: cannot unmarshal`,
		"pages: a.test":                           `want a list of watches`,
		"- x":                                     `line 1: want a watch`,
		strings.Repeat("- pages: a.test\n", 1001): `line 1001: more than 1000 watches`,
		"- pages: a.test\n  come: ['']":           `line 2: want 1 to 500 bytes in come`,
	} {
		if _, err := ParseWatches(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50q: %v, want %s", text, err, want)
		}
	}
	if _, err := ParseWatches(strings.NewReader("")); err != nil {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("<p>a<div class=b><svg><title>x</title>"), []byte("<p>b"))
	f.Fuzz(func(t *testing.T, before, now []byte) {
		c := Compare(Read(before, 200, "", nil), Read(now, 404, "", nil))
		own := NewRecord()
		Judge(c, 1, own, NewTemplate(), DefaultLimits())
		if err := NewRecord().Parse(own.Append(nil)); err != nil {
			t.Error(err)
		}
		if len(Compare(Read(before, 200, "", nil), Read(before, 200, "", nil)).Blocks) != 0 {
			t.Error("a page differs from itself")
		}
	})
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte("- pages: https://a.test/*\n  watch: ['a:has(b)']\n  ignore: ['x*']\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		if watches, err := ParseWatches(strings.NewReader(string(text))); err == nil {
			Read([]byte("<div><p id=a>x</p></div>"), 200, "", watches.For("https://a.test/b"))
		}
	})
}

// What a reader has said goes from one record of a page to another: with all the rest, or without. Where something was
// said in both, that of the record counts whose visits count.
func TestARecordAdoptsWhatWasSaid(t *testing.T) {
	page := "<p>It is %s<h2>Tea</h2><ul><li>Tea costs %d € today</ul><p>This stays as it is"
	change := compared(fmt.Sprintf(page, "hot", 1), fmt.Sprintf(page, "cold", 1), nil)
	other := compared(fmt.Sprintf(page, "hot", 1), fmt.Sprintf(page, "hot", 2), nil)
	said := func(say func(*Record, *Change), visits int, of ...*Change) *Record {
		r := NewRecord()
		r.Visited(visits)
		for _, c := range of {
			say(r, c)
		}
		return r
	}
	why := func(r *Record, c *Change) Why { return c.why(&c.Blocks[0], r, nil, new(DefaultLimits())) }
	for _, all := range []bool{false, true} {
		r := said((*Record).Keep, 5, change)
		if !r.Adopt(said((*Record).Dismiss, 9, change, other), all) || r.Adopt(NewRecord(), false) {
			t.Errorf("all %v: it cannot tell whether anything was new", all)
		}
		if why(r, other) != Dismissed || (why(r, change) == Dismissed) != all || (r.visits == 9) != all {
			t.Errorf("all %v: %q, %q after %d visits", all, why(r, other), why(r, change), r.visits)
		}
	}
	kept := said((*Record).Dismiss, 5, change)
	if kept.Adopt(NewRecord(), true); why(kept, change) != Dismissed {
		t.Error("what was dismissed here is forgotten for a record in which nothing was said")
	}
	if err := NewRecord().Parse(kept.Append(nil)); err != nil {
		t.Errorf("adopted, it is none: %v", err)
	}
}

// What comes and goes again and again on some pages of a template is noise on others too. A notice that replaces
// another on all pages is news, and so is one that goes after a while.
func TestWhatComesAndGoesOnSeveralPagesIsNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	show := func(page int, notice string) string {
		return fmt.Sprintf("<p>The words of page %d.%s<p>The end of %[1]d.", page, notice)
	}
	for name, c := range map[string]struct {
		notice func(round int) string
		quiet  int // visits that change nothing, of each page after each round
		told   func(round, pages int) bool
	}{
		"one of two": {func(int) string { return []string{"", "<p>Try the new search."}[r.IntN(2)] }, 0,
			func(round, told int) bool { return round < 4 || told <= 1 }},
		"one after the other": {func(round int) string { return "<p>" + strings.Repeat("Sale! ", round+1) }, 9,
			func(_, told int) bool { return told == 12 }},
		"for a while": {func(round int) string { return []string{"", "<p>We are closed."}[round%2] }, 9,
			func(round, told int) bool { return round > 2 || told == 12 }},
	} {
		template, own, last := NewTemplate(), map[int]*Record{}, map[int]string{}
		for round := range 9 {
			told, changed := 0, 0
			for page := range 12 {
				now := show(page, c.notice(round))
				if own[page] == nil {
					own[page] = NewRecord()
				} else if now == last[page] {
					own[page].Visited(1)
					template.Visited(1)
				} else {
					change := compared(last[page], now, nil)
					Judge(change, uint64(page), own[page], template, DefaultLimits())
					if changed++; change.Told(nil) {
						told++
					}
				}
				last[page] = now
				own[page].Visited(c.quiet)
				template.Visited(c.quiet)
			}
			if round > 0 && !c.told(round, told) {
				t.Errorf("%s, round %d: of %d changed pages %d are told", name, round, changed, told)
			}
		}
	}
}
