package replay

import (
	"io"
	"net/http"
	"strings"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
)

// proxy answers a browser that asks through it, as the server did: nothing is rewritten, and whatever is not archived
// is 404. The moment is that of Accept-Datetime, or now. It takes http only, and finds captures of https under the same
// name, because the index knows no difference: within CONNECT it could only show them with a certificate that the
// browser trusts.
func (s *Server) proxy(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		http.Error(w, "this proxy has no certificates: ask for http:// instead, which finds captures of https too",
			http.StatusNotImplemented)
		return
	}
	if r.URL.Host == "" {
		http.Error(w, "this is a proxy: set it as the HTTP proxy of a browser, or curl --proxy", http.StatusBadRequest)
		return
	}
	if err := s.replay(w, r); err != nil {
		s.fail(w, r, err)
	}
}

func (s *Server) replay(w http.ResponseWriter, r *http.Request) error {
	u, err := weburl.Parse(r.URL.String())
	if err != nil {
		return &problem{http.StatusBadRequest, err}
	}
	p, err := s.wished(r, u)
	if err != nil {
		return err
	}
	c, err := s.archive.Read(p.Entry)
	if err != nil {
		return err
	}
	defer c.Close()
	release, err := s.budget.share(r.Context(), false, "")
	if err != nil {
		return err
	}
	defer release()
	h := w.Header()
	for _, f := range c.Header {
		switch name := strings.ToLower(f.Name); {
		case name == "content-length", name == "transfer-encoding", name == "connection", name == "keep-alive",
			name == "strict-transport-security":
		case strings.HasPrefix(name, "x-archive-orig-"), validField(f.Name):
			h.Add(f.Name, f.Value)
		}
	}
	h.Set("Memento-Datetime", p.At.UTC().Format(http.TimeFormat))
	h.Set("X-Archive-Capture", cdxj.Stamp(p.At)+" "+p.URL)
	status := c.Status
	if status < 200 || status > 599 {
		status = http.StatusOK
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, err = io.Copy(w, c.Body)
	}
	return s.lost(err, u)
}
