package weburl

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

func TestParseGivesTheIdentityForm(t *testing.T) {
	for _, c := range []struct{ what, raw, want string }{
		{"an ordinary URL stays", "https://example.com/a/b.html?q=1&p=2", "https://example.com/a/b.html?q=1&p=2"},
		{"white space around and line breaks within go", " \t http://exa\nmple.com/a\r\n/b ", "http://example.com/a/b"},
		{"scheme and host are lower case", "HTTP://EXAMPLE.com/A", "http://example.com/A"},
		{"the default port goes", "https://example.com:443/", "https://example.com/"},
		{"another port stays", "https://example.com:80/", "https://example.com:80/"},
		{"user and password go", "http://me:secret@example.com/", "http://example.com/"},
		{"the fragment goes", "http://example.com/a#b", "http://example.com/a"},
		{"an empty query goes", "http://example.com/a?", "http://example.com/a"},
		{"an empty query before a fragment goes", "http://example.com/a?#x", "http://example.com/a"},
		{"a trailing dot of the host goes", "http://example.com./", "http://example.com/"},
		{"the path is at least a slash", "http://example.com?q", "http://example.com/?q"},
		{"dot segments are resolved", "http://example.com/a/./b/../c/%2E%2e/d", "http://example.com/a/d"},
		{"double slashes stay", "http://example.com//a//", "http://example.com//a//"},
		{"backslashes are slashes", `http:\\example.com\a\b`, "http://example.com/a/b"},
		{"triplets are upper case", "http://example.com/%e3%81%82?%c3%a9", "http://example.com/%E3%81%82?%C3%A9"},
		{"unreserved characters are decoded", "http://example.com/%7Euser/%41%2d%5F?%61=%62",
			"http://example.com/~user/A-_?a=b"},
		{"reserved characters stay encoded", "http://example.com/%2F%3f%23%26", "http://example.com/%2F%3F%23%26"},
		{"stray percent signs stay", "http://example.com/100%?50%&%g1", "http://example.com/100%?50%&%g1"},
		{"decoding makes no new triplet", "http://example.com/%%34%31", "http://example.com/%%341"},
		{"nor half of one", "http://example.com/%4%31", "http://example.com/%4%31"},
		{"other characters are encoded as UTF-8", "http://example.com/あ?é", "http://example.com/%E3%81%82?%C3%A9"},
		{"bytes that are not UTF-8 are replaced", "http://example.com/\xff", "http://example.com/%EF%BF%BD"},
		{"international names are ASCII", "http://日本語.JP/", "http://xn--wgv71a119e.jp/"},
		{"numbers are addresses", "http://0x7f.1/", "http://127.0.0.1/"},
		{"addresses of version 6 are short", "http://[2001:DB8:0:0::1]:8080/", "http://[2001:db8::1]:8080/"},
	} {
		u, err := Parse(c.raw)
		if err != nil || u.String() != c.want {
			t.Errorf("%s: Parse(%q) = %q, %v, want %q", c.what, c.raw, u, err, c.want)
		}
		if again, err := Parse(u.String()); err != nil || again != u {
			t.Errorf("%s: Parse(%q) = %q, %v: not the same again", c.what, u, again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		what, raw string
		want      error
	}{
		{"other schemes", "ftp://example.com/", ErrScheme},
		{"scripts", "javascript:void(0)", ErrScheme},
		{"mail", "mailto:me@example.com", ErrScheme},
		{"relative references", "a.html", ErrRelative},
		{"nothing", "", ErrRelative},
		{"no host", "http:///", ErrHost},
		{"only a user", "http://me@/", ErrHost},
		{"a host of dots", "http://./", ErrHost},
		{"spaces in hosts", "http://exa mple.com/", ErrHost},
		{"an encoded slash in a host", "http://exam%2fple.com/", ErrHost},
		{"numbers too large for an address", "http://256.256.256.256/", ErrHost},
		{"broken addresses", "http://[::1/", ErrHost},
		{"zones", "http://[fe80::1%25eth0]/", ErrHost},
		{"ports too large", "http://example.com:65536/", ErrPort},
		{"ports that are no number", "http://example.com:http/", ErrPort},
		{"what is too long", "http://example.com/" + strings.Repeat("a", MaxLength), ErrLength},
		{"what is much too long", "http://example.com/" + strings.Repeat("../", 1<<20), ErrLength},
	} {
		if u, err := Parse(c.raw); !errors.Is(err, c.want) || !u.IsZero() {
			t.Errorf("%s: %q, %v, want %v", c.what, u, err, c.want)
		}
	}
	if u, err := Parse("http://example.com/" + strings.Repeat("a", MaxLength-len("http://example.com/"))); err != nil ||
		len(u.String()) != MaxLength {
		t.Errorf("MaxLength bytes are refused: %v", err)
	}
}

func TestPartsOfAURL(t *testing.T) {
	for _, c := range []struct {
		raw, scheme, hostname, host, path, query, request, pld string
		port                                                   uint16
	}{
		{"https://www.example.co.uk/a/b?c=d", "https", "www.example.co.uk", "https://www.example.co.uk", "/a/b", "c=d",
			"/a/b?c=d", "example.co.uk", 443},
		{"http://example.com:8080/", "http", "example.com", "http://example.com:8080", "/", "", "/",
			"example.com", 8080},
		{"http://[::1]:81/x", "http", "[::1]", "http://[::1]:81", "/x", "", "/x", "[::1]", 81},
		{"http://192.0.2.7/?", "http", "192.0.2.7", "http://192.0.2.7", "/", "", "/", "192.0.2.7", 80},
		{"http://localhost/?a?b", "http", "localhost", "http://localhost", "/", "a?b", "/?a?b", "localhost", 80},
		{"http://kobe.jp/", "http", "kobe.jp", "http://kobe.jp", "/", "", "/", "kobe.jp", 80},
	} {
		u := MustParse(c.raw)
		for _, part := range []struct{ name, got, want string }{
			{"Scheme", u.Scheme(), c.scheme}, {"Hostname", u.Hostname(), c.hostname}, {"Host", u.Host(), c.host},
			{"Path", u.Path(), c.path}, {"Query", u.Query(), c.query}, {"RequestURI", u.RequestURI(), c.request},
			{"PLD", u.PLD(), c.pld}, {"Port", fmt.Sprint(u.Port()), fmt.Sprint(c.port)},
		} {
			if part.got != part.want {
				t.Errorf("%s of %s = %q, want %q", part.name, c.raw, part.got, part.want)
			}
		}
		scheme, name, port := SplitHost(u.Host())
		if scheme != c.scheme || name != c.hostname || port != c.port || HostName(u.Host()) != c.hostname {
			t.Errorf("SplitHost(%q) = %q %q %d", u.Host(), scheme, name, port)
		}
		root, err := Parse(u.Host())
		if err != nil || root.Host() != u.Host() || root.Port() != u.Port() {
			t.Errorf("Parse(%q) = %q, %v", u.Host(), root, err)
		}
	}
}

func TestTheZeroURLIsHarmless(t *testing.T) {
	var u URL
	if got := u.String() + u.Scheme() + u.Hostname() + u.Host() + u.Path() + u.Query() + u.RequestURI() +
		u.PLD(); got != "" {
		t.Errorf("parts of no URL: %q", got)
	}
	if v, err := u.Resolve("http://a/"); err != nil || v.String() != "http://a/" {
		t.Errorf("absolute reference without base: %v, %v", v, err)
	}
	if _, err := u.Resolve("a"); !errors.Is(err, ErrRelative) {
		t.Errorf("relative reference without base: %v", err)
	}
}

func TestParseTyped(t *testing.T) {
	for raw, want := range map[string]string{
		"example.com": "http://example.com/", " example.com/a ": "http://example.com/a",
		"localhost:8080":   "http://localhost:8080/",
		"localhost:8080/x": "http://localhost:8080/x", "https://example.com": "https://example.com/",
		"192.0.2.1:80": "http://192.0.2.1/",
	} {
		if u, err := ParseTyped(raw); err != nil || u.String() != want {
			t.Errorf("ParseTyped(%q) = %q, %v, want %q", raw, u, err, want)
		}
	}
	if _, err := ParseTyped("mailto:a@b"); !errors.Is(err, ErrScheme) {
		t.Errorf("mailto: %v", err)
	}
}

func TestQueriesAreEncodedAsThePageIs(t *testing.T) {
	base := MustParse("http://a/b")
	for _, c := range []struct {
		what, ref, want string
		r               *Resolver
	}{
		{"Shift_JIS", "?q=日本", "http://a/b?q=%93%FA%96{", NewResolver(base, japanese.ShiftJIS)},
		{"an extension of NEC and IBM in Shift_JIS", "?q=纊①", "http://a/b?q=%FA\\%87@",
			NewResolver(base, japanese.ShiftJIS)},
		{"EUC-JP", "?q=日本", "http://a/b?q=%C6%FC%CB%DC", NewResolver(base, japanese.EUCJP)},
		{"EUC-JP has no supplementary set for encoding", "?q=丂", "http://a/b?q=%26%2319970%3B",
			NewResolver(base, japanese.EUCJP)},
		{"ISO-2022-JP", "?q=日x", "http://a/b?q=%1B$BF|%1B(Bx", NewResolver(base, japanese.ISO2022JP)},
		{"half-width katakana in ISO-2022-JP", "?ｱ", "http://a/b?%1B$B%%22%1B(B",
			NewResolver(base, japanese.ISO2022JP)},
		{"paths are UTF-8 always", "/日?日", "http://a/%E6%97%A5?%93%FA", NewResolver(base, japanese.ShiftJIS)},
		{"UTF-16 pages send UTF-8", "?日", "http://a/b?%E6%97%A5",
			NewResolver(base, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM))},
		{"what the encoding has not is a reference", "?é", "http://a/b?%26%23233%3B",
			NewResolver(base, japanese.ShiftJIS)},
	} {
		if u, err := c.r.Resolve(c.ref); err != nil || u.String() != c.want {
			t.Errorf("%s: %q, %v, want %q", c.what, u, err, c.want)
		}
	}
}

func TestURLsWithoutTheirSession(t *testing.T) {
	for _, c := range []struct{ what, url, want string }{
		{"nothing else is changed", "http://a/?utm_source=x&b&&a", "http://a/?utm_source=x&b&&a"},
		{"Java", "http://a/b;jsessionid=0123ABC?x=1", "http://a/b?x=1"},
		{"Java in upper case, within the path", "http://a/b;JSESSIONID=1/c", "http://a/b/c"},
		{"PHP", "http://a/?PHPSESSID=1&x=1", "http://a/?x=1"},
		{"a short sid may be anything", "http://a/?sid=12", "http://a/?sid=12"},
		{"a long sid is a session", "http://a/?sid=0123456789abcdef0123", "http://a/"},
		{"ASP.NET", "http://a/(S(4hqa0555fwsecu455xqckv45))/b.aspx", "http://a/b.aspx"},
		{"other parentheses", "http://a/(b)/c", "http://a/(b)/c"},
	} {
		got := MustParse(c.url).WithoutSession()
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		if again := got.WithoutSession(); again != got {
			t.Errorf("%s: %s becomes %s the second time", c.what, got, again)
		}
	}
	for name, want := range map[string]bool{"utm_x": true, "gclid": true, "Sid": true, ";jsessionid": true,
		"id": false} {
		if Tracks(name) != want {
			t.Errorf("%s tracks: %v", name, !want)
		}
	}
}

// A Resolver answers as Resolve does, however often and in whatever order it is asked.
func TestResolverRemembersRightly(t *testing.T) {
	pages := []URL{MustParse("http://a/x/y?z"), MustParse("http://a/x/"), MustParse("https://a/x/"),
		MustParse("http://b:8080/"), {}}
	refs := []string{"", "#a", "?q", "c", "./c", "../c", "/c", "//d/e", "http:c", "http:/c", "http://e/f",
		"https://e/f", "mailto:x", "http://[", "/c?日", "c?日", strings.Repeat("long/", 100)}
	r := NewResolver(pages[0], nil)
	for round := range 3 {
		for _, page := range pages {
			r.Reset(page, nil)
			if round == 1 {
				r.Reset(page, japanese.EUCJP)
			}
			for _, ref := range append(refs, refs...) {
				want, wantErr := page.ResolveIn(ref, r.enc)
				got, err := r.Resolve(ref)
				if got != want || !errors.Is(err, wantErr) {
					t.Errorf("%q in %q: %q, %v, want %q, %v", ref, page, got, err, want, wantErr)
				}
			}
		}
	}
}

func TestResolverIsBounded(t *testing.T) {
	r := NewResolver(MustParse("http://a/"), nil)
	for i := range 5 * memoSize {
		for _, format := range []string{"%d", "/%d"} {
			if _, err := r.Resolve(fmt.Sprintf(format, i)); err != nil {
				t.Fatal(err)
			}
		}
		if len(r.host) > memoSize {
			t.Fatalf("%d answers remembered", len(r.host))
		}
	}
}

func seeds(f *testing.F) (inputs []string) {
	type caseOf struct{ Input, Ref string }
	for _, file := range []string{"whatwg_parse.jsonl", "rfc3986_5_4.jsonl", "ia_canonicalize.jsonl",
		"crawler_commons_normalize.jsonl"} {
		for _, c := range readLines[caseOf](f, file) {
			inputs = append(inputs, c.Input+c.Ref)
		}
	}
	return inputs
}

func checkInvariants(t *testing.T, u URL) {
	s := u.String()
	if len(s) > MaxLength {
		t.Fatalf("%q is too long", s)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			t.Fatalf("%q is not printable ASCII", s)
		}
	}
	again, err := Parse(s)
	if err != nil || again != u {
		t.Fatalf("Parse(%q) = %q, %v", s, again, err)
	}
	if u.Host()+u.RequestURI() != s || u.Path()[0] != '/' || u.Hostname() == "" || strings.ContainsAny(s, "#") {
		t.Fatalf("parts of %q", s)
	}
	if _, name, port := SplitHost(u.Host()); name != u.Hostname() || port != u.Port() {
		t.Fatalf("SplitHost(%q) = %q, %d", u.Host(), name, port)
	}
	if u.IndexKey() == "" || u.PLD() == "" {
		t.Fatalf("no key or PLD of %q", s)
	}
	if once := u.WithoutSession(); once.WithoutSession() != once {
		t.Fatalf("without its session %q is %q, then %q", u, once, once.WithoutSession())
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	// its href is nine times as long, and too long to be read again
	f.Add("http://a/#" + strings.Repeat("\x80", maxRaw/4))
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := Parse(raw)
		href, hrefErr := Href(raw, "")
		if err != nil {
			if !u.IsZero() {
				t.Fatalf("%q with error %v", u, err)
			}
			return
		}
		if hrefErr != nil {
			t.Fatalf("%q is an identity but no URL: %v", raw, hrefErr)
		}
		checkInvariants(t, u)
		if again, err := Href(href, ""); len(href) <= maxRaw && (err != nil || again != href) {
			t.Fatalf("Href(%q) = %q, %v", href, again, err)
		}
		if v, err := Parse(href); len(href) < maxRaw && (err != nil || v != u) {
			t.Fatalf("%q is %q, but its href %q is %q, %v", raw, u, href, v, err)
		}
	})
}

