package fakeweb

import (
	"bufio"
	"crypto/tls"
	"net"
	"time"
)

// Hostility is a way to misbehave; the host that does so is called <hostility>.hostile.test.
type Hostility string

func (k Hostility) known() bool { return false }

func (w *Web) hostileNamed(string) (Host, bool) { return Host{}, false }
func (w *Web) hostileAt(int) (Host, bool)       { return Host{}, false }
func (w *Web) hostileHosts() []Host             { return nil }

func (w *Web) greet(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil }

func (w *Web) hostile(a *answer, h *Host, q *request, now time.Time, serial uint64) bool {
	return false
}

func (w *Web) perform(c net.Conn, in *bufio.Reader, h *Host, q *request, kind Hostility) (int, error) {
	return 0, nil
}
