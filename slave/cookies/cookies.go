// Package cookies keeps the cookies of one host, as RFC 6265bis has them, and carries them from lease to lease.
//
// net/http/cookiejar decides which cookies a request gets. What it lacks is here: the limits and prefixes of RFC
// 6265bis 5.7, a bound, and a form in which the cookies of a host are kept in the state of a crawl. A Jar is that of
// one host, scheme, name and port, since a host is lent to one slave at a time: a cookie that a host sets for all of
// its domain is sent to that host alone.
package cookies

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"
)

// Bounds of what is kept of one host, and those of RFC 6265bis 5.6 and 5.7 of one cookie.
const (
	MaxKept      = 24 << 10 // bytes of a Jar that is kept
	maxCount     = 50       // RFC 6265bis 6.1 wants room for 50
	maxBytes     = 16 << 10 // of all cookies, attributes included
	maxPair      = 4096     // of name and value
	maxAttribute = 1024
	maxAge       = 400 * 24 * time.Hour
)

// File is a cookie file, as it was read.
type File struct {
	digest  string
	cookies []fileCookie
}

type fileCookie struct {
	*http.Cookie
	name string // of the host
	all  bool   // hosts below it too
}

// ErrFile is returned for a cookie file that cannot be read.
var ErrFile = errors.New("want lines of a Netscape cookie file: domain, TRUE or FALSE, path, TRUE or FALSE, seconds " +
	"since 1970, name, value, with tabs between them")

// ParseFile reads a cookie file of Netscape's form, as browsers' extensions and curl write it.
func ParseFile(text []byte) (*File, error) {
	sum := sha256.Sum256(text)
	f := &File{digest: hex.EncodeToString(sum[:8])}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		line, httpOnly := strings.CutPrefix(line, "#HttpOnly_")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		w := strings.Split(line, "\t")
		if len(w) != 7 || w[0] == "" || !isTruth(w[1]) || !isTruth(w[3]) || w[5] == "" {
			return nil, fmt.Errorf("line %d: %w", n, ErrFile)
		}
		ends, err := strconv.ParseInt(w[4], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, ErrFile)
		}
		c := fileCookie{Cookie: &http.Cookie{Name: w[5], Value: w[6], Path: w[2], Secure: w[3] == "TRUE",
			HttpOnly: httpOnly}, name: strings.ToLower(strings.TrimPrefix(w[0], ".")), all: w[1] == "TRUE"}
		if ends > 0 { // 0: while the browser runs
			c.Expires = time.Unix(ends, 0).UTC()
		}
		if err := c.Valid(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		f.cookies = append(f.cookies, c)
	}
	if len(f.cookies) == 0 {
		return nil, ErrFile
	}
	return f, nil
}

func isTruth(word string) bool { return word == "TRUE" || word == "FALSE" }

// Covers reports whether the file has a cookie for a host of this name.
func (f *File) Covers(name string) bool {
	return f != nil && slices.ContainsFunc(f.cookies, func(c fileCookie) bool { return c.covers(name) })
}

func (c *fileCookie) covers(name string) bool { return name == c.name || c.all && within(name, c.name) }

// within reports whether a name lies below a domain. An address lies below nothing.
func within(name, domain string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return false
	}
	return strings.HasSuffix(name, "."+domain)
}

// Jar holds the cookies of one host. It is not for use by several goroutines at once.
type Jar struct {
	host    *url.URL
	file    string         // digest of the cookie file that it has taken
	list    []*http.Cookie // the earliest first; Path is set, and Expires, where it is, is the truth
	match   *cookiejar.Jar // of list
	changed bool           // since it was kept last
}

// New makes the jar of a host, "scheme://name[:port]", from what was kept of it and from a cookie file, if there is
// one. A file that is not the one that was read before overrules what was kept: somebody has logged in again. Lines
// that cannot be read are left out. New returns nil if the host cannot be parsed.
func New(host string, kept []byte, file *File, now time.Time) *Jar {
	u, err := url.Parse(host + "/")
	if err != nil {
		return nil
	}
	j := &Jar{host: u}
	first, lines, _ := strings.Cut(string(kept), "\n")
	j.file = first
	for line := range strings.Lines(lines) {
		if c, err := http.ParseSetCookie(strings.TrimSuffix(line, "\n")); err == nil {
			j.put(c, now)
		}
	}
	j.changed = false
	if file != nil && file.digest != j.file {
		for i := range file.cookies {
			if c := &file.cookies[i]; c.covers(u.Hostname()) {
				j.put(j.own(c), now)
			}
		}
		j.file, j.changed = file.digest, true
	}
	j.rebuild()
	return j
}

