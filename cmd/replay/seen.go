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
	if u.Host == l.Own.Addr().String() {
		return weburl.URL{}, Ours
	}
	_, origin, err := portOf(l.Content[0]).Read(u.Host)
	if err != nil {
		return weburl.URL{}, Foreign
	}
	page, err := weburl.Parse(origin + u.RequestURI())
	if err != nil || strings.HasPrefix(u.Path, inside+"/") {
		return weburl.URL{}, Ours
	}
	return page, Captured
}