func FuzzResolve(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add("http://a/b/c/d;p?q", s)
	}
	r := NewResolver(URL{}, nil)
	f.Fuzz(func(t *testing.T, base, ref string) {
		page, err := Parse(base)
		if err != nil {
			return
		}
		u, err := page.Resolve(ref)
		r.Reset(page, nil)
		for range 2 {
			if v, vErr := r.Resolve(ref); v != u || !errors.Is(vErr, err) {
				t.Fatalf("%q in %q is %q, %v or %q, %v", ref, page, u, err, v, vErr)
			}
		}
		if err == nil {
			checkInvariants(t, u)
			if v, err := u.ResolveIn(ref, japanese.ISO2022JP); err == nil {
				checkInvariants(t, v)
			}
		}
	})
}

// ordinary are URLs as they stand in pages.
func ordinary(b *testing.B) (urls []string) {
	if folder := os.Getenv("HENRO_DATA"); folder != "" {
		if f, err := os.Open(filepath.Join(folder, "domains", "top-10000-websites.txt")); err == nil {
			defer f.Close()
			for in := bufio.NewScanner(f); in.Scan() && len(urls) < 3000; {
				site := strings.Trim(in.Text(), "/")
				urls = append(urls, "https://"+site+"/",
					"https://www."+site+"/news/2024/05/article-1234.html?page=2&lang=ja",
					"http://"+site+"/~user/%7Efile/../index.html#top")
			}
			return urls
		}
	}
	return []string{"https://www.example.com/docs/install/linux.html", "http://example.org/a/b/../c?d=e&f=%7Eg#h",
		"HTTPS://Example.com:443/"}
}

