// Package origin gives each origin of an archive one of its own on this machine, so that scripts of its pages find the
// paths, the storage and the modules that they had: the name is
//
//	TIME-SCHEME[-PORT].HOST.archive.localhost
//
// with the moment as in addresses of the Internet Archive (20260314120000), and all behind the origin stays as it was.
// Browsers look for such names on this machine alone (RFC 6761 6.3), and take their pages for as safe as those of
// https. All of them are one site, archive.localhost.
package origin

import (
	"errors"
	"regexp"
	"strings"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
)

// Under is what all names end in.
const Under = ".archive.localhost"

// ip6 ends the names of addresses of IPv6, whose colons are hyphens there.
const ip6 = ".ip6"

// maxName bounds a name, in bytes (RFC 1035 2.3.4).
const maxName = 253

// ErrNone is returned for what is not the name of an origin.
var ErrNone = errors.New("not the name of an archived origin")

// Port is the port of this machine at which all of them are, in decimal.
type Port string

// All are all of them, as a content security policy names them.
func (p Port) All() string { return "http://*" + Under + ":" + string(p) }

// Lead returns where a URL is shown as it was at a moment. It is false for what is no absolute URL of http
// or https, and for a name that is too long.
func (p Port) Lead(stamp, href string) (string, bool) {
	scheme, rest, ok := strings.Cut(href, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return "", false
	}
	end := strings.IndexAny(rest+"/", "/?#")
	name, ofHost, _ := strings.Cut(rest[strings.LastIndexByte(rest[:end], '@')+1:end], ":")
	if strings.HasPrefix(name, "[") {
		name, ofHost, _ = strings.Cut(rest[1:end], "]")
		name, ofHost = strings.ReplaceAll(name, ":", "-")+ip6, strings.TrimPrefix(ofHost, ":")
	}
	if name = strings.TrimSuffix(name, "."); ofHost != "" {
		ofHost = "-" + ofHost
	}
	shown := stamp + "-" + scheme + ofHost + "." + name + Under
	return "http://" + shown + ":" + string(p) + rest[end:], name != "" && len(shown) <= maxName
}

// Read returns the moment and the origin of a name with its port, as the field Host of a request has it: the reverse of
// Lead. The error is ErrNone, or says that the moment is none.
func (p Port) Read(host string) (stamp, origin string, err error) {
	shown, ok := strings.CutSuffix(host, Under+":"+string(p))
	label, name, _ := strings.Cut(shown, ".")
	stamp, label, _ = strings.Cut(label, "-")
	scheme, ofHost, hasPort := strings.Cut(label, "-")
	if !ok || name == "" || scheme != "http" && scheme != "https" {
		return "", "", ErrNone
	}
	if _, err := cdxj.ParseStamp(stamp); err != nil {
		return "", "", err
	}
	if address, ok := strings.CutSuffix(name, ip6); ok {
		name = "[" + strings.ReplaceAll(address, "-", ":") + "]"
	}
	if origin = scheme + "://" + name; hasPort {
		origin += ":" + ofHost
	}
	if u, err := weburl.Parse(origin); err != nil || u.Host() != origin {
		return "", "", ErrNone
	}
	return stamp, origin, nil
}

// shown is the name of an origin in what a script says of where it is: with its scheme and port or without, escaped or
// not.
var shown = regexp.MustCompile(`(?i)(?:http(:|%3a)(//|%2f%2f))?(\d{4,14}-https?(?:-\d+)?\.[a-z0-9.-]+` +
	regexp.QuoteMeta(Under) + `)(?:(:|%3a)(\d+))?`)

// Told returns a text of a script with the origins that it means, where it names those of the port: what a script sends
// of its own address is as it was when it was archived.
func (p Port) Told(text []byte) []byte {
	return shown.ReplaceAllFunc(text, func(found []byte) []byte {
		part := shown.FindSubmatch(found)
		_, origin, err := p.Read(string(part[3]) + ":" + string(p))
		scheme, host, _ := strings.Cut(origin, "://")
		name, ofHost, hasPort := strings.Cut(host, ":")
		isURL, said := part[1] != nil, string(part[5])
		if err != nil || strings.HasPrefix(host, "[") || said != string(p) && (isURL || said != "") {
			return found
		}
		if isURL {
			name = scheme + string(part[1]) + string(part[2]) + name
		}
		if hasPort && said != "" {
			name += string(part[4]) + ofHost
		}
		return []byte(name)
	})
}
