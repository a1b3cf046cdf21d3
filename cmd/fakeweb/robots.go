package fakeweb

import (
	"bytes"
	"strconv"
	"strings"
)

func (w *Web) robotsAnswer(a *answer, h *Host, kind placeKind, q *request) {
	a.header("Content-Type", "text/plain")
	rules := ""
	switch h.Robots {
	case RobotsMissing:
		a.status = 404
		a.body = append(a.body, "no robots.txt here\n"...)
		return
	case RobotsUnavailable:
		a.status = 503
		a.body = append(a.body, "User-agent: *\nAllow: /\n"...) // must not be believed
		return
	case RobotsSilent:
		a.fault = timeout
		return
	case RobotsRedirected:
		if kind == robots {
			a.status = 301
			a.header("Location", "/robots-moved.txt")
			return
		}
		rules = "Disallow: /private/\n"
	case RobotsFolders:
		rules = "Disallow: /private/\nDisallow: /*/view?\n"
	case RobotsClosed:
		rules = "Disallow: /\n"
	case RobotsDelayed:
		rules = "Crawl-delay: " + strconv.FormatFloat(h.CrawlDelay.Seconds(), 'f', -1, 64) + "\nAllow: /\n"
	default:
		rules = "Disallow:\n"
	}
	if kind == robotsMoved && h.Robots != RobotsRedirected {
		a.status = 404
		return
	}
	a.body = append(a.body, "# made up\nUser-agent: badbot\nDisallow: /\n\nUser-agent: *\n"...)
	a.body = append(a.body, rules...)
	a.body = append(a.body, "\nSitemap: "...)
	a.body = q.origin().append(a.body, w, h)
	a.body = append(a.body, "/sitemap.xml\n"...)
}

// allowed reports whether a correct crawler may fetch a target of this host.
func (h *Host) allowed(target string) bool {
	switch h.Robots {
	case RobotsClosed, RobotsUnavailable, RobotsSilent:
		return target == "/robots.txt"
	case RobotsFolders:
		if at := strings.Index(target, "/view?"); at > 0 {
			return false
		}
		fallthrough
	case RobotsRedirected:
		return !strings.HasPrefix(target, "/private/")
	}
	return true
}

// splitURL cuts a canonical URL into its origin, host name and request target.
func splitURL(url string) (o origin, name string, target []byte, ok bool) {
	rest, ok := strings.CutPrefix(url, "http://")
	o.scheme = "http"
	if !ok {
		if rest, ok = strings.CutPrefix(url, "https://"); !ok {
			return o, "", nil, false
		}
		o.scheme = "https"
	}
	rest, _, _ = strings.Cut(rest, "#")
	slash := strings.IndexAny(rest, "/?")
	if slash < 0 {
		slash = len(rest)
	}
	name = rest[:slash]
	if colon := strings.LastIndexByte(name, ':'); colon >= 0 {
		name, o.port = name[:colon], name[colon:]
	}
	target = []byte(rest[slash:])
	if !bytes.HasPrefix(target, []byte("/")) {
		target = append([]byte("/"), target...)
	}
	return o, name, target, true
}
