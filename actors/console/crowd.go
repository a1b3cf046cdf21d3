package console

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Crowd bounds the connections of a server without making a new one wait. Where there is no room it closes the
// connection on which nothing was sent or received for longest, of those that are not being answered or, if all are, of
// all. A client that opens connections and asks for nothing takes the places of others that ask for nothing.
type Crowd struct {
	most   int
	mu     sync.Mutex
	guests map[*guest]struct{}
}

// guest is one connection.
type guest struct {
	net.Conn
	crowd    *Crowd
	answered atomic.Int32 // requests that a handler is at
	moved    atomic.Int64 // when bytes came or went last, in nanoseconds since 1970
}

type guestKey struct{}

// NewCrowd makes a bound on the connections of one server.
func NewCrowd(most int) *Crowd { return &Crowd{most: most, guests: map[*guest]struct{}{}} }

// Listen is a listener of the server; there may be several. It stands below TLS.
func (c *Crowd) Listen(l net.Listener) net.Listener { return &crowdListener{l, c} }

// Watch makes the server say which connections are being answered.
func (c *Crowd) Watch(server *http.Server) {
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if secured, ok := conn.(*tls.Conn); ok {
			conn = secured.NetConn()
		}
		return context.WithValue(ctx, guestKey{}, conn)
	}
	handler := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g, ok := r.Context().Value(guestKey{}).(*guest); ok {
			g.answered.Add(1)
			defer g.answered.Add(-1)
		}
		handler.ServeHTTP(w, r)
	})
}

// before reports whether a connection is to be closed rather than another one.
func (g *guest) before(other *guest) bool {
	if mine, others := g.answered.Load() > 0, other.answered.Load() > 0; mine != others {
		return others
	}
	return g.moved.Load() < other.moved.Load()
}

// enter makes room for a connection.
func (c *Crowd) enter(conn net.Conn) net.Conn {
	g := &guest{Conn: conn, crowd: c}
	g.moved.Store(time.Now().UnixNano())
	c.mu.Lock()
	var gone *guest
	if len(c.guests) >= c.most {
		for other := range c.guests {
			if gone == nil || other.before(gone) {
				gone = other
			}
		}
		delete(c.guests, gone)
	}
	c.guests[g] = struct{}{}
	c.mu.Unlock()
	if gone != nil {
		gone.Conn.Close()
	}
	return g
}

type crowdListener struct {
	net.Listener
	crowd *Crowd
}

func (l *crowdListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.crowd.enter(conn), nil
}

func (g *guest) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	g.note(n)
	return n, err
}

func (g *guest) Write(b []byte) (int, error) {
	n, err := g.Conn.Write(b)
	g.note(n)
	return n, err
}

func (g *guest) note(n int) {
	if n > 0 {
		g.moved.Store(time.Now().UnixNano())
	}
}

func (g *guest) Close() error {
	g.crowd.mu.Lock()
	delete(g.crowd.guests, g)
	g.crowd.mu.Unlock()
	return g.Conn.Close()
}
