package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// held are ten further kinds of noise, which -held judges. They were written before the rules were looked at, and
// judged once before anything was learnt of them.
var held = []noise{
	{"how long ago, in other languages", func(r *rand.Rand, manner int, _ time.Time) string {
		forms := [][]string{{"vor %d Minuten", "vor %d Stunden", "il y a %d heures", "hace %d días",
			"%d timmar sedan"}, {"%d 分前", "%d小时前", "%d мин. назад", "há %d horas", "hace %d min"}}[manner]
		var b strings.Builder
		for i := range 3 {
			who := sentence(rand.New(rand.NewPCG(uint64(i), 21)), 2)
			ago := fmt.Sprintf(forms[r.IntN(len(forms))], 2+r.IntN(50))
			if manner == 0 {
				ago = fmt.Sprintf(forms[i], 2+r.IntN(50)) // one language a line
			}
			b.WriteString(pick(manner, `<li><b>`+who+`</b> <time>`+ago+`</time></li>`, `<p>`+who+` · `+ago+`</p>`))
		}
		return pick(manner, `<ul>`, `<div>`) + b.String() + pick(manner, `</ul>`, `</div>`)
	}},
	{"views with K and M", func(r *rand.Rand, manner int, _ time.Time) string {
		return pick(manner,
			fmt.Sprintf(`<p>%.1fK views · %d.%dM followers</p>`, 10+r.Float64()*80, 1+r.IntN(3), r.IntN(10)),
			fmt.Sprintf(`<div><span>%d,%d Mio. Aufrufe</span> <span>%d Tsd. Abos</span></div>`, 1+r.IntN(9), r.IntN(10),
				100+r.IntN(800)))
	}},
	{"tokens in forms and scripts", func(r *rand.Rand, manner int, _ time.Time) string {
		return pick(manner, `<form action="/send?t=`+token(r)+`"><input type="hidden" name="csrf" value="`+token(r)+
			`"><button>Send</button></form><script>window.__STATE__={"nonce":"`+token(r)+`"}</script>`,
			`<div data-token="`+token(r)+`"><template>`+token(r)+`</template><noscript>`+
				`<img src="/px.gif?n=`+token(r)+`"></noscript><textarea hidden>`+token(r)+`</textarea></div>`)
	}},
	{"hashes of a build in addresses", func(r *rand.Rand, manner int, _ time.Time) string {
		if manner == 0 {
			h := fmt.Sprintf("%08x", r.Uint32())
			return `<p><img src="/static/chart.` + h + `.png" alt="Chart"> <a href="/static/manual.` + h +
				`.pdf">Manual</a></p>`
		}
		build := 1000 + r.IntN(9000)
		return fmt.Sprintf(`<p><img src="/v%d/fig1.svg?v=%[1]d"><img src="/v%[1]d/fig2.svg?v=%[1]d"></p>`, build)
	}},
	{"tests of two wordings", func(r *rand.Rand, manner int, _ time.Time) string {
		if manner == 0 {
			return pick(r.IntN(2), `<p><a href="/trial?x=a">Start your free trial</a></p>`,
				`<p><a href="/trial?x=b">Try it free for 30 days</a></p>`)
		}
		return []string{`<h4>Simple prices</h4><p>Pay monthly, leave at any time.</p>`,
			`<h4>Plans for everybody</h4><p>Save a fifth when you pay by the year.</p>`,
			`<h4>Choose your plan</h4><p>No card is needed.</p>`}[r.IntN(3)]
	}},
	{"countdown", func(r *rand.Rand, manner int, at time.Time) string {
		left := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).Sub(at)
		h, m, s := int(left.Hours()), int(left.Minutes())%60, int(left.Seconds())%60
		return pick(manner, fmt.Sprintf(`<div>The offer ends in %d days %02d:%02d:%02d</div>`, h/24, h%24, m, s),
			fmt.Sprintf(`<p><b>%d</b> days <b>%d</b> hours <b>%d</b> minutes left</p>`, h/24, h%24, m))
	}},
	{"names of people who do something", func(r *rand.Rand, manner int, _ time.Time) string {
		names := strings.Fields("Anna Boris Chloé Dimitri Emeka Fatima Goran Hanna Ines Jonas Kenji Lucía Mei Nadia")
		places := strings.Fields("Porto Lyon Graz Oslo Bergen Osaka Lagos Lima Turin Gdańsk")
		name := names[r.IntN(len(names))]
		return pick(manner, `<p>`+name+` from `+places[r.IntN(len(places))]+` has just bought this</p>`,
			fmt.Sprintf(`<div>Online now: %s, %s%d and %d guests</div>`, name, names[r.IntN(len(names))],
				r.IntN(99), r.IntN(300)))
	}},
	{"order that is drawn", func(r *rand.Rand, manner int, _ time.Time) string {
		var b strings.Builder
		for _, i := range r.Perm(12) {
			of := rand.New(rand.NewPCG(uint64(i), 31))
			b.WriteString(pick(manner, fmt.Sprintf(`<a href="/tag/%d" class="size%d">%s</a> `, i, r.IntN(5),
				words[of.IntN(len(words))]), fmt.Sprintf(`<li><a href="/item/%d">%s</a></li>`, i, sentence(of, 5))))
		}
		return pick(manner, `<p class="cloud">`, `<ul>`) + b.String() + pick(manner, `</p>`, `</ul>`)
	}},
	{"what is loaded later", func(r *rand.Rand, manner int, _ time.Time) string {
		if manner == 0 {
			return pick(r.IntN(2), `<p><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" data-src="/p/1.jpg"></p>`,
				`<p><img src="/p/1.jpg"></p>`)
		}
		return pick(r.IntN(2), `<div class="skeleton"><p>Loading …</p></div>`,
			`<div><p>Readers say: clear, short, useful.</p></div>`)
	}},
	{"who you are to the server", func(r *rand.Rand, manner int, at time.Time) string {
		greeting := []string{"Good night", "Good morning", "Good afternoon", "Good evening"}[at.Hour()/6]
		return pick(manner, fmt.Sprintf(`<p>Your address is 203.0.113.%d</p>`, r.IntN(256)),
			fmt.Sprintf(`<div><p>%s, guest%d!</p></div>`, greeting, 10_000+r.IntN(90_000)))
	}},
}
