package crawltest

import (
	"context"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/reading/audit"
	"henro/cmd/fakeweb"
	"henro/master"
)

// Cable is the way to a web that can be cut: whoever holds it reaches nobody from then on, as after a death.
type Cable struct {
	Web   *fakeweb.Web
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// Dial reaches a host, until the cable is cut.
func (c *Cable) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, net.ErrClosed
	}
	conn, err := c.Web.DialContext(ctx, network, address)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

// Sever cuts it for good.
func (c *Cable) Sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for _, conn := range c.conns {
		conn.Close()
	}
}

// CopyTree copies a directory as it is: the image that a crash leaves.
func CopyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// Crash runs a crawl in dir until it has run for a while, and returns the directory as a crash at that moment would
// have left it. Another crawl may go on in the image at once, while this one, cut off from the web, comes to its own
// end.
func Crash(t *testing.T, dir string, web *fakeweb.Web, depth int, after time.Duration,
	change func(*master.Options)) (image string, wait func()) {
	t.Helper()
	image = t.TempDir()
	wire := &Cable{Web: web}
	e := Of(t, dir, web, depth, change)
	e.Dial = wire.Dial
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := e.Run(ctx, func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
		if err != nil {
			t.Error(err)
		}
	}()
	time.Sleep(after)
	synctest.Wait() // nobody is writing
	CopyTree(t, dir, image)
	wire.Sever()
	cancel()
	return image, func() { <-ended }
}

// Crashes lets a crawl crash after each of these times, and returns the directory that the last one has left.
func Crashes(t *testing.T, web *fakeweb.Web, change func(*master.Options), after ...time.Duration) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, d := range after {
		image, wait := Crash(t, dir, web, -1, d, change)
		t.Cleanup(wait)
		dir = image
	}
	return dir
}

// OverCrashes crawls to the end in spite of these crashes; the state is sound then.
func OverCrashes(t *testing.T, web *fakeweb.Web, change func(*master.Options),
	after ...time.Duration) (dir string, status master.Status) {
	t.Helper()
	dir = Crashes(t, web, change, after...)
	status = Run(t, Of(t, dir, web, -1, change))
	CheckSound(t, dir)
	return dir, status
}

// CheckSound demands that the check of a crawl that has ended finds nothing wrong.
func CheckSound(t *testing.T, dir string) {
	t.Helper()
	r, err := audit.Check(dir, nil, func(string, uint64, uint64) {})
	if err != nil {
		t.Error(err)
	} else if r.Count > 0 {
		t.Errorf("%d damages: %q", r.Count, r.Problems)
	}
}
