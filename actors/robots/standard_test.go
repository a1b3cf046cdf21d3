package robots

import (
	"strings"
	"testing"
	"time"
)

// What RFC 9309 and the tests of google/robotstxt say, beyond the cases of the suites.
func TestTheStandardBeyondTheSuites(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for _, c := range []struct {
		what, file string
		allowed    []string
		denied     []string
	}{
		{"nothing", "", []string{"/", "/x"}, nil},
		{"no group for us", "User-agent: other\nDisallow: /", []string{"/", "/x"}, nil},
		{"everything", "User-agent: *\nDisallow: /", nil, []string{"/", "/x?y"}},
		{"nothing forbidden", "User-agent: *\nDisallow:", []string{"/"}, nil},
		{"our own group alone counts", "User-agent: *\nDisallow: /\nUser-agent: henro\nDisallow: /x",
			[]string{"/", "/y"}, []string{"/x"}},
		{"also when it is empty", "User-agent: *\nDisallow: /\nUser-agent: henro\n", []string{"/"}, nil},
		{"also when it says nothing", "User-agent: henro\nDisallow:\nUser-agent: *\nDisallow: /", []string{"/"}, nil},
		{"groups of the same name are one",
			"User-agent: henro\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-agent: henro\nDisallow: /b",
			[]string{"/c"}, []string{"/a", "/b"}},
		{"several names share a group",
			"User-agent: other\nUser-agent: henro\nDisallow: /a\nUser-agent: *\nDisallow: /b", []string{"/b"},
			[]string{"/a"}},
		{"empty lines end nothing", "User-agent: henro\n\n\nDisallow: /a", nil, []string{"/a"}},
		{"unknown lines end nothing", "User-agent: henro\nNoindex: /x\nHost: a\nUser-agent: other\nDisallow: /a", nil,
			[]string{"/a"}},
		{"a sitemap ends nothing", "User-agent: henro\nSitemap: /s.xml\nDisallow: /a", nil, []string{"/a"}},
		{"rules before any group are none", "Disallow: /a\nUser-agent: *\nDisallow: /b", []string{"/a"},
			[]string{"/b"}},
		{"names in any case", "USER-AGENT: HeNrO\nDISALLOW: /a", nil, []string{"/a"}},
		{"a version behind the name", "User-agent: henro/2.1 (x)\nDisallow: /a", nil, []string{"/a"}},
		{"another name that begins alike", "User-agent: henrobot\nDisallow: /a", []string{"/a"}, nil},
		{"a name that ours begins with", "User-agent: hen\nDisallow: /a", []string{"/a"}, nil},
		{"star and words", "User-agent: * x\nDisallow: /a", nil, []string{"/a"}},
		{"star and letters", "User-agent: *x\nDisallow: /a", []string{"/a"}, nil},
		{"paths heed their case", "User-agent: *\nDisallow: /A", []string{"/a"}, []string{"/A"}},
		{"the longest match", "User-agent: *\nAllow: /a/b\nDisallow: /a", []string{"/a/b", "/a/bc"},
			[]string{"/a", "/a/c", "/ab"}},
		{"whatever the order", "User-agent: *\nDisallow: /a\nAllow: /a/b", []string{"/a/b"}, []string{"/a/"}},
		{"of equals Allow", "User-agent: *\nDisallow: /a\nAllow: /a", []string{"/a"}, nil},
		{"a star counts as an octet", "User-agent: *\nDisallow: /a*\nAllow: /a", nil, []string{"/a", "/ab"}},
		{"a dollar too", "User-agent: *\nAllow: /a\nDisallow: /a$", []string{"/ab"}, []string{"/a"}},
		{"the root alone", "User-agent: *\nAllow: /$\nDisallow: /", []string{"/"}, []string{"/a", "/?a"}},
		{"a type of files", "User-agent: *\nDisallow: /*.gif$", []string{"/a.gif?x", "/a.gifs"},
			[]string{"/a.gif", "/b/.gif"}},
		{"a query", "User-agent: *\nDisallow: /*?s=", []string{"/a?t=", "/a?t=&s="}, []string{"/a?s=1", "/?s="}},
		{"stars in a row", "User-agent: *\nDisallow: /a**b***$", []string{"/a"}, []string{"/ab", "/axbx"}},
		{"a star in front", "User-agent: *\nDisallow: *.php", []string{"/a"}, []string{"/a.php", "/x/y.phpz"}},
		{"a star alone", "User-agent: *\nDisallow: *", nil, []string{"/", "/a"}},
		{"a dollar within is one", "User-agent: *\nDisallow: /a$b", []string{"/a"}, []string{"/a$b", "/a%24b"}},
		{"two dollars", "User-agent: *\nDisallow: /a$$", []string{"/a", "/a$b"}, []string{"/a$"}},
		{"anchored behind a star", "User-agent: *\nDisallow: /a*b$", []string{"/abc"},
			[]string{"/ab", "/abcb", "/abb"}},
		{"pieces do not overlap", "User-agent: *\nDisallow: /ab*ba$", []string{"/aba"}, []string{"/abba", "/ab-ba"}},
		{"without a slash", "User-agent: *\nDisallow: a", []string{"/a", "/"}, nil},
		{"a whole URL is no path", "User-agent: *\nDisallow: http://a.example/x", []string{"/x"}, nil},
		{"folders", "User-agent: *\nDisallow: /a/", []string{"/a", "/a?", "/ab/"}, []string{"/a/", "/a/b"}},
		{"encoded or not", "User-agent: *\nDisallow: /a%3cd.html\nDisallow: /%7ejoe/", []string{"/a"},
			[]string{"/a%3cd.html", "/a%3Cd.html", "/~joe/index.html", "/%7Ejoe/"}},
		{"a slash that is encoded is another", "User-agent: *\nDisallow: /a%2fb", []string{"/a/b"},
			[]string{"/a%2fb.html", "/a%2Fb"}},
		{"characters beyond ASCII", "User-agent: *\nDisallow: /ツ", []string{"/%E3%83"},
			[]string{"/%E3%83%84", "/%e3%83%84x", "/ツ"}},
		{"encoded in the file", "User-agent: *\nDisallow: /%E3%83%84", nil, []string{"/ツ", "/%e3%83%84"}},
		{"bytes that are no UTF-8", "User-agent: *\nDisallow: /\xe9", nil, []string{"/%E9", "/%e9t"}},
		{"broken percent signs", "User-agent: *\nDisallow: /100%", []string{"/100"}, []string{"/100%", "/100%zz"}},
		{"a star that stands for itself", "User-agent: *\nDisallow: /a%2A", []string{"/ab"}, []string{"/a*", "/a%2a"}},
		{"comments", "# x\nUser-agent: * # y\nDisallow: /a # z\nDisallow: /b#c", nil, []string{"/a", "/b"}},
		{"a value that is a comment", "User-agent: *\nDisallow: #/", []string{"/"}, nil},
		{"spaces", " \tUser-agent :  * \t\n\t Disallow\t:\t/a \t", []string{"/b"}, []string{"/a"}},
		{"no colon", "User-agent *\nDisallow /a", []string{"/b"}, []string{"/a"}},
		{"no colon and three words", "User-agent: *\nDisallow /a /b", []string{"/a", "/b"}, nil},
		{"misspelt", "Useragent: *\nDissallow: /a\nDisalow: /b\nDisallaw: /c", nil, []string{"/a", "/b", "/c"}},
		{"CR", "User-agent: *\rDisallow: /a\rAllow: /a/b", []string{"/a/b"}, []string{"/a"}},
		{"CRLF", "User-agent: *\r\nDisallow: /a\r\n", nil, []string{"/a"}},
		{"no line end", "User-agent: *\nDisallow: /a", nil, []string{"/a"}},
		{"a mark", "\ufeffUser-agent: *\nDisallow: /a", nil, []string{"/a"}},
		{"half a mark", "\xef\xbbUser-agent: *\nDisallow: /a", nil, []string{"/a"}},
		{"a mark within is none", "User-agent: *\n\ufeffDisallow: /a", []string{"/a"}, nil},
		{"HTML", "<!DOCTYPE html><title>404</title>", []string{"/"}, nil},
		{"HTML that quotes one", "<pre>User-agent: *\nDisallow: /</pre>", []string{"/"}, nil},
		{"NULs", "User-agent: *\n\x00Disallow: /a\nDisallow: /b", []string{"/a"}, []string{"/b"}},
		{"index.html is its folder", "User-agent: *\nAllow: /x/index.html\nDisallow: /",
			[]string{"/x/", "/x/index.html"}, []string{"/x", "/x/a", "/"}},
		{"long patterns", "User-agent: *\nDisallow: /" + long, []string{"/x"}, []string{"/" + long + "y"}},
		{"semicolons and parameters", "User-agent: *\nDisallow: /a;b", []string{"/a"}, []string{"/a;b=c"}},
		{"dots are not resolved", "User-agent: *\nDisallow: /a/../b", []string{"/b"}, nil},
	} {
		r := Parse([]byte(c.file), "henro")
		for _, path := range c.allowed {
			if !r.Allowed(path) {
				t.Errorf("%s: %s is denied", c.what, path)
			}
		}
		for _, path := range c.denied {
			if r.Allowed(path) {
				t.Errorf("%s: %s is allowed", c.what, path)
			}
		}
	}
}

