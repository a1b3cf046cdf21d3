package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	demoHosts = 12
	demoPages = 50 // of a host
	demoLinks = 8  // of a page
)

// demoWeb is a small web on loopback. Its pages follow from their names alone.
type demoWeb struct {
	listener net.Listener
	server   http.Server

	mu       sync.Mutex
	asked    map[string]time.Time // by host: when it was asked last
	shortest time.Duration        // between two requests to one host; 0: no host was asked twice
}

// serveDemo serves the web until Close.
func serveDemo() (*demoWeb, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the test web: %w", err)
	}
	w := &demoWeb{listener: l, asked: map[string]time.Time{}}
	w.server = http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second}
	go w.server.Serve(l) //nolint:errcheck // it ends by Close
	return w, nil
}

// Close stops the web.
func (w *demoWeb) Close() error { return w.server.Close() }

func (w *demoWeb) port() int { return w.listener.Addr().(*net.TCPAddr).Port }

// url returns the URL of a page; page 0 is the root of its host.
func (w *demoWeb) url(host, page int) string {
	path := "/"
	if page > 0 {
		path = fmt.Sprintf("/%s/p%d.html", []string{"guide", "news", "notes"}[page%3], page)
	}
	return fmt.Sprintf("http://%s:%d%s", demoName(host), w.port(), path)
}

func demoName(host int) string { return fmt.Sprintf("host%02d.demo.test", host) }

// places are the addresses of the hosts, as --resolve takes them.
func (w *demoWeb) places() (lines []string) {
	for host := range demoHosts {
		lines = append(lines, fmt.Sprintf("%s:%d:127.0.0.1", demoName(host), w.port()))
	}
	return lines
}

// ServeHTTP answers with a page, a redirect (each twentieth), 404, or robots.txt, which closes a folder of each fourth
// host.
func (w *demoWeb) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.note(r.Host)
	name, _, _ := strings.Cut(r.Host, ".")
	host, err := strconv.Atoi(strings.TrimPrefix(name, "host"))
	if err != nil || host < 0 || host >= demoHosts {
		http.NotFound(out, r)
		return
	}
	if r.URL.Path == "/robots.txt" {
		if host%4 == 3 {
			fmt.Fprint(out, "User-agent: *\nDisallow: /notes/\n")
		}
		return
	}
	page := 0
	if _, number, ok := strings.Cut(r.URL.Path, "/p"); ok {
		page, err = strconv.Atoi(strings.TrimSuffix(number, ".html"))
	}
	switch {
	case err != nil || page < 0 || page >= demoPages, w.url(host, page) != "http://"+r.Host+r.URL.Path:
		http.NotFound(out, r)
	case page%20 == 19:
		http.Redirect(out, r, w.url(host, page-1), http.StatusMovedPermanently)
	default:
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.write(out, host, page)
	}
}

// write makes a page whose links lead down the tree of its host's pages, and now and then to another host or nowhere.
func (w *demoWeb) write(out http.ResponseWriter, host, page int) {
	random := rand.New(rand.NewPCG(uint64(host), uint64(page)))
	language, words := "en", "The path goes on along the river, from one temple to the next. "
	if host%3 == 2 {
		language, words = "ja", "道は川に沿って、寺から次の寺へと続く。"
	}
	fmt.Fprintf(out, "<!DOCTYPE html><html lang=%s><title>%s, page %d</title>\n<p>%s</p>\n", language, demoName(host),
		page, strings.Repeat(words, 1+random.IntN(20)))
	for i := range demoLinks {
		target := w.url(host, page*demoLinks+1+i)
		switch {
		case random.IntN(10) == 0:
			target = w.url(random.IntN(demoHosts), random.IntN(demoPages))
		case page*demoLinks+1+i >= demoPages:
			target = w.url(host, random.IntN(demoPages+1)) // one of these is not there
		}
		fmt.Fprintf(out, "<a href=\"%s\">temple %d</a>\n", target, random.IntN(88)+1)
	}
}

// note keeps the shortest time between two requests to a host.
func (w *demoWeb) note(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if before, ok := w.asked[host]; ok && (w.shortest == 0 || now.Sub(before) < w.shortest) {
		w.shortest = now.Sub(before)
	}
	w.asked[host] = now
}

// politeness says in a line how politely the web was asked.
func (w *demoWeb) politeness() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("politeness: by the web's own access log, no host was asked twice within %v",
		w.shortest.Round(time.Millisecond))
}
