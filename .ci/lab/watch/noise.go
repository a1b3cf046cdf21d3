package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// noise is one kind.
type noise struct {
	name string
	make func(r *rand.Rand, manner int, at time.Time) string
}

// kinds are the fifteen kinds of noise. Each makes what a page has at one visit, in two manners: 0 is for choosing, 1
// for judging. Both differ in what is said, in how it is marked up and in how much differs.
var kinds = []noise{
	{"clock", func(_ *rand.Rand, manner int, at time.Time) string {
		return pick(manner, `<p>`+at.Format("15:04:05")+`</p>`,
			`<div class="c">It is `+at.Format("3:04 PM")+` UTC</div>`)
	}},
	{"date of today", func(_ *rand.Rand, manner int, at time.Time) string {
		return pick(manner, `<p class="today">`+at.Format("Monday, 2 January 2006")+`</p>`,
			`<div>Today: <span>`+at.Format("Jan 2, 2006")+`</span></div>`)
	}},
	{"counter", func(r *rand.Rand, manner int, at time.Time) string {
		n := int(at.Unix()/977) + r.IntN(50)
		return pick(manner, fmt.Sprintf(`<p>You are visitor %d of this page.</p>`, n),
			fmt.Sprintf(`<table class="f"><tr><td>Hits</td><td>%08d</td></tr></table>`, n))
	}},
	{"people who look", func(r *rand.Rand, manner int, _ time.Time) string {
		return pick(manner, fmt.Sprintf(`<p><b>%d people</b> look at this</p>`, 2+r.IntN(40)),
			fmt.Sprintf(`<div class="live">%d readers are here now, %d of them signed in</div>`, 20+r.IntN(90),
				r.IntN(20)))
	}},
	{"advertisement in words", func(r *rand.Rand, manner int, _ time.Time) string {
		return pick(manner, `<div class="ad"><p>`+sentence(r, 4)+`</p><p>`+sentence(r, 12)+`</p></div>`,
			`<p>Sponsored: `+sentence(r, 9)+`</p>`)
	}},
	{"advertisement in pictures", func(r *rand.Rand, manner int, _ time.Time) string {
		return pick(manner,
			fmt.Sprintf(`<div><a href="https://ads.test/click?c=%x"><img src="https://ads.test/b/%d.png"></a></div>`,
				r.Uint64(), r.IntN(1000)),
			fmt.Sprintf(`<p class="banner-%d"><a href="/go/%s"><img src="/pix/%s.gif" alt=""></a>`+
				`<a href="/go/%s">%s</a></p>`, r.IntN(100), token(r), token(r), token(r), sentence(r, 3)))
	}},
	{"session in links", nil}, // see disturb
	{"number of the request", func(r *rand.Rand, manner int, _ time.Time) string {
		return pick(manner, `<p>Request `+token(r)+`</p>`,
			fmt.Sprintf(`<small>Ray ID: %x, nonce %s</small>`, r.Uint64(), token(r)))
	}},
	{"related pages, others each time", func(r *rand.Rand, manner int, _ time.Time) string {
		n, pool := 6, 20
		if manner == 1 {
			n, pool = 3, 60
		}
		var b strings.Builder
		b.WriteString(pick(manner, `<div class="related"><h4>Read also</h4><ul>`, `<h4>More</h4><ul>`))
		for _, i := range r.Perm(pool)[:n] {
			fmt.Fprintf(&b, `<li><a href="/articles/%d">%s</a></li>`, i,
				sentence(rand.New(rand.NewPCG(uint64(i), 5)), 6))
		}
		return b.String() + pick(manner, `</ul></div>`, `</ul>`)
	}},
	{"quotation of the day", func(r *rand.Rand, manner int, _ time.Time) string {
		of := rand.New(rand.NewPCG(uint64(r.IntN([]int{200, 30}[manner])), 9))
		return pick(manner, `<blockquote>`+sentence(of, 14)+`</blockquote>`,
			`<p>Tip: `+sentence(of, 10)+`</p><p>`+sentence(of, 3)+`</p>`)
	}},
	{"how long ago", func(r *rand.Rand, manner int, _ time.Time) string {
		var b strings.Builder
		for i := range 4 {
			who := sentence(rand.New(rand.NewPCG(uint64(i), 11)), 2)
			units := []string{"seconds", "minutes", "hours", "days", "weeks"}
			ago := fmt.Sprintf("%d %s ago", 2+r.IntN(30), units[r.IntN(len(units))])
			b.WriteString(pick(manner, `<div class="comment"><span>`+who+`</span> <i>`+ago+`</i></div>`,
				`<p>`+who+` wrote this, `+pick(r.IntN(2), ago, "an hour ago")+`</p>`))
		}
		return b.String()
	}},
	{"rates and weather", func(r *rand.Rand, manner int, _ time.Time) string {
		if manner == 1 {
			sky := []string{"light rain", "sunny", "overcast", "snow", "fog", "clear"}
			return fmt.Sprintf(`<p>Berlin %d °C, %s</p>`, r.IntN(30)-5, sky[r.IntN(len(sky))])
		}
		var b strings.Builder
		b.WriteString(`<table class="rates">`)
		for _, name := range []string{"EUR", "JPY", "GBP", "CHF"} {
			fmt.Fprintf(&b, `<tr><td>%s</td><td>%.4f</td><td>%+.2f %%</td></tr>`, name, 1+r.Float64(), r.Float64()*2-1)
		}
		return b.String() + `</table>`
	}},
	{"one of several banners", func(r *rand.Rand, manner int, _ time.Time) string {
		if manner == 0 {
			return pick(r.IntN(2), ``, `<div class="hint">Try the new search, which finds more.</div>`)
		}
		return []string{`<p>Sign up for our letter.</p>`, `<p>Do you like this page? Tell your friends.</p>`,
			`<p>We use cookies to make this page better.</p>`}[r.IntN(3)]
	}},
	{"how fast it was made", func(r *rand.Rand, manner int, _ time.Time) string {
		return pick(manner, fmt.Sprintf(`<p>Page generated in %.3f seconds by web%d</p>`, r.Float64(), r.IntN(9)),
			fmt.Sprintf(`<div id="perf%d">Served by node-%c%d in %d ms</div>`, r.IntN(1e6), 'a'+rune(r.IntN(6)),
				r.IntN(40), r.IntN(500)))
	}},
	{"likes, and a title that counts", func(r *rand.Rand, manner int, _ time.Time) string {
		return pick(manner, fmt.Sprintf(`<p class="likes">%d comments · %d likes</p>`, r.IntN(50), r.IntN(900)),
			fmt.Sprintf(`<ul><li>%d</li><li>%.1fk shares</li></ul>`, r.IntN(50), r.Float64()*9))
	}},
}

