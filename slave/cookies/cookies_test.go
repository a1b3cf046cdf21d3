package cookies

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// What RFC 6265bis 5.6 to 5.8 say of single cookies: set by one URL, sent or not with another.
func TestCookiesAreSentAsRFC6265bisSays(t *testing.T) {
	long := strings.Repeat("x", 4096)
	for _, c := range []struct {
		sentence, host, from, field, to, want string
	}{
		{"a cookie of a folder is sent to what is in it", "https://a.example", "/f/page", "k=v", "/f/other", "k=v"},
		{"and to nothing above it", "https://a.example", "/f/page", "k=v", "/", ""},
		{"a folder is no prefix of a name", "https://a.example", "/", "k=v; Path=/f", "/fg", ""},
		{"of a path", "https://a.example", "/", "k=v; Path=/f", "/f", "k=v"},
		{"an empty path is that of the page", "https://a.example", "/f/page", "k=v; Path=", "/f/x", "k=v"},
		{"of all of its domain", "https://www.a.example", "/", "k=v; Domain=a.example", "/", "k=v"},
		{"with a dot in front", "https://www.a.example", "/", "k=v; Domain=.A.example", "/", "k=v"},
		{"of another domain", "https://www.a.example", "/", "k=v; Domain=b.example", "/", ""},
		{"of a host below", "https://a.example", "/", "k=v; Domain=www.a.example", "/", ""},
		{"of a public suffix", "https://a.co.uk", "/", "k=v; Domain=co.uk", "/", ""},
		{"of a name that only ends alike", "https://ba.example", "/", "k=v; Domain=a.example", "/", ""},
		{"of an address", "https://127.0.0.1:8443", "/", "k=v; Domain=127.0.0.1", "/", "k=v"},
		{"of half an address", "https://127.0.0.1", "/", "k=v; Domain=0.0.1", "/", ""},
		{"a secure one over https", "https://a.example", "/", "k=v; Secure", "/", "k=v"},
		{"a secure one over http", "http://a.example", "/", "k=v; Secure", "/", ""},
		{"__Secure- that is not", "https://a.example", "/", "__Secure-k=v", "/", ""},
		{"__Secure- that is", "https://a.example", "/", "__Secure-k=v; Secure", "/", "__Secure-k=v"},
		{"__host- in whatever case with a domain", "https://a.example", "/", "__hOst-k=v; Secure; Path=/; " +
			"Domain=a.example", "/", ""},
		{"__Host- without a path", "https://a.example", "/", "__Host-k=v; Secure", "/", ""},
		{"__Host- as it should be", "https://a.example", "/", "__Host-k=v; Secure; Path=/", "/", "__Host-k=v"},
		{"one that has ended", "https://a.example", "/", "k=v; Max-Age=0", "/", ""},
		{"Max-Age goes before Expires", "https://a.example", "/",
			"k=v; Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "/", "k=v"},
		{"one of more than 4096 bytes", "https://a.example", "/", "k=" + long, "/", ""},
		{"a path of more than 1024 bytes is none", "https://a.example", "/f/g", "k=v; Path=/" + long[:1024], "/f/x",
			"k=v"},
		{"a name alone", "https://a.example", "/", "=v", "/", ""},
	} {
		j := New(c.host, nil, nil, time.Now())
		j.Set(c.host+c.from, []string{c.field}, time.Now())
		if got := j.Field(c.host + c.to); got != c.want {
			t.Errorf("%s: %q is sent, want %q", c.sentence, got, c.want)
		}
		again := New(c.host, j.Kept(), nil, time.Now())
		if got := again.Field(c.host + c.to); got != c.want {
			t.Errorf("%s, after it was kept: %q is sent, want %q", c.sentence, got, c.want)
		}
	}
}

func TestAJarIsKeptWhenItChanges(t *testing.T) {
	const host = "https://a.example"
	j := New(host, nil, nil, now)
	if j.Kept() != nil {
		t.Error("an empty jar has changed")
	}
	set := func(fields ...string) []byte { j.Set(host+"/", fields, now); return j.Kept() }
	if set("a=1; Max-Age=3600", "b=2") == nil {
		t.Error("two cookies are no change")
	}
	now := now.Add(30 * time.Second)
	j.Set(host+"/", []string{"a=1; Max-Age=3600"}, now)
	if j.Kept() != nil {
		t.Error("an end that moves by half a minute is a change")
	}
	if kept := set("a=; Max-Age=0", "b=; Max-Age=0"); len(kept) == 0 {
		t.Errorf("a jar that was emptied: %q, which reads as no change", kept)
	}
	if j.Field(host+"/") != "" {
		t.Error("cookies that ended are sent")
	}
}

func TestAJarIsBounded(t *testing.T) {
	const host = "https://a.example"
	j := New(host, nil, nil, now)
	for i := range 500 {
		j.Set(host+"/", []string{fmt.Sprintf("k%d=%s; Path=/", i, strings.Repeat("x", i*13%4000))}, now)
		kept := j.Kept()
		if len(kept) > MaxKept || len(j.list) > maxCount {
			t.Fatalf("%d cookies, %d bytes", len(j.list), len(kept))
		}
	}
	if !strings.Contains(j.Field(host+"/"), "k499=") {
		t.Error("the latest cookie is gone")
	}
}

const cookieFileText = `# Netscape HTTP Cookie File
.a.example	TRUE	/	FALSE	0	all	1
#HttpOnly_www.a.example	FALSE	/in	TRUE	4102444800	own	2
b.example	FALSE	/	FALSE	1000	old	3
`

func TestACookieFileIsTakenOnce(t *testing.T) {
	f, err := ParseFile([]byte(cookieFileText))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a.example": true, "www.a.example": true, "b.example": true,
		"x.b.example": false, "aa.example": false} {
		if f.Covers(name) != want {
			t.Errorf("covers %s: %v", name, !want)
		}
	}
	const host = "https://www.a.example"
	j := New(host, nil, f, now)
	if got := j.Field(host + "/in/x"); got != "own=2; all=1" {
		t.Errorf("%q is sent", got)
	}
	j.Set(host+"/in/x", []string{"own=3; Path=/in; Secure"}, now)
	kept := j.Kept()
	if got := New(host, kept, f, now).Field(host + "/in/x"); got != "own=3; all=1" {
		t.Errorf("after a lease %q is sent: the file was taken a second time", got)
	}
	again, err := ParseFile([]byte(strings.Replace(cookieFileText, "own\t2", "own\t4", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if got := New(host, kept, again, now).Field(host + "/in/x"); !strings.Contains(got, "own=4") {
		t.Errorf("with another file %q is sent", got)
	}
	if got := New("http://b.example", nil, f, now).Field("http://b.example/"); got != "" {
		t.Errorf("a cookie that has ended is sent: %q", got)
	}
	for _, bad := range []string{"", "# nothing\n", "a.example TRUE / FALSE 0 k v\n",
		"a.example\tyes\t/\tFALSE\t0\tk\tv\n",
		"a.example\tTRUE\t/\tFALSE\tsoon\tk\tv\n"} {
		if _, err := ParseFile([]byte(bad)); err == nil {
			t.Errorf("%q is a cookie file", bad)
		}
	}
}

// Whatever a slave claims that a host's cookies are, the next lease begins.
func FuzzKept(f *testing.F) {
	f.Add("\na=1; Path=/\n", "b=2")
	f.Fuzz(func(t *testing.T, kept, field string) {
		j := New("https://a.example", []byte(kept), nil, now)
		j.Set("https://a.example/", []string{field}, now)
		if strings.ContainsAny(j.Field("https://a.example/"), "\r\n") {
			t.Error("a line break is sent")
		}
	})
}
