package config

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"henro/actors/console"
	"henro/docs"
)

// HTTP is what the flags say of who may ask a node, and where.
type HTTP struct {
	Listen    string
	TokenFile string
}

// Register adds the flags; the default address may be off.
func (h *HTTP) Register(f *pflag.FlagSet, address string) {
	f.StringVar(&h.Listen, "listen-http", address,
		"control, status and metrics over HTTP, `HOST:PORT`; beyond loopback only with --token-file; or off")
	f.StringVar(&h.TokenFile, "token-file", "",
		"`FILE` with the token that requests over HTTP must carry (henro key token)")
}

// tokenLength is the least of a token: 22 letters of base64 are 128 bits.
const tokenLength = 22

// ReadSecret reads the file that a flag names, unless every user of the machine can.
func ReadSecret(flag, name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, Usage("--%s: %v", flag, err)
	}
	if mode := info.Mode().Perm(); mode&0o004 != 0 && runtime.GOOS != "windows" { // where the bits say nothing
		return nil, Usage("--%s %s: every user can read it (mode %04o): chmod 600 it, and make a new one if others "+
			"use this machine", flag, name, mode)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, Usage("--%s: %v", flag, err)
	}
	return data, nil
}

// ReadToken reads the file of a token; no name is no token.
func ReadToken(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	data, err := ReadSecret("token-file", name)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < tokenLength || strings.ContainsAny(token, " \t\r\n") {
		return "", Usage("--token-file %s: want one word of at least %d letters, such as henro key token prints", name,
			tokenLength)
	}
	return token, nil
}

// Listen opens an address on loopback that a flag names; "off" and "" open none.
func Listen(flag, address string) (net.Listener, error) {
	if address == "" || address == "off" {
		return nil, nil
	}
	return listen(flag, address, false, "; reach it from elsewhere through ssh -L")
}

func listen(flag, address string, anywhere bool, advice string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, Usage("--%s %q: want HOST:PORT or off", flag, address)
	}
	if !anywhere && !console.IsLocal(address) {
		return nil, Usage("--%s %q: only loopback may be bound%s", flag, address, advice)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		if strings.Contains(err.Error(), "in use") {
			return nil, Usage("--%s %s is taken, perhaps by another henro: give another port, or off", flag, address)
		}
		return nil, Usage("--%s: %v", flag, err)
	}
	return listener, nil
}

// Endpoint is the HTTP server of a node, for control, status and metrics. A nil Endpoint is closed.
type Endpoint struct {
	Listener net.Listener
	options  console.Options
	passed   net.Listener // requests that other masters pass on; nil: none
	judged   bool         // these have judged who asks
}

// Receive has the endpoint answer what other masters pass on, too. Judged says that only masters can connect there, and
// they have judged who asks; otherwise such requests are judged here as all others are.
func (e *Endpoint) Receive(passed net.Listener, judged bool) {
	if e != nil {
		e.passed, e.judged = passed, judged
	}
}

// Open listens, or returns nil when that is off.
func (h *HTTP) Open() (*Endpoint, error) {
	if h.Listen == "" || h.Listen == "off" {
		return nil, nil
	}
	token, err := ReadToken(h.TokenFile)
	if err != nil {
		return nil, err
	}
	listener, err := listen("listen-http", h.Listen, token != "",
		" without --token-file; make a token with henro key token, or reach it through ssh -L")
	if err != nil {
		return nil, err
	}
	return &Endpoint{Listener: listener, options: console.Options{Token: token}}, nil
}

// Serve answers what every process does, and the tables, until the context ends. The address stays taken until Close:
// what asks meanwhile waits for the next Serve.
func (e *Endpoint) Serve(ctx context.Context, process console.Process, tables ...[]console.Route) error {
	if e == nil {
		<-ctx.Done()
		return nil
	}
	c := console.New(e.options, append(tables, process.Routes(), Manual())...)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		t := turn{e.Listener.(*net.TCPListener)}
		if err := t.SetDeadline(time.Time{}); err != nil {
			return err
		}
		return c.Serve(ctx, t)
	})
	if e.passed != nil {
		passed := c
		if e.judged {
			passed = c.Passed()
		}
		group.Go(func() error { return passed.Serve(ctx, e.passed) })
	}
	return group.Wait()
}

// turn is the listener for one of several servers that use it in turn: Close ends the wait in Accept alone.
type turn struct{ *net.TCPListener }

// Close implements net.Listener.
func (t turn) Close() error { return t.SetDeadline(time.Unix(1, 0)) }

// Manual is the table of what a node says of its own routes.
func Manual() []console.Route {
	return []console.Route{{Pattern: "GET /api/openapi.yaml", Open: true,
		Serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/yaml")
			_, _ = io.WriteString(w, docs.OpenAPI) // the reader is gone: the error has no receiver
		}}}
}

// addressFile is where a crawl that runs in a directory says how it can be asked.
const addressFile = "http.address"

// Note writes the address into the directory of a crawl, so that commands find the running crawl without --master,
// until forget is called.
func (e *Endpoint) Note(dir string) (forget func()) {
	if e == nil {
		return func() {}
	}
	path := filepath.Join(dir, addressFile)
	if err := os.WriteFile(path, []byte(e.Listener.Addr().String()+"\n"), 0o644); err != nil {
		return func() {}
	}
	return func() { os.Remove(path) }
}

// NotedAddress returns where the crawl that runs in a directory can be asked; empty when it did not say.
func NotedAddress(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (e *Endpoint) Close() error {
	if e == nil {
		return nil
	}
	return e.Listener.Close()
}
