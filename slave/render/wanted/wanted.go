// Package wanted says what of that which a page in the browser asks for is asked for on its behalf, and by which name.
package wanted

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"henro/actors/living"
	"henro/messages/outlink"
	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/slave/browser"
	"henro/store/archive/cdxj"
	"henro/store/fingerprint"
)

// errUnwanted is what nobody asks for on behalf of a page.
var errUnwanted = errors.New("it is not asked for")

// URL is that by which what a page asks for is known, and the kind of link that names it. Only what scripts ask
// for while a page loads is asked for by POST: no beacon and no form.
func URL(q *browser.Request) (to weburl.URL, kind outlink.Kind, err error) {
	if to, err = weburl.Parse(q.URL); err == nil && (isStream(q) || IsIcon(q.Kind, q.URL)) {
		return to, 0, errUnwanted
	} else if err != nil || q.Method == http.MethodGet && !posted.Is(to.String()) {
		return to, Kind(to, q.Kind), err
	}
	if q.Method != http.MethodPost || q.Kind != "fetch" && q.Kind != "xhr" || q.Header.Get("Content-Encoding") != "" {
		return to, 0, errUnwanted
	}
	to, err = posted.Make(posted.Request{URL: to, ContentType: q.Header.Get("Content-Type"), Body: q.Body})
	return to, outlink.Post, err
}

// isStream reports that a request is for events that come for as long as somebody listens.
func isStream(q *browser.Request) bool {
	return q.Kind == "eventsource" || strings.HasPrefix(q.Header.Get("Accept"), "text/event-stream")
}

// IsIcon reports the icon that a browser looks for where no page names one.
func IsIcon(kind, url string) bool {
	return strings.EqualFold(kind, "other") && strings.HasSuffix(url, "/favicon.ico")
}

// Tried is where a request is counted that no archive can answer; nil: nowhere. err is what URL returned for it.
func Tried(q *browser.Request, err error, all *living.Tried) *int {
	switch {
	case q.Kind == "ping":
		return &all.Beacons
	case isStream(q):
		return &all.Streams
	case (q.Kind == "fetch" || q.Kind == "xhr") && err != nil &&
		!slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, q.Method):
		return &all.Posts
	}
	return nil
}

// Key is the same for URLs that differ in times and random numbers alone: scripts put them there against caches.
func Key(url string) uint64 {
	if r, is := posted.Read(url); is {
		url = r.Loose()
	}
	return fingerprint.URL(living.WithoutNoise(url))
}

// Captured is a URL of the same key as that of what was captured.
func Captured(e *cdxj.Entry) string {
	if method, body := e.Asked(); method != "" {
		return posted.Loose(e.URL, method, body)
	}
	return e.URL
}

// Plain reports that a URL has no times and random numbers.
func Plain(url string) bool {
	if r, is := posted.Read(url); is {
		url = r.Loose()
	}
	return living.WithoutNoise(url) == url
}

// Kind is the kind of link that names what a browser asked for, by the words of the DevTools protocol.
func Kind(to weburl.URL, kind string) outlink.Kind {
	if posted.Is(to.String()) {
		return outlink.Post
	}
	switch kind {
	case "script":
		return outlink.Script
	case "stylesheet":
		return outlink.Style
	case "image":
		return outlink.Image
	case "font":
		return outlink.Font
	case "media", "texttrack":
		return outlink.Media
	case "document":
		return outlink.Iframe
	case "manifest":
		return outlink.Manifest
	}
	return outlink.Fetch
}
