package links

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"

	"henro/messages/outlink"
	"henro/messages/weburl"
)

// suites lists the cases of other projects that are answered otherwise here, by file and line, with the reason.
var suites = map[string]string{
	"heritrix_extractorhtml:10": "links of a page that says nofollow are found and flagged; following is decided " +
		"elsewhere",
	"heritrix_extractorhtml:8":  "forms are recorded whatever their method; none is followed",
	"heritrix_extractorhtml:16": "scripts are not searched for words that look like URLs",
	"heritrix_extractorhtml:18": "conditional comments are comments to every browser of today",
	"heritrix_extractorhtml:26": "the suite merges equal links and takes both flags together",
	"heritrix_extractorhtml:27": "nofollow links are found and flagged; following is decided elsewhere",
	"w3lib_get_meta_refresh:3":  "a tag that the page ends in does not exist to a browser",
	"w3lib_get_meta_refresh:15": "asks for scripts to be read as markup",
}

func readCases[T any](t testing.TB, name string) (all []T) {
	f, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var c T
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	return all
}

// text is a string, or its bytes in base 64.
type text string

func (s *text) UnmarshalJSON(b []byte) error {
	var bytes struct{ B64 string }
	if json.Unmarshal(b, &bytes) == nil && bytes.B64 != "" {
		raw, err := base64.StdEncoding.DecodeString(bytes.B64)
		if latin, decodeErr := htmlindex.Get("windows-1252"); decodeErr == nil &&
			!strings.Contains(string(raw), "\xc2") {
			raw, err = latin.NewDecoder().Bytes(raw)
		}
		*s = text(raw)
		return err
	}
	return json.Unmarshal(b, (*string)(s))
}

// check notes one case and fails if it differs without being listed, or is listed without differing.
func check(t *testing.T, suite string, line int, ok bool, what string) (agrees int) {
	key := fmt.Sprintf("%s:%d", suite, line+1)
	switch _, listed := suites[key]; {
	case ok && listed:
		t.Errorf("%s is listed as a deviation but agrees", key)
	case !ok && !listed:
		t.Errorf("%s: %s", key, what)
	}
	if ok {
		return 1
	}
	return 0
}

func canonical(t *testing.T, urls []string) (all []string) {
	for _, url := range urls {
		u, err := weburl.Parse(url)
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		all = append(all, u.String())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// resolved scans a page and resolves all that it names.
func resolved(t *testing.T, d *Document, html, pageURL string) (all []string) {
	d.Scan([]byte(html), DefaultOptions())
	base := weburl.MustParse(pageURL)
	if b, err := base.Resolve(d.Base); d.Base != "" && err == nil {
		base = b
	}
	for _, ref := range d.Links {
		if u, err := base.Resolve(ref.Raw); err == nil {
			all = append(all, u.String())
		}
	}
	return all
}

func TestHeritrixCases(t *testing.T) {
	type heritrix struct {
		BaseURL       string   `json:"base_url"`
		HTML          string   `json:"html"`
		MustContain   []string `json:"must_contain"`
		MustEqual     []string `json:"must_equal"`
		MustSubstring []string `json:"must_contain_substring"`
		Count         *int
	}
	const name = "heritrix_extractorhtml"
	agree, cases := 0, readCases[heritrix](t, name)
	for i, c := range cases {
		var d Document
		links := resolved(t, &d, c.HTML, c.BaseURL)
		got := canonical(t, links)
		ok := c.Count == nil || len(links) == *c.Count
		for _, url := range canonical(t, c.MustContain) {
			ok = ok && slices.Contains(got, url)
		}
		if c.MustEqual != nil {
			ok = ok && slices.Equal(got, canonical(t, c.MustEqual))
		}
		for _, part := range c.MustSubstring {
			ok = ok && slices.ContainsFunc(got, func(url string) bool { return strings.Contains(url, part) })
		}
		agree += check(t, name, i, ok, fmt.Sprintf("%q: got %q, want %q %q %q", c.HTML, links, c.MustContain,
			c.MustEqual, c.MustSubstring))
	}
	t.Logf("%d of %d agree", agree, len(cases))
}

func TestScrapyCases(t *testing.T) {
	type link struct {
		URL, Text string
		NoFollow  bool
	}
	type scrapy struct {
		BaseURL string `json:"base_url"`
		HTML    *string
		BodyB64 []byte `json:"html_b64"`
		Config  map[string]any
		Links   []link
	}
	const name = "scrapy_linkextractor"
	agree, all := 0, 0
	for i, c := range readCases[scrapy](t, name) {
		if len(c.Config) > 0 || c.HTML == nil {
			continue // a filter of Scrapy's
		}
		all++
		var d Document
		d.Scan([]byte(*c.HTML), DefaultOptions())
		base := weburl.MustParse(c.BaseURL)
		if b, err := base.Resolve(d.Base); d.Base != "" && err == nil {
			base = b
		}
		var got, want []string
		for _, ref := range d.Links {
			if u, err := base.Resolve(ref.Raw); err == nil && (ref.Kind == outlink.Anchor || ref.Kind == outlink.Area) {
				got = append(got, fmt.Sprint(u, " ", ref.Anchor, " ", ref.Flags&outlink.NoFollow != 0))
			}
		}
		for _, l := range c.Links {
			u, err := base.Resolve(l.URL)
			if err != nil {
				continue
			}
			want = append(want, fmt.Sprint(u, " ", strings.Join(strings.Fields(l.Text), " "), " ", l.NoFollow))
		}
		missing := inBoth(got, want) < len(want) // Scrapy merges equal links, so there may be more here
		agree += check(t, name, i, !missing, fmt.Sprintf("%q\n got %q\n want %q", *c.HTML, got, want))
	}
	t.Logf("%d of %d agree", agree, all)
}

func TestW3libBaseCases(t *testing.T) {
	type w3lib struct {
		Args   []text
		Result string
	}
	const name = "w3lib_get_base_url"
	agree, cases := 0, readCases[w3lib](t, name)
	for i, c := range cases {
		var d Document
		d.Scan([]byte(c.Args[0]), DefaultOptions())
		page := "http://host.example/"
		if len(c.Args) > 1 {
			page = string(c.Args[1])
		}
		got, err := weburl.Href(d.Base, page)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := weburl.Href(c.Result, page)
		agree += check(t, name, i, got == want, fmt.Sprintf("%q: got %s, want %s", c.Args[0], got, want))
	}
	t.Logf("%d of %d agree", agree, len(cases))
}

func TestW3libRefreshCases(t *testing.T) {
	type w3lib struct {
		Args   []text
		Result []any
	}
	const name = "w3lib_get_meta_refresh"
	agree, cases := 0, readCases[w3lib](t, name)
	for i, c := range cases {
		var d Document
		d.Scan([]byte(c.Args[0]), DefaultOptions())
		var got, want any
		for _, ref := range d.Links {
			if ref.Kind == outlink.Refresh && got == nil {
				href, err := weburl.Href(ref.Raw, string(c.Args[1]))
				if err != nil {
					t.Fatal(err)
				}
				got = href
			}
		}
		want = c.Result[1]
		agree += check(t, name, i, got == want, fmt.Sprintf("%q: got %v, want %v", c.Args[0], got, want))
	}
	t.Logf("%d of %d agree", agree, len(cases))
}