func pick(manner int, a, b string) string {
	if manner == 0 {
		return a
	}
	return b
}

func token(r *rand.Rand) string {
	const of = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, 12)
	for i := range b {
		b[i] = of[r.IntN(len(of))]
	}
	return string(b)
}

var words = strings.Fields(`salt water garden winter lamp paper river stone bridge market letter window silver copper
	road evening music kitchen forest island mountain summer candle table captain harbour engine feather mirror journey
	number story colour shadow season flower basket button circle doctor farmer finger hammer ladder needle
	orange pencil rabbit saddle temple valley wagon yellow better cheap quick gentle bright hidden modern
	simple steady famous buy find learn save travel discover compare order try taste build visit open with
	without under above before after between today`)

func sentence(r *rand.Rand, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = words[r.IntN(len(words))]
	}
	return strings.ToUpper(all[0][:1]) + strings.Join(all, " ")[1:] + "."
}

// disturb puts the noise of one visit into a page: behind its first paragraph or its last, the same for all pages of a
// template.
func disturb(page string, kind, manner int, first bool, seed uint64, visit int) string {
	r := rand.New(rand.NewPCG(seed, uint64(visit)))
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(visit)*31*time.Hour +
		time.Duration(r.IntN(3600*8))*time.Second)
	k := kinds[kind]
	if k.make == nil {
		mark := pick(manner, ".html?sid="+token(r), ".html;jsessionid="+strings.ToUpper(token(r)))
		return strings.ReplaceAll(page, `.html"`, mark+`"`)
	}
	if strings.HasSuffix(k.name, "a title that counts") {
		page = strings.Replace(page, "<title>", fmt.Sprintf("<title>(%d) ", 1+r.IntN(30)), 1)
	}
	begin, end := max(0, strings.Index(page, "<h1")), len(page)
	for _, behind := range []string{"<aside", "<footer", `<div class="footer"`} {
		if i := strings.Index(page[begin:end], behind); i > 0 {
			end = begin + i
		}
	}
	place := begin + strings.LastIndex(page[begin:end], "</p>")
	if first {
		place = begin + strings.Index(page[begin:end], "</p>")
	}
	if place < begin {
		return page[:begin] + k.make(r, manner, at) + page[begin:]
	}
	place += len("</p>")
	return page[:place] + k.make(r, manner, at) + page[place:]
}
