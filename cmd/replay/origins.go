package replay

import (
	"net/http"
	"strings"

	"henro/cmd/replay/origin"
)

// isInside reports whether a page is shown in the frame of captures.
func isInside(r *http.Request) bool { return strings.Contains(r.Host, origin.Under) }

// share lets the pages of other captured origins read an answer, as pages of the live web could: which answers said so
// is not looked at. It reports whether a page only asked whether it might.
func (s *Server) share(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Set("Cross-Origin-Resource-Policy", "same-site")
	from, _ := strings.CutPrefix(r.Header.Get("Origin"), "http://")
	_, _, err := s.captured.Read(from)
	site := r.Header.Get("Sec-Fetch-Site")
	moved := from == "null" && (site == "same-site" || site == "same-origin") // led here by a third origin
	if err == nil || moved {
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Add("Vary", "Origin")
	}
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", r.Header.Get("Access-Control-Request-Method"))
	h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	w.WriteHeader(http.StatusNoContent)
	return true
}
