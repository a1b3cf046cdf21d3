package replay

import (
	"net/url"
	"strings"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
)

// Asked says where a request went that a browser made while it showed a capture.
type Asked int

const (
	// Foreign is a request to another machine or program.
	Foreign Asked = iota
	// Ours is a request for a page of our own or what belongs to it.
	Ours
	// Captured is a request for a capture.
	Captured
)

// Address is where a person opens a capture.
func (l Listeners) Address(e cdxj.Entry) string {
	return "http://" + l.Own.Addr().String() + "/web/" + cdxj.Stamp(e.At) + "/" + e.URL
}

// Asked says where an address leads, and the URL of the page if it is that of a capture.
func (l Listeners) Asked(address string) (weburl.URL, Asked) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return weburl.URL{}, Foreign
	}
	if u.Host == l.Own.Addr().String() || u.Host == contentHost(l.Content[0]) {
		return weburl.URL{}, Ours
	}
	_, origin, ok := (&Server{content: contentHost(l.Content[0])}).origin(u.Host)
	if !ok {
		return weburl.URL{}, Foreign
	}
	page, err := weburl.Parse(origin + u.RequestURI())
	if err != nil || strings.HasPrefix(u.Path, inside+"/") {
		return weburl.URL{}, Ours
	}
	return page, Captured
}
