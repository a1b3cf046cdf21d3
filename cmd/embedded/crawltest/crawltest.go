// Package crawltest makes crawls of made-up webs in memory and virtual time, and judges what they leave.
package crawltest

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"henro/actors/actortest"
	"henro/actors/reading"
	"henro/cmd/config"
	"henro/cmd/embedded"
	"henro/cmd/fakeweb"
	"henro/master"
)

// Of makes an embedded crawl of a fakeweb, in memory and virtual time.
func Of(t *testing.T, dir string, web *fakeweb.Web, depth int, change func(*master.Options)) *embedded.Crawl {
	t.Helper()
	o := master.DefaultOptions()
	o.Dir, o.Depth = dir, depth
	o.Hosts.Admission.Requisites = 0 // a fakeweb knows which pages are reachable
	o.Fetch.UserAgent = config.UserAgent("test@example.org")
	o.Store.NoSync = true
	if change != nil {
		change(&o)
	}
	var seeds []reading.Seed
	for _, raw := range web.Seeds() {
		seed, err := config.ParseSeed(raw, depth)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	t.Cleanup(actortest.Outlive)
	return &embedded.Crawl{
		Options: o,
		Work:    config.Work{Connections: 64, WARCSize: 1 << 30, Dedup: true},
		Seeds:   seeds, Log: actortest.Log(), Dial: web.DialContext,
	}
}

// Run runs a crawl to its end.
func Run(t *testing.T, e *embedded.Crawl) master.Status {
	t.Helper()
	status, err := e.Run(t.Context(), func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// Bubble runs a crawl of a web in virtual time while steer acts on its master.
func Bubble(t *testing.T, web fakeweb.Options, depth int, change func(*master.Options),
	steer func(context.Context, *master.Node, *fakeweb.Web)) (*fakeweb.Web, string, master.Status) {
	t.Helper()
	w, err := fakeweb.New(web)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	dir := t.TempDir()
	e := Of(t, dir, w, depth, change)
	status, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
		if steer != nil {
			steer(ctx, node, w)
		}
		<-ctx.Done()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w, dir, status
}

// Ask asks a running Master something that is answered by its status.
func Ask(t *testing.T, ctx context.Context, node *master.Node, command any) *master.Status {
	t.Helper()
	status, err := master.Ask[*master.Status](ctx, node, command)
	if err != nil {
		t.Error(err)
		return &master.Status{}
	}
	return status
}

// pipes is a listener of connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p <- theirs
	return ours, nil
}

// At makes an embedded crawl of whatever a handler serves under all names, in memory and virtual time.
func At(t *testing.T, dir string, handler http.Handler, change func(*master.Options),
	seeds ...string) *embedded.Crawl {
	t.Helper()
	listener := make(pipes)
	server := &http.Server{Handler: handler}
	go server.Serve(listener)
	t.Cleanup(func() { close(listener); server.Close() })
	o := master.DefaultOptions()
	o.Dir, o.Store.NoSync, o.Hosts.Politeness.Floor = dir, true, time.Second
	o.Fetch.UserAgent = config.UserAgent("test@example.org")
	change(&o)
	e := &embedded.Crawl{Options: o, Log: actortest.Log(), Dial: listener.dial,
		Work: config.Work{Connections: 8, WARCSize: 1 << 30}}
	for _, raw := range seeds {
		seed, err := config.ParseSeed(raw, o.Depth)
		if err != nil {
			t.Fatal(err)
		}
		e.Seeds = append(e.Seeds, seed)
	}
	t.Cleanup(actortest.Outlive)
	return e
}

// GuestSeeds are the front pages of the guests of a web.
func GuestSeeds(t *testing.T, web *fakeweb.Web) (seeds []reading.Seed) {
	t.Helper()
	for _, raw := range web.GuestSeeds() {
		seed, err := config.ParseSeed(raw, -1)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	return seeds
}
