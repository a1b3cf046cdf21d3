package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chromedp/chromedp"

	"henro/.ci/lab/tab"
	"henro/messages/outlink"
	"henro/slave/links"
)

// fragments are put into pages: what changes how the rest of a page is read.
var fragments = []string{"<select>", "</select>", "<table>", "</table>", "<tr>", "<td>", "<template>", "</template>",
	"<svg>", "</svg>", "<math>", "</math>", "<mi>", "<foreignObject>", "</foreignObject>", "<desc>", "<title>",
	"</title>", "<noscript>", "</noscript>", "<frameset>", "</frameset>", "<frame src=framed.html>",
	"<iframe src=inner.html>", "</iframe>", "<iframe srcdoc='<a href=inside.html>'>", "<!--", "-->", "--!>",
	"<![CDATA[", "]]>", "<?x", "<textarea>", "</textarea>", "<style>", "</style>", "<script>", "</script>",
	"<script><!--<script>", "<plaintext>", "<xmp>", "</xmp>", "<noembed>", "<noframes>", "</noframes>",
	"<a href=put.html>", "</a>", "<area href=area.html>", "<base href=/base/>", "<b>", "</b>", "<p>", "</p>", "<div>",
	"</div>", "</body>", "</html>", "<body>", "<head>", "</head>", "<html>", "<form>", "<button>", "<object>",
	"<option>", "<li>", "<font color=red>", "</br>", "<svg><a xlink:href=drawn.html>", "<svg><style>", "<svg><title>",
	"<math><annotation-xml encoding=text/html>", "<input type=hidden>", "<col>", "<caption>", "<marquee>", "\"", "'",
	"<", ">", "=", "&", "/", "\x00", "&amp", "&#x2F;", "<a href='", "<a href=\"x\" href=\"y\">", "<a\thref=tab.html>",
	"<a/href=slash.html>", "<a href = spaced.html >", "<a HREF=UPPER.HTML>", "<a href=a&copy=b&lt>"}

// torture are pages that are nothing but such cases.
var torture = []string{
	`<!doctype html><frameset cols=1><frame src=a.html><frameset><frame src=b.html></frameset></frameset><noframes>` +
		`<a href=c.html></noframes>`,
	`<!doctype html><p>text<frameset><frame src=a.html></frameset><a href=b.html>`,
	`<!doctype html><table><a href=a.html>x<tr><td><a href=b.html>y</table><select><a href=c.html></select>`,
	`<!doctype html><svg><a href=a.html></a><desc><a href=b.html></a></desc><style><a href=c.html></style></svg>`,
	`<!doctype html><div><svg></div><iframe src=a.html></iframe><math><mi><a href=b.html></a></math>`,
	`<!doctype html><template><a href=a.html></a><base href=/b/></template><a href=c.html></a>`,
	`<!doctype html><noscript><a href=a.html></a><iframe src=b.html></iframe></noscript><iframe src=c.html></iframe>`,
	`<!doctype html><textarea></textarea a="><a href=a.html>"><a href=b.html></a><title><a href=c.html></title>`,
}

// mutilate changes a page in one to eight places.
func mutilate(random *rand.Rand, page string) string {
	at := func(n int) int { return random.IntN(max(n, 1)) }
	for range 1 + random.IntN(8) {
		i := at(len(page))
		if near := strings.IndexAny(page[i:], "<>\"'"); near >= 0 && random.IntN(2) == 0 {
			i += near // most of what happens happens there
		}
		j := min(i+at(40), len(page))
		switch random.IntN(8) {
		case 0:
			page = page[:i] + page[j:]
		case 1:
			page = page[:j] + page[i:j] + page[j:]
		case 2:
			page = page[:i] + page[min(i+1, len(page)):]
		case 3:
			page = page[:i] + string(rune("<>\"'=&/ \n!-x"[at(12)])) + page[min(i+1, len(page)):]
		case 4:
			if random.IntN(8) == 0 {
				page = page[:i]
			}
		default:
			page = page[:i] + fragments[at(len(fragments))] + page[i:]
		}
	}
	return strings.ToValidUTF8(page, "")
}

// found is what a reader finds in a page.
type found struct {
	A, Frame []string
	Base     *string
}