// own is a cookie of the file as this host would have set it.
func (j *Jar) own(c *fileCookie) *http.Cookie {
	cookie := *c.Cookie
	if c.all && j.host.Hostname() != c.name {
		cookie.Domain = c.name
	}
	return &cookie
}

// Field is the value of the Cookie field for a URL of the host; "" if there is none.
func (j *Jar) Field(raw string) string {
	if len(j.list) == 0 {
		return ""
	}
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	request := http.Request{Header: http.Header{}}
	for _, c := range j.match.Cookies(u) {
		request.AddCookie(c)
	}
	return request.Header.Get("Cookie")
}

// Set takes the cookies of a response to a URL of the host.
func (j *Jar) Set(raw string, fields []string, now time.Time) {
	if len(fields) == 0 {
		return
	}
	u, err := url.Parse(raw)
	if err != nil {
		return
	}
	before := j.changed
	j.changed = false
	for _, field := range fields {
		if c, err := http.ParseSetCookie(field); err == nil && j.admit(c, u, now) {
			j.put(c, now)
		}
	}
	if j.changed {
		j.rebuild()
	}
	j.changed = j.changed || before
}

// admit judges a cookie by RFC 6265bis 5.7, and writes what its attributes mean for this host.
func (j *Jar) admit(c *http.Cookie, u *url.URL, now time.Time) bool {
	if len(c.Name)+len(c.Value) > maxPair {
		return false
	}
	name := j.host.Hostname()
	domain := strings.ToLower(strings.TrimPrefix(c.Domain, "."))
	if len(domain) > maxAttribute {
		domain = ""
	}
	given := c.Path != "" && len(c.Path) <= maxAttribute && c.Path[0] == '/'
	if lower := strings.ToLower(c.Name); strings.HasPrefix(lower, "__secure-") && !c.Secure ||
		strings.HasPrefix(lower, "__host-") && (!c.Secure || domain != "" || c.Path != "/") ||
		c.Secure && u.Scheme != "https" {
		return false
	}
	suffix, _ := publicsuffix.PublicSuffix(domain)
	switch {
	case domain == name && domain == suffix:
		domain = ""
	case domain != "" && domain != name && (domain == suffix || !within(name, domain)):
		return false
	}
	c.Domain = domain
	if !given {
		c.Path = defaultPath(u.EscapedPath())
	}
	switch {
	case c.MaxAge < 0:
		c.Expires = time.Unix(1, 0)
	case c.MaxAge > 0:
		c.Expires = now.Add(min(time.Duration(min(c.MaxAge, int(maxAge/time.Second)))*time.Second, maxAge))
	}
	if !c.Expires.IsZero() && c.Expires.Sub(now) > maxAge {
		c.Expires = now.Add(maxAge)
	}
	c.MaxAge = 0
	return true
}

// defaultPath is that of RFC 6265bis 5.1.4.
func defaultPath(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 && path[0] == '/' {
		return path[:i]
	}
	return "/"
}

// put takes a cookie in the place of the one that it replaces, and forgets the oldest beyond the bounds.
func (j *Jar) put(c *http.Cookie, now time.Time) {
	c.RawExpires, c.Raw, c.Unparsed = "", "", nil
	at := slices.IndexFunc(j.list, func(o *http.Cookie) bool {
		return o.Name == c.Name && o.Domain == c.Domain && o.Path == c.Path
	})
	switch gone := !c.Expires.IsZero() && !c.Expires.After(now); {
	case gone && at < 0:
		return
	case gone:
		j.list = slices.Delete(j.list, at, at+1)
	case at < 0:
		j.list = append(j.list, c)
	default:
		o := j.list[at]
		// an end that moves with every answer is not worth a write
		if moved := c.Expires.Sub(o.Expires); o.Value == c.Value && o.Secure == c.Secure && moved < time.Minute &&
			moved > -time.Minute {
			return
		}
		j.list[at] = c
	}
	j.changed = true
	size := 0
	for _, c := range j.list {
		size += len(c.String()) + 1
	}
	for len(j.list) > maxCount || size > maxBytes {
		size -= len(j.list[0].String()) + 1
		j.list = slices.Delete(j.list, 0, 1)
	}
}

// rebuild makes the jar that decides what is sent.
func (j *Jar) rebuild() {
	j.match, _ = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // which never fails
	j.match.SetCookies(j.host, j.list)
}

// Kept returns the jar as it is to be kept, if it has changed since the last call; else nil.
func (j *Jar) Kept() []byte {
	if !j.changed {
		return nil
	}
	j.changed = false
	b := append([]byte(j.file), '\n')
	for _, c := range j.list {
		b = append(append(b, c.String()...), '\n')
	}
	return b
}