func BenchmarkParse(b *testing.B) {
	urls := ordinary(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := Parse(urls[i%len(urls)]); err != nil {
			b.Fatal(err)
		}
	}
}

var references = []string{"index.html", "../api/index.html", "#section-2", "/static/style.css",
	"https://github.com/example/example", "install.html#linux", "?page=2", "genindex.html",
	"mailto:someone@example.com", "//cdn.example.net/jquery.min.js"}

func BenchmarkResolve(b *testing.B) {
	base := MustParse("https://docs.example.com/en/latest/guide/")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, _ = base.Resolve(references[i%len(references)])
	}
}

func BenchmarkResolver(b *testing.B) {
	r := NewResolver(MustParse("https://docs.example.com/en/latest/guide/"), nil)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, _ = r.Resolve(references[i%len(references)])
	}
}

func BenchmarkPLD(b *testing.B) {
	u := MustParse("https://www.example.co.uk/a")
	for b.Loop() {
		u.PLD()
	}
}

func TestPatternsNameHosts(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		want          bool
	}{
		{"a.example", "https://a.example", true},
		{"a.example", "http://a.example:8080", true},
		{"a.example", "https://www.a.example", false},
		{".a.example", "https://x.www.a.example", true},
		{".a.example", "https://a.example", true},
		{".a.example", "https://ba.example", false},
		{"https://a.example:8443", "https://a.example:8443", true},
		{"https://a.example:8443", "https://a.example", false},
		{".0.0.1", "http://127.0.0.1", false},
		{"127.0.0.1", "http://127.0.0.1:8080", true},
		{"::1", "http://[::1]:8080", true},
	} {
		if got := slices.Contains(Patterns(c.host), c.pattern); got != c.want {
			t.Errorf("%s of %s: %v", c.pattern, c.host, got)
		}
	}
}