func ours(page string) (f found) {
	var d links.Document
	d.Scan([]byte(page), links.DefaultOptions())
	for _, ref := range d.Links {
		switch ref.Kind {
		case outlink.Anchor, outlink.Area:
			f.A = append(f.A, ref.Raw)
		case outlink.Frame, outlink.Iframe:
			f.Frame = append(f.Frame, ref.Raw)
		}
	}
	if d.Base != "" {
		f.Base = &d.Base
	}
	return f
}

// set is what links name, each once: line ends and tabs are no part of a URL, and what names no other page is left out.
func set(raw []string) []string {
	var all []string
	for _, s := range raw {
		s = strings.NewReplacer("\r", "", "\n", "", "\t", "").Replace(strings.Trim(s, " \t\r\n\f"))
		if s != "" && s[0] != '#' && !strings.HasPrefix(strings.ToLower(s), "data:") && len(s) < 8192 {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mutilated compares with parse5.
func (l *lab) mutilated(ctx context.Context, folders []string) (bool, error) {
	pages := slices.Clone(torture)
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "*.html"))
		if err != nil {
			return false, err
		}
		for _, name := range names[:min(60, len(names))] {
			page, err := os.ReadFile(name)
			if err != nil {
				return false, err
			}
			if len(page) < 40_000 {
				pages = append(pages, strings.ToValidUTF8(string(page), ""))
			}
		}
	}
	random := rand.New(rand.NewPCG(l.seed, 0))
	var input bytes.Buffer
	encoder := json.NewEncoder(&input)
	var made []string
	for i := range l.pages {
		page := mutilate(random, pages[i%len(pages)])
		if i%4 == 0 { // small pages: each change counts
			page = mutilate(random, torture[i/4%len(torture)])
		}
		made = append(made, page)
		if err := encoder.Encode(page); err != nil {
			return false, err
		}
	}
	out, err := l.node(ctx, "parse5.mjs", input.String())
	if err != nil {
		return false, err
	}
	answers, err := lines[found](out)
	if err != nil || len(answers) != len(made) {
		return false, errors.Join(errCount, err)
	}
	ctx, end, err := browser(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	differ, alone := map[string]int{}, map[string]int{}
	for i, theirs := range answers {
		mine := ours(made[i])
		var browsers found // asked for where the two differ
		for kind := range three {
			a, b := mine.of(kind), theirs.of(kind)
			if slices.Equal(a, b) {
				continue
			}
			differ[three[kind]]++
			if strings.Contains(strings.ToLower(made[i]), "<noscript") {
				browsers = theirs // Chromium's parser can only be asked as one without scripts
			}
			if browsers.A == nil {
				page, err := json.Marshal(made[i])
				if err != nil {
					return false, err
				}
				ask := "(" + parseHTML + ")(" + string(page) + ")"
				if err := chromedp.Do(ctx, tab.Evaluate(ask, &browsers)); err != nil {
					return false, err
				}
			}
			c := browsers.of(kind)
			if slices.Equal(a, c) {
				continue
			}
			if alone[three[kind]]++; alone[three[kind]] <= l.shown {
				path := filepath.Join(l.dir, fmt.Sprintf("page%05d.html", i))
				if err := os.WriteFile(path, []byte(made[i]), 0o666); err != nil {
					return false, err
				}
				fmt.Printf("       %s of %s: only henro %q, only Chromium %q\n", three[kind], path,
					without(a, c), without(c, a))
			}
		}
	}
	n := len(made)
	most := (n + 999) / 1000 // one of a thousand, one of fewer
	return verdict(alone["links"] <= most && alone["frames"] <= most && alone["base"] <= most,
		"%d mutilated pages: by parse5 the links of %d differ, the frames of %d, the base of %d; by Chromium too "+
			"those of %d, %d and %d", n, differ["links"], differ["frames"], differ["base"],
		alone["links"], alone["frames"], alone["base"]), nil
}

var three = []string{"links", "frames", "base"}

// of is one of the three.
func (f found) of(kind int) []string {
	switch {
	case kind == 0:
		return set(f.A)
	case kind == 1:
		return set(f.Frame)
	case f.Base != nil:
		return set([]string{*f.Base})
	}
	return nil
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
