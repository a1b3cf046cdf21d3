package fetch

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	xproxy "golang.org/x/net/proxy"
)

// proxy is the way to all hosts. Through one that speaks HTTP, http URLs are asked for as forward proxies take them, in
// absolute form, since few of them let CONNECT through to port 80; https goes through CONNECT.
type proxy struct {
	url  *url.URL
	dial func(ctx context.Context, addr string) (net.Conn, error)
}

// forwards reports whether requests to a target are sent to the proxy itself. A nil proxy forwards nothing.
func (p *proxy) forwards(to *target) bool { return p != nil && p.url.Scheme == "http" && !to.tls }

// address is where the proxy is.
func (p *proxy) address() string {
	port := p.url.Port()
	switch {
	case port != "":
	case p.url.Scheme == "http":
		port = "8080"
	default:
		port = "1080"
	}
	return net.JoinHostPort(p.url.Hostname(), port)
}

// authorization is the header line by which the proxy knows us; "" if it asks for none.
func (p *proxy) authorization() string {
	if p.url.User == nil {
		return ""
	}
	password, _ := p.url.User.Password()
	return "Proxy-Authorization: Basic " +
		base64.StdEncoding.EncodeToString([]byte(p.url.User.Username()+":"+password)) + "\r\n"
}

// connect makes a connection to a target.
func (p *proxy) connect(ctx context.Context, to *target) (net.Conn, error) {
	if p.url.Scheme == "socks5" {
		var login *xproxy.Auth
		if u := p.url.User; u != nil {
			password, _ := u.Password()
			login = &xproxy.Auth{User: u.Username(), Password: password}
		}
		socks, err := xproxy.SOCKS5("tcp", p.address(), login, forward(p.dial))
		if err != nil {
			return nil, err
		}
		c, err := socks.(xproxy.ContextDialer).DialContext(ctx, "tcp", to.address())
		if err != nil {
			return nil, fmt.Errorf("by the proxy: %w", err)
		}
		return c, nil
	}
	c, err := p.dial(ctx, p.address())
	if err != nil {
		return nil, fmt.Errorf("to the proxy: %w", err)
	}
	if to.tls {
		if err := p.tunnel(ctx, c, to.address()); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// tunnel has the proxy connect to an address (RFC 9110 9.3.6).
func (p *proxy) tunnel(ctx context.Context, c net.Conn, address string) error {
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(aLongTimeAgo) })
	defer stop()
	if until, ok := ctx.Deadline(); ok {
		c.SetDeadline(until)
		defer c.SetDeadline(time.Time{})
	}
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", address, address,
		p.authorization()); err != nil {
		return fmt.Errorf("to the proxy: %w", err)
	}
	in := io.LimitReader(&one{c}, 16<<10)
	answer, err := http.ReadResponse(bufio.NewReader(in), &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil:
		return fmt.Errorf("of the proxy: %w", err)
	case answer.StatusCode == http.StatusProxyAuthRequired:
		return errProxyLogin
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("the proxy answers %s", answer.Status)
	}
	return nil
}

// one reads a byte at a time, so that what comes behind the head of an answer stays in the connection.
type one struct{ net.Conn }

func (o *one) Read(b []byte) (int, error) { return o.Conn.Read(b[:min(len(b), 1)]) }

// forward makes a dialer of x/net out of a function.
type forward func(ctx context.Context, addr string) (net.Conn, error)

func (f forward) Dial(_, addr string) (net.Conn, error) { return f(context.Background(), addr) }

func (f forward) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	return f(ctx, addr)
}
