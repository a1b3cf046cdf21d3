// Package fields says what of the head of an archived answer is passed on by a replay.
//
// What a browser acts by (cookies, policies, what a connection is told) is renamed, so that a person can read it and it
// does nothing. All else is passed on as it was where a script asked: lists are made by X-Total-Count, Link and
// Content-Range, and none of them stands in the body.
package fields

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"henro/store/archive/warc"
)

// Use is what an answer is for.
type Use int

const (
	Shown  Use = iota // a page, or what it is made of
	Script            // fetch and XMLHttpRequest, which can read its fields
	Bytes             // as the server sent it; nothing is led anywhere
)

// Renamed is what the names of fields begin with that are not passed on as they are.
const Renamed = "X-Archive-Orig-"

const exposing = "Access-Control-Expose-Headers"

// Of returns the use of the answer to a request of a page that is shown in the frame of captures.
func Of(r *http.Request) Use {
	// What is fetched ahead may be shown later.
	if r.Header.Get("Sec-Fetch-Dest") == "empty" && r.Header.Get("Sec-Purpose") == "" {
		return Script
	}
	return Shown
}

// Pass adds the fields of an archived answer to the head of ours, but for its length, which may change (Length). What
// ours says already stays, Link and Vary aside. lead says where a Location is shown; "": nowhere. Other origins may
// read what they could when it was live, if it was asked for by one; else all.
func Pass(ours http.Header, archived warc.Header, use Use, lead func(ref string) string) {
	said := map[string]bool{}
	for name := range ours {
		said[strings.ToLower(name)] = name != "Vary" && name != "Link"
	}
	if use == Script {
		ours.Del("Link")
	}
	var names []string
	asked, exposed := false, []string{}
	for _, f := range archived {
		switch name := strings.ToLower(f.Name); name {
		case "connection", "access-control-expose-headers":
			for token := range strings.SplitSeq(strings.ToLower(f.Value), ",") {
				if token = strings.TrimSpace(token); name != "connection" {
					exposed = append(exposed, token)
				} else {
					said[token] = true // between two machines alone
				}
			}
		case "access-control-allow-origin":
			asked = true
		}
	}
	for _, f := range archived {
		name, value := strings.ToLower(f.Name), f.Value
		kept := plain[name] || use == Script && !said[name] && !Acts(name) && valid(name)
		switch {
		case name == "content-length" || name == "transfer-encoding":
			continue
		case name == "location" && use != Bytes:
			kept, value = true, lead(value)
		case name == "link" && kept:
			value = inert(value)
		}
		if kept = kept && (value != "" || f.Value == ""); kept {
			ours.Add(f.Name, value)
			names = append(names, f.Name)
		} else if valid(name) {
			ours.Add(Renamed+f.Name, f.Value)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return asked && !slices.Contains(exposed, "*") && !slices.Contains(exposed, strings.ToLower(name))
	})
	if use == Script && len(names) > 0 {
		slices.Sort(names)
		ours.Set(exposing, strings.Join(slices.Compact(names), ", "))
	}
}

// Length adds the length that the archived answer had, if it is that of what is passed on, in bytes; Untold: whatever
// it was. So a script knows how far it is, and what HEAD says of a file.
func Length(ours http.Header, archived warc.Header, passed int64) {
	n, err := strconv.ParseInt(strings.TrimSpace(archived.Get("Content-Length")), 10, 64)
	if err == nil && n >= 0 && (n == passed || passed == Untold) && archived.Get("Transfer-Encoding") == "" {
		ours.Set("Content-Length", strconv.FormatInt(n, 10))
	}
}

// Untold is the length of a body that is not passed on.
const Untold = -1

// plain are the fields that are passed on whatever an answer is for.
var plain = map[string]bool{
	"content-type": true, "content-language": true, "content-disposition": true, "last-modified": true,
	"content-encoding": true, "content-range": true,
}

// Acts reports whether a browser, or what stands before it, does something by a field, named in lower case: it would
// set cookies, close connections, forbid the frame, or ask somebody.
func Acts(name string) bool {
	return acting[name] || slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(name, f) })
}

var families = []string{"access-control-", "cross-origin-", "content-security-policy", "proxy-", "sec-",
	"secure-session-", "attribution-reporting-", "public-key-pins", "permissions-policy", "referrer-policy",
	"ad-auction-", "memento-", "document-policy", "connection-allowlist", "x-archive-orig-", "integrity-policy",
	"set-", "accept-ch"}

var acting = map[string]bool{
	"connection": true, "keep-alive": true, "te": true, "trailer": true, "upgrade": true, // RFC 9110 7.6.1
	"cache-control": true, "content-location": true, "www-authenticate": true, "x-ua-compatible": true,
	"x-content-security-policy": true, "x-webkit-csp": true, "x-frame-options": true, "x-xss-protection": true,
	"x-content-type-options": true, "x-dns-prefetch-control": true, "x-permitted-cross-domain-policies": true,
	"strict-transport-security": true, "expect-ct": true, "feature-policy": true, "require-document-policy": true,
	"origin-agent-cluster": true, "timing-allow-origin": true, "clear-site-data": true, "refresh": true,
	"service-worker-allowed": true, "service-worker-navigation-preload": true, "sourcemap": true, "x-sourcemap": true,
	"alt-svc": true, "nel": true, "report-to": true, "reporting-endpoints": true, "speculation-rules": true,
	"critical-ch": true, "observe-browsing-topics": true, "supports-loading-mode": true, "no-vary-search": true,
	"activate-storage-access": true, "use-as-dictionary": true, "shared-storage-write": true, "idp-signin-status": true,
	"default-style": true,
}

// one is a link of the field Link.
var one = regexp.MustCompile(`(?:<[^>]*>|"(?:\\.|[^"\\])*"|[^,])+`)

// inert is a field Link (RFC 8288) without the links by which a browser asks somebody: none of the words that make one
// ask is left, however the rest is read.
func inert(value string) string {
	var kept []string
	for _, link := range one.FindAllString(value, -1) {
		said := strings.ToLower(strings.ReplaceAll(link, `\`, ""))
		if !asking.MatchString(said) && strings.TrimSpace(link) != "" {
			kept = append(kept, strings.TrimSpace(link))
		}
	}
	return strings.Join(kept, ", ")
}

var asking = regexp.MustCompile("preconnect|prefetch|preload|prerender|stylesheet|compression-dictionary")

func valid(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
