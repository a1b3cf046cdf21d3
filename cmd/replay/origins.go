package replay

import (
	"net"
	"net/http"
	"strings"

	"henro/cmd/replay/origin"
)

// lead returns where a URL is shown as it was at a moment.
func (s *Server) lead(stamp, href string) (string, bool) { return origin.Lead(stamp, s.port(), href) }

// origin reads the name under which captures are asked for: the moment, and the origin as it was.
func (s *Server) origin(host string) (stamp, as string, ok bool) {
	stamp, as, err := origin.Read(host, s.port())
	return stamp, as, err == nil
}

// port is that of captures.
func (s *Server) port() string {
	_, port, _ := net.SplitHostPort(s.content)
	return port
}

// shown are all origins of captures, as a policy names them.
func (s *Server) shown() string { return "http://*" + origin.Under + ":" + s.port() }

// isInside reports whether a page is shown in the frame of captures.
func isInside(r *http.Request) bool { return strings.Contains(r.Host, origin.Under) }

// share lets the pages of other captured origins read an answer, as pages of the live web could: which answers said so
// is not looked at. It reports whether a page only asked whether it might.
func (s *Server) share(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Set("Cross-Origin-Resource-Policy", "same-site")
	from, _ := strings.CutPrefix(r.Header.Get("Origin"), "http://")
	if _, _, ok := s.origin(from); ok {
		h.Set("Access-Control-Allow-Origin", "http://"+from)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Add("Vary", "Origin")
	}
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	w.WriteHeader(http.StatusNoContent)
	return true
}
