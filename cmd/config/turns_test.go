package config_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"henro/actors/console"
	"henro/cmd/config"
)

// TestAnAddressIsServedInTurns: a master that ceases to follow and begins to lead, or the other way round, keeps its
// address; who asks between is answered by the next server.
func TestAnAddressIsServedInTurns(t *testing.T) {
	web := config.HTTP{Listen: "127.0.0.1:0"}
	e, err := web.Open()
	if err != nil {
		t.Fatal(err)
	}
	address := e.Listener.Addr().String()
	serve := func(name string) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- e.Serve(ctx, console.Process{}, []console.Route{{Pattern: "GET /who",
				Serve: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(name)) }}})
		}()
		return func() {
			cancel()
			if err := <-served; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	ask := func() string {
		client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Get("http://" + address + "/who")
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		b := make([]byte, 20)
		n, _ := answer.Body.Read(b)
		return string(b[:n])
	}
	end := serve("first")
	if got := ask(); got != "first" {
		t.Errorf("first: %s", got)
	}
	end()
	if l, err := net.Listen("tcp", address); err == nil {
		l.Close()
		t.Error("between two servers another process may take the address")
	}
	answers := make(chan string, 1)
	go func() { answers <- ask() }()
	end = serve("second")
	if got := <-answers; got != "second" {
		t.Errorf("asked between the two: %s", got)
	}
	end()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("a closed endpoint takes connections")
	}
}
