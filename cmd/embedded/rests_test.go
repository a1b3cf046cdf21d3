package embedded_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

// idleConn reports for how long a connection was not used before it was closed here.
type idleConn struct {
	net.Conn
	mu     sync.Mutex
	usedAt time.Time
	closed func(idle time.Duration)
}

func (c *idleConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.usedAt = time.Now()
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *idleConn) Close() error {
	c.mu.Lock()
	c.closed(time.Since(c.usedAt))
	c.mu.Unlock()
	return c.Conn.Close()
}

// A connection is closed with the visit after which its host rests for longer than it would be kept, and used again
// after a shorter rest.
func TestAHostThatRestsForLongHoldsNoConnection(t *testing.T) {
	for _, delay := range []time.Duration{5 * time.Second, 2 * time.Minute} {
		t.Run(delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, err := fakeweb.New(fakeweb.Options{Seed: 3, Hosts: 1, Domains: 1, Pages: 8})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				e := crawltest.Of(t, t.TempDir(), w, -1, func(o *master.Options) {
					o.Hosts.Politeness.Floor, o.Hosts.LeaseSpan = delay, time.Hour
				})
				var mu sync.Mutex
				var idle []time.Duration
				e.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					c, err := w.DialContext(ctx, network, address)
					return &idleConn{Conn: c, usedAt: time.Now(), closed: func(d time.Duration) {
						mu.Lock()
						idle = append(idle, d)
						mu.Unlock()
					}}, err
				}
				status := crawltest.Run(t, e)
				mu.Lock()
				defer mu.Unlock()
				if delay < time.Minute && len(idle) > 2 || delay > time.Minute && len(idle) < int(status.Totals.Pages) {
					t.Errorf("%d connections for %d pages", len(idle), status.Totals.Pages)
				}
				for _, d := range idle {
					if d > 5*time.Second {
						t.Errorf("a connection was held for %v", d)
					}
				}
			})
		})
	}
}