func TestDelaysAndSitemapsBeyondTheSuites(t *testing.T) {
	for _, c := range []struct {
		what, file string
		delay      time.Duration // -1: none
		sitemaps   string
	}{
		{"a whole number", "User-agent: *\nCrawl-delay: 5", 5 * time.Second, ""},
		{"a fraction", "User-agent: *\nCrawl-delay: 0.5", time.Second / 2, ""},
		{"of our group", "User-agent: *\nCrawl-delay: 5\nUser-agent: henro\nCrawl-delay: 7", 7 * time.Second, ""},
		{"not of another", "User-agent: other\nCrawl-delay: 5\nUser-agent: *\nDisallow: /x", -1, ""},
		{"our group has none", "User-agent: *\nCrawl-delay: 5\nUser-agent: henro\nDisallow: /x", -1, ""},
		{"the first of two", "User-agent: *\nCrawl-delay: 5\nCrawl-delay: 9", 5 * time.Second, ""},
		{"a word", "User-agent: *\nCrawl-delay: slow", -1, ""},
		{"less than nothing", "User-agent: *\nCrawl-delay: -1", -1, ""},
		{"nothing", "User-agent: *\nCrawl-delay: 0", 0, ""},
		{"too much to hold", "User-agent: *\nCrawl-delay: 1e30", maxDelay, ""},
		{"a comment behind", "User-agent: *\nCrawl-delay: 10 # seconds", 10 * time.Second, ""},
		{"sitemaps of any group", "Sitemap: http://a/1\nUser-agent: x\nSITEMAP: http://a/2\nSite-map: http://a/3", -1,
			"http://a/1 http://a/2 http://a/3"},
		{"a sitemap's colons", "sitemap:http://a:80/1?x=y", -1, "http://a:80/1?x=y"},
		{"a relative one", "Sitemap: /s.xml", -1, "/s.xml"},
		{"twice", "Sitemap: /s.xml\nSitemap: /s.xml", -1, "/s.xml"},
		{"empty", "Sitemap:", -1, ""},
	} {
		r := Parse([]byte(c.file), "henro")
		delay, ok := r.CrawlDelay()
		if !ok {
			delay = -1
		}
		if got := strings.Join(r.Sitemaps(), " "); delay != c.delay || got != c.sitemaps {
			t.Errorf("%s: %v, %q, want %v, %q", c.what, delay, got, c.delay, c.sitemaps)
		}
	}
}
