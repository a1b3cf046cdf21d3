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
	content := contentHost(l.Content[0])
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Host != l.Own.Addr().String() && u.Host != content {
		return weburl.URL{}, Foreign
	}
	rest, ok := strings.CutPrefix(address, "http://"+content+"/web/")
	stamp, raw, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 || !strings.HasSuffix(stamp, "_") {
		return weburl.URL{}, Ours
	}
	page, err := parseTarget(raw)
	if err != nil {
		return weburl.URL{}, Ours
	}
	return page, Captured
}
