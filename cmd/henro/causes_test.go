package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/sirupsen/logrus"

	"henro/actors/actortest"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/cluster"
	"henro/cmd/config"
	"henro/cmd/embedded"
	"henro/master"
	"henro/messages"
)

// brokenHost is one row of the truth table.
type brokenHost struct {
	name string // of the host, without its domain
	// word is that of the cause, and says is in what the system said of it.
	word, says string
	scheme     string // http unless given
	path       string // of the page that fails, / unless given
	page       bool   // the page fails and the host does not: its log line and its own cause are missing

	listen func(*testing.T) int // serves it, and returns the port
}

func (b *brokenHost) host(port int) string {
	scheme := b.scheme
	if scheme == "" {
		scheme = "http"
	}
	return fmt.Sprintf("%s://%s.broken.test:%d", scheme, b.name, port)
}

// accepts serves connections one by one with whatever is to be said to whoever connects.
func accepts(serve func(net.Conn)) func(*testing.T) int {
	return func(t *testing.T) int {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				go serve(c)
			}
		}()
		return listener.Addr().(*net.TCPAddr).Port
	}
}

// asked reads one request and returns its path.
func asked(c net.Conn) string {
	buffer := make([]byte, 8<<10)
	n, _ := c.Read(buffer)
	_, rest, _ := strings.Cut(string(buffer[:n]), " ")
	path, _, _ := strings.Cut(rest, " ")
	return path
}

// mute keeps a connection until the other side closes it, at most for the time of the test.
func mute(c net.Conn) {
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.Copy(io.Discard, c)
	c.Close()
}

// pageOf serves robots.txt as missing, and the page by its function.
func pageOf(page func(c net.Conn)) func(*testing.T) int {
	return accepts(func(c net.Conn) {
		if asked(c) == "/robots.txt" {
			fmt.Fprint(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			c.Close()
			return
		}
		page(c)
	})
}

// answers says one thing to every request, robots.txt included.
func answers(text string) func(*testing.T) int {
	return accepts(func(c net.Conn) {
		asked(c)
		_, _ = io.WriteString(c, text)
		c.Close()
	})
}

func status(line string, headers ...string) string {
	return "HTTP/1.1 " + line + "\r\nContent-Length: 0\r\nConnection: close\r\n" + strings.Join(headers, "\r\n") +
		map[bool]string{true: "\r\n"}[len(headers) > 0] + "\r\n"
}

func says(text string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, text); c.Close() }
}

// unheard listens with a full backlog, so that whoever connects hears nothing.
func unheard(t *testing.T) int {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := at.(*syscall.SockaddrInet4).Port
	for range 4 {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), 100*time.Millisecond)
		if err == nil {
			t.Cleanup(func() { c.Close() })
		}
	}
	return port
}

// withTLS serves a certificate made for a name and a span of time.
func withTLS(name string, until time.Time, change func(*tls.Config)) func(*testing.T) int {
	return func(t *testing.T) int {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
			DNSNames: []string{name}, NotBefore: until.Add(-48 * time.Hour), NotAfter: until}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		c := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
		if change != nil {
			change(c)
		}
		return accepts(func(raw net.Conn) {
			secure := tls.Server(raw, c)
			if secure.Handshake() == nil {
				asked(secure)
				_, _ = io.WriteString(secure, status("404 Not Found"))
			}
			secure.Close()
		})(t)
	}
}

const html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

// brokenHosts are kinds of hosts that fail, each in its own way.
func brokenHosts() []brokenHost {
	tomorrow, yesterday := time.Now().Add(24*time.Hour), time.Now().Add(-24*time.Hour)
	nowhere := func(*testing.T) int { return 80 }
	return []brokenHost{
		{name: "nosuch", word: "DNS_NOT_FOUND", says: "no such host", listen: nowhere},
		{name: "servfail", word: "DNS_FAILED", says: "server misbehaving", listen: nowhere},
		{name: "private", word: "ADDRESS_FORBIDDEN", says: "10.1.2.3", listen: nowhere},
		{name: "metadata", word: "ADDRESS_FORBIDDEN", says: "169.254.169.254", listen: nowhere},
		{name: "refused", word: "CONNECT_REFUSED", says: "connection refused", listen: func(t *testing.T) int {
			// the near end of a connection: nobody listens there, and no other listener is given its port
			c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", accepts(mute)(t)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return c.LocalAddr().(*net.TCPAddr).Port
		}},
		{name: "unheard", word: "CONNECT_TIMEOUT", says: "i/o timeout", listen: unheard},
		{name: "mutetls", scheme: "https", word: "CONNECT_TIMEOUT", says: "TLS handshake", listen: accepts(mute)},
		{name: "expired", scheme: "https", word: "TLS_FAILED", says: "expired",
			listen: withTLS("expired.broken.test", yesterday, nil)},
		{name: "wronghost", scheme: "https", word: "TLS_FAILED", says: "valid for other.test",
			listen: withTLS("other.test", tomorrow, nil)},
		{name: "selfsigned", scheme: "https", word: "TLS_FAILED", says: "unknown authority",
			listen: withTLS("selfsigned.broken.test", tomorrow, nil)},
		{name: "oldtls", scheme: "https", word: "TLS_FAILED", says: "protocol version",
			listen: withTLS("oldtls.broken.test", tomorrow, func(c *tls.Config) {
				c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
			})},
		{name: "plain", scheme: "https", word: "TLS_FAILED", says: "does not look like a TLS handshake",
			listen: answers(status("400 Bad Request"))},
		{name: "reset", word: "CONNECTION_LOST", says: "reset by peer", listen: accepts(func(c net.Conn) {
			asked(c)
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		})},
		{name: "empty", word: "CONNECTION_LOST", says: "before a byte came", listen: answers("")},
		{name: "garbage", word: "MALFORMED", says: "not an HTTP response", listen: answers("\x00\x01garbage\r\n\r\n")},
		{name: "heads", word: "HEADERS_TOO_LARGE", says: "too large", listen: answers("HTTP/1.1 200 OK\r\n" +
			strings.Repeat("X-Much: "+strings.Repeat("x", 1000)+"\r\n", 2000))},
		{name: "mute", word: "TIMEOUT", says: "no byte in time", listen: accepts(mute)},
		{name: "mutepage", word: "TIMEOUT", says: "no byte in time", listen: pageOf(mute)},
		{name: "stalls", word: "TRUNCATED", says: "no byte in time", page: true, listen: pageOf(func(c net.Conn) {
			_, _ = io.WriteString(c, html+"Content-Length: 1000\r\n\r\n<p>begun")
			mute(c)
		})},
		{name: "cut", word: "TRUNCATED", says: "before the body was whole", page: true,
			listen: pageOf(says(html + "Content-Length: 1000\r\n\r\n<p>begun"))},
		{name: "large", word: "TRUNCATED", says: "larger than allowed", page: true,
			listen: pageOf(says(html + "Content-Length: 90000\r\n\r\n" + strings.Repeat("large ", 15000)))},
		{name: "robots503", word: "ROBOTS_UNREACHABLE", says: "robots.txt answers HTTP 503",
			listen: answers(status("503 Service Unavailable"))},
		{name: "robotsmute", word: "TIMEOUT", says: "robots.txt: no byte in time", listen: accepts(mute)},
		{name: "denied", word: "ROBOTS_DENIED", page: true,
			listen: answers("HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\nUser-agent: *\nDisallow: /")},
		{name: "forbidden", word: "HTTP 403", page: true, listen: pageOf(says(status("403 Forbidden")))},
		{name: "throttled", word: "HTTP 429",
			listen: pageOf(says(status("429 Too Many Requests", "Retry-After: 1")))},
		{name: "away", word: "HTTP 503",
			listen: pageOf(says(status("503 Service Unavailable", "Retry-After: 86000")))},
		{name: "walled", word: "WALL", says: "wall: challenge", listen: pageOf(says(html + "Connection: close\r\n\r\n" +
			"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"))},
		// these are no failures, and no tool says that they are
		{name: "loop", listen: pageOf(says(status("302 Found", "Location: /again")))},
		{name: "leads", listen: pageOf(says(status("302 Found", "Location: http://elsewhere.test/")))},
	}
}

// nameServer answers for the hosts of the table.
func nameServer(t *testing.T) string {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		a := new(dns.Msg).SetReply(q)
		name, _, _ := strings.Cut(q.Question[0].Name, ".")
		ip := map[string]string{"private": "10.1.2.3", "metadata": "169.254.169.254"}[name]
		switch {
		case name == "nosuch":
			a.Rcode = dns.RcodeNameError
		case name == "servfail":
			a.Rcode = dns.RcodeServerFailure
		case q.Question[0].Qtype == dns.TypeA:
			if ip == "" {
				ip = "127.0.0.1"
			}
			rr, err := dns.NewRR(q.Question[0].Name + " 60 IN A " + ip)
			if err != nil {
				t.Error(err)
			}
			a.Answer = append(a.Answer, rr)
		}
		_ = w.WriteMsg(a)
	})}
	up := make(chan struct{})
	server.NotifyStartedFunc = func() { close(up) }
	go func() { _ = server.ActivateAndServe() }()
	<-up
	t.Cleanup(func() { _ = server.Shutdown() })
	return conn.LocalAddr().String()
}

// lockedBuffer takes the log while others read it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Every tool says of every broken host the same word for why it fails, while the crawl runs and afterwards.
func TestEveryToolNamesTheSameCause(t *testing.T) {
	t.Run("ordinary", everyToolNamesTheSameCause)
	for _, kind := range []string{"continuous", "rounds", "cluster"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			everyFigureAgrees(t, kind)
		})
	}
}

// crawlOfBroken are the options of a crawl of such hosts.
func crawlOfBroken(t *testing.T, dir string) master.Options {
	o := master.DefaultOptions()
	o.Dir, o.Depth = dir, 0
	o.Fetch.UserAgent, o.Fetch.Dns, o.Fetch.VerifyTls = config.UserAgent("test@example.org"), nameServer(t), true
	o.Fetch.PrivateNetworks = []string{"127.0.0.0/8"}
	o.Fetch.FetchTimeoutNs, o.Fetch.ConnectTimeoutNs, o.Fetch.IdleTimeoutNs = 3e9, 1e9, 1e9
	o.Fetch.MaxBody = 64 << 10
	o.Hosts.Retries, o.Hosts.RetryWait, o.Hosts.Politeness.Floor = 0, 10*time.Millisecond, 0
	return o
}

// everyFigureAgrees has a crawl that does not end by itself fail, and holds what shows at once against each other, and
// what is left when it was stopped.
func everyFigureAgrees(t *testing.T, kind string) {
	dir := filepath.Join(t.TempDir(), "crawl")
	o := crawlOfBroken(t, dir)
	o.Hosts.Retries = 3 // nothing is given up while the test looks
	o.Hosts.Continuous = kind != "rounds"
	o.Hosts.Again, o.RoundEvery = kind == "rounds", time.Hour
	all := []string{"nosuch", "refused", "expired", "mute", "robots503", "throttled", "away"}
	hosts := slices.DeleteFunc(brokenHosts(), func(h brokenHost) bool { return !slices.Contains(all, h.name) })
	var seeds []reading.Seed
	var urls []string
	for i := range hosts {
		urls = append(urls, strings.TrimSuffix(hosts[i].host(hosts[i].listen(t)), ":80")+"/")
		seed, err := config.ParseSeed(urls[i], 0)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	endpoint, address := opened(t)
	asked, stop := context.WithCancel(t.Context())
	defer stop()
	look := func(ctx context.Context, node *master.Node, telemetry *config.Telemetry) error {
		served := make(chan error, 1)
		go func() { served <- endpoint.Lead(ctx, node, telemetry) }()
		waitUntilCounted(t, ctx, node, hosts)
		agree(t, ctx, node, hosts, urls, address, func(h *brokenHost) bool {
			return o.Hosts.Continuous || h.word != "DNS_NOT_FOUND" && h.word != "HTTP 503" // these are given up at once
		})
		stop()
		<-ctx.Done()
		return <-served
	}
	var final master.Status
	if kind == "cluster" {
		final = inACluster(t, asked, o, seeds, look)
	} else {
		var err error
		e := &embedded.Crawl{Options: o, Seeds: seeds, Log: actortest.Log(), Work: slaveOfTests}
		final, err = e.Run(asked, func(ctx context.Context, node *master.Node) error {
			return look(ctx, node, e.Telemetry)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	var summary master.Summary
	err = errors.Join(err, json.Unmarshal(text, &summary))
	if err != nil || !maps.Equal(summary.Errors, final.Totals.Errors) {
		t.Errorf("summary.json says %v, the last status %v: %v", summary.Errors, final.Totals.Errors, err)
	}
	var lines strings.Builder
	printErrors(&lines, &final)
	for _, h := range hosts {
		if summary.Errors[h.word] == 0 || !strings.Contains(lines.String(), "× "+h.word+"  ") {
			t.Errorf("%s: the summary does not say %s:\n%s", h.name, h.word, &lines)
		}
	}
}

// opened is an endpoint for a crawl's dashboard and API, and its address.
func opened(t *testing.T) (endpoint *config.Endpoint, address string) {
	t.Helper()
	web := config.HTTP{Listen: "127.0.0.1:0"}
	endpoint, err := web.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endpoint.Close() })
	return endpoint, endpoint.Listener.Addr().String()
}

// inACluster crawls with a master and a slave that speak over the network, the slave from a process of its own.
func inACluster(t *testing.T, asked context.Context, o master.Options, seeds []reading.Seed,
	look func(context.Context, *master.Node, *config.Telemetry) error) master.Status {
	t.Helper()
	log := actortest.Log()
	o.Name, o.Boot, o.Version = "master", cluster.NewBoot(), config.Version()
	telemetry := config.NewTelemetry(o.Name, o.Name, log, floor.SystemOptions{})
	t.Cleanup(telemetry.System.Shutdown)
	if _, err := floor.StartTracing(telemetry.System, telemetry.Tracer); err != nil {
		t.Fatal(err)
	}
	peers := config.Peers{Name: o.Name, Gossip: "127.0.0.1:0", Actors: "127.0.0.1:0"}
	node, joined, err := peers.Lead(telemetry.System, o, nil, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	untilTheEnd(t, process(t, "slave", t.TempDir(), joined.Node.Self().GossipAddress))
	inner, cancel := context.WithCancel(t.Context())
	looked := make(chan error, 1)
	go func() { looked <- look(inner, node, telemetry) }()
	final, err := node.Run(asked, inner, seeds)
	cancel()
	err = errors.Join(err, <-looked, node.Close())
	joined.Leave()
	if err != nil {
		t.Fatal(err)
	}
	return final
}

// waitUntilCounted waits until a visit has failed for each cause.
func waitUntilCounted(t *testing.T, ctx context.Context, node *master.Node, hosts []brokenHost) {
	t.Helper()
	for deadline := time.Now().Add(25 * time.Second); ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		open := ""
		now, err := master.Ask[*master.Status](ctx, node, &master.StatusAsked{})
		for _, h := range hosts {
			if err == nil && now.Totals.Errors[h.word] == 0 {
				open = h.word
			}
		}
		if open == "" && err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no visit has failed with %s: %v, %v", open, now, err)
		}
	}
}

// agree holds against each other what shows why visits fail while a crawl runs: the status, the pages Now and Hosts of
// the dashboard, the metrics, and the records of the hosts.
func agree(t *testing.T, ctx context.Context, node *master.Node, hosts []brokenHost, urls []string, address string,
	again func(*brokenHost) bool) {
	t.Helper()
	get := func(path string) string { return got(t, address, path) }
	status, err := master.Ask[*master.Status](ctx, node, &master.StatusAsked{})
	if err != nil {
		t.Error(err)
		return
	}
	told, now, metrics := "", "", ""
	failed := map[string]uint64{}
	for i, h := range hosts {
		if h.word == "" {
			continue
		}
		if told == "" { // its words are there, and their counts do not grow while it rests
			told, err = command(t, "status", "--master", address)
			metrics = get("/metrics")
			for !strings.Contains(now, "<tr>") && ctx.Err() == nil { // it is as old as the last tick of the dashboard
				_, now, _ = strings.Cut(get("/"), `<div id="errors">`)
				now, _, _ = strings.Cut(now, "</div>")
			}
		}
		count := status.Totals.Errors[h.word]
		for place, says := range map[string][2]string{
			"status":  {told, fmt.Sprintf(" %d × %s  ", count, h.word)},
			"Now":     {now, fmt.Sprintf(`title="URLs">%d</a>`, count)},
			"metrics": {metrics, fmt.Sprintf("henro_errors_total{reason=%q} %d\n", h.word, count)},
		} {
			if place == "Now" && len(hosts) > 8 { // it shows the most frequent
				continue
			}
			if err != nil || count == 0 || !strings.Contains(says[0], says[1]) {
				t.Errorf("%s: %s does not say %q, %v:\n%s", h.name, place, says[1], err, says[0])
			}
		}
		name := strings.TrimSuffix(urls[i], "/")
		found, err := node.Reading().Host(name)
		if err != nil {
			t.Error(err)
			continue
		}
		for word, n := range found.Errors {
			failed[word] += n
		}
		if h.page {
			continue
		}
		cause := found.Cause
		if cause.Word != h.word || time.Since(cause.Since) > time.Minute || cause.Again.IsZero() == again(&h) {
			t.Errorf("%s: its host fails with %+v, not %s", h.name, cause, h.word)
		}
		row := ""
		link := regexp.QuoteMeta(`<a href="/host?name=` + url.QueryEscape(name) + `"`)
		// the table is read first
		for deadline := time.Now().Add(10 * time.Second); row == "" && time.Now().Before(deadline); {
			row = regexp.MustCompile(`(?s)` + link + `.*?</tr>`).
				FindString(get("/hosts?only=failing&q=" + h.name + ".broken"))
		}
		want := "since " + cause.Since.Local().Format("15:04:05")
		if again(&h) {
			want += ", tried again in "
		}
		if !strings.Contains(row, want) {
			t.Errorf("%s: Hosts does not say %q:\n%s", h.name, want, row)
		}
	}
	if len(hosts) < 10 && !maps.Equal(failed, status.Totals.Errors) {
		t.Errorf("the hosts have failed %v, the crawl counts %v", failed, status.Totals.Errors)
	}
}

// got is a page of the dashboard, or another answer.
func got(t *testing.T, address, path string) string {
	t.Helper()
	answer, err := http.Get("http://" + address + path)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%s: %d, %v", path, answer.StatusCode, err)
	}
	return string(text)
}

// everyToolNamesTheSameCause crawls once more if this process stood still for so long that hosts which answer at once
// were late for it: their cause is another then, as every tool says.
func everyToolNamesTheSameCause(t *testing.T) {
	for range 5 {
		if !everyToolOnce(t) {
			return
		}
	}
	t.Fatal("the process stood still in each of five crawls")
}

// standstill returns for how long, at most, this process has stood still since.
func standstill(t *testing.T) (most func() time.Duration) {
	var longest atomic.Int64
	go func() {
		for last := time.Now(); t.Context().Err() == nil; {
			time.Sleep(10 * time.Millisecond)
			now := time.Now()
			longest.Store(max(longest.Load(), int64(now.Sub(last))))
			last = now
		}
	}()
	return func() time.Duration { return time.Duration(longest.Load()) }
}

func everyToolOnce(t *testing.T) (stood bool) {
	still := standstill(t)
	dir := filepath.Join(t.TempDir(), "crawl")
	hosts := brokenHosts()
	var log lockedBuffer
	logger := logrus.New()
	logger.SetOutput(&log)
	o := crawlOfBroken(t, dir)
	e := &embedded.Crawl{Options: o, Log: logrus.NewEntry(logger), Work: slaveOfTests}
	var urls []string
	plant := func(raw string, depth int) {
		seed, err := config.ParseSeed(raw, depth)
		if err != nil {
			t.Fatal(err)
		}
		e.Seeds = append(e.Seeds, seed)
	}
	for i := range hosts {
		at := hosts[i].host(hosts[i].listen(t))
		at = strings.TrimSuffix(at, ":80")
		urls = append(urls, at+"/"+strings.TrimPrefix(hosts[i].path, "/"))
		plant(urls[i], 0)
	}
	release := make(chan struct{}) // a host that answers keeps the crawl running while the tools are asked
	plant(fmt.Sprintf("http://busy.broken.test:%d/", pageOf(func(c net.Conn) {
		select {
		case <-release:
			says(status("404 Not Found"))(c)
		case <-time.After(500 * time.Millisecond):
			now := time.Now().UnixNano()
			links := fmt.Sprintf("<a href=/%d>on</a> <a href=/%d>and on</a>", now, now+1) // however long they take
			says(fmt.Sprintf("%sContent-Length: %d\r\nConnection: close\r\n\r\n%s", html, len(links), links))(c)
		}
	})(t)), 120)

	endpoint, address := opened(t)
	final, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
		served := make(chan error, 1)
		go func() { served <- endpoint.Lead(ctx, node, e.Telemetry) }()
		open := waitUntilGivenUp(ctx, node, urls, hosts)
		if stood = still() > 500*time.Millisecond; stood {
			t.Logf("the process stood still for %v: %s", still(), open)
			close(release)
			<-ctx.Done()
			return <-served
		}
		if open != "" {
			t.Error(open)
		}
		truth(t, hosts, urls, "--master", address, &log)
		theirs(t, hosts, urls, address)
		agree(t, ctx, node, hosts, urls, address, func(*brokenHost) bool { return false })
		close(release)
		<-ctx.Done()
		return <-served
	})
	if err != nil {
		t.Fatal(err)
	}
	if stood {
		return true
	}
	if final.End != master.Finished || len(final.FailedSeeds) > 0 {
		t.Errorf("ended with %q; failed seeds %v", final.End, final.FailedSeeds)
	}
	truth(t, hosts, urls, "--dir", dir, &log)
	summary, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	csv := filepath.Join(dir, "pages.csv")
	if out, err := command(t, "export", "--what", "pages", "--to", "csv", "--dir", dir, csv); err != nil {
		t.Fatal(err, out)
	}
	exported, err := os.ReadFile(csv)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range hosts {
		if h.word == "" {
			continue
		}
		if !strings.Contains(string(summary), `"`+h.word+`"`) {
			t.Errorf("%s: summary.json does not say %s", h.name, h.word)
		}
		line := regexp.MustCompile(`(?m)^.*` + regexp.QuoteMeta(urls[i]) + `,.*$`).FindString(string(exported))
		if !strings.Contains(line, h.word) {
			t.Errorf("%s: export does not say %s: %s", h.name, h.word, line)
		}
	}
	return false
}

// waitUntilGivenUp waits until the state knows what came of every page, or says what it does not know in time.
func waitUntilGivenUp(ctx context.Context, node *master.Node, urls []string, hosts []brokenHost) string {
	state := node.Reading().State
	for deadline := time.Now().Add(25 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		open := ""
		for i, raw := range urls {
			entry, _, err := state.Partitions[state.PartitionOf(strings.TrimSuffix(raw, "/"))].Pages.Lookup(raw)
			if err != nil || entry.Page.Cause().Word != hosts[i].word ||
				hosts[i].word == "" && entry.Page.Status != http.StatusFound {
				open = fmt.Sprintf("%s: %v, %+v", raw, err, entry.Page)
			}
		}
		now, err := master.Ask[*master.Status](ctx, node, &master.StatusAsked{})
		for _, h := range hosts {
			if err == nil && h.word != "" && now.Totals.Errors[h.word] == 0 { // its figures are some moments old
				open = "the status does not count " + h.word
			}
		}
		if open == "" || ctx.Err() != nil || time.Now().After(deadline) {
			return open
		}
	}
}

// truth asks the tools of the terminal.
func truth(t *testing.T, hosts []brokenHost, urls []string, flag, value string, log *lockedBuffer) {
	t.Helper()
	ask := func(arguments ...string) string {
		t.Helper()
		out, err := command(t, append(arguments, flag, value)...)
		if err != nil {
			t.Errorf("henro %v: %v", arguments, err)
		}
		return out
	}
	total := ""
	if flag == "--master" {
		total = ask("status")
	}
	for i, h := range hosts {
		host := strings.TrimSuffix(urls[i], "/")
		answers := map[string]string{
			"why": ask("why", urls[i]), "page": ask("page", urls[i]), "host": ask("host", host),
			"why --json": ask("why", "--json", urls[i]), "host --json": ask("host", "--json", host),
			"page --json": ask("page", "--json", urls[i]),
		}
		if flag == "--master" {
			answers["status"] = total
		} else {
			out, err := command(t, "sql", value, "SELECT cause, says FROM pages WHERE url = '"+urls[i]+"'")
			if err != nil {
				t.Error(err)
			}
			answers["sql"] = out
			fetches, err := os.ReadFile(filepath.Join(value, "logs", "fetch.jsonl"))
			if err != nil {
				t.Error(err)
			}
			lines := regexp.MustCompile(`(?m)^.*"`+regexp.QuoteMeta(host)+`/.*$`).FindAllString(string(fetches), -1)
			answers["fetch log"] = strings.Join(lines, "\n")
		}
		if !h.page && h.word != "" {
			answers["log"] = regexp.MustCompile(`(?m)^.*"?a host fails.*` + h.name + `\..*$`).FindString(log.String())
			answers["why host"] = ask("why", host)
		}
		for tool, says := range answers {
			switch {
			case h.word == "" && tool != "status" && anyCause.MatchString(says):
				t.Errorf("%s: %s says %s:\n%s", h.name, tool, anyCause.FindString(says), says)
			case !strings.Contains(says, h.word):
				t.Errorf("%s: %s does not say %s:\n%s", h.name, tool, h.word, says)
			case h.says != "" && tool != "status" && tool != "host" && !strings.HasPrefix(tool, "host") &&
				!strings.Contains(says, h.says):
				t.Errorf("%s: %s does not say %q:\n%s", h.name, tool, h.says, says)
			}
			if strings.Contains(says, "0001-01-01") {
				t.Errorf("%s: %s shows the zero time:\n%s", h.name, tool, says)
			}
			for _, wrong := range []string{"may be asked now", "was not asked for yet", "not asked yet", "in 0s"} {
				if h.word != "" && !h.page && flag == "--dir" && strings.Contains(says, wrong) {
					t.Errorf("%s: %s says %q:\n%s", h.name, tool, wrong, says)
				}
			}
		}
	}
}

// anyCause is the word of any cause.
var anyCause = func() *regexp.Regexp {
	words := []string{"TRUNCATED", "HTTP [45]"}
	for number, word := range messages.Reason_name {
		if number != 0 {
			words = append(words, word)
		}
	}
	return regexp.MustCompile(strings.Join(words, "|"))
}()

// theirs asks the pages of the dashboard.
func theirs(t *testing.T, hosts []brokenHost, urls []string, address string) {
	t.Helper()
	get := func(path string) string { return got(t, address, path) }
	for i, h := range hosts {
		if h.word == "" {
			continue
		}
		page := get("/page?url=" + url.QueryEscape(urls[i]))
		if !strings.Contains(page, "<code>"+h.word+"</code>") || strings.Contains(page, "When its turn comes") {
			t.Errorf("%s: the page of %s does not say %s alone:\n%s", h.name, urls[i], h.word, page)
		}
		host := get("/host?name=" + url.QueryEscape(strings.TrimSuffix(urls[i], "/")))
		failed := ""
		// the first look begins a search
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) &&
			!strings.Contains(failed, url.QueryEscape(urls[i])); time.Sleep(10 * time.Millisecond) {
			failed = get("/failed?cause=" + url.QueryEscape(h.word))
		}
		if !strings.Contains(failed, url.QueryEscape(urls[i])) {
			t.Errorf("%s: the page of %s does not have %s:\n%s", h.name, h.word, urls[i], failed)
		}
		if !h.page && !strings.Contains(host, "<code>"+h.word+"</code>") {
			t.Errorf("%s: the page of its host does not say %s:\n%s", h.name, h.word, host)
		}
	}
}

// A crawl of which no seed could be had says so by an exit code of its own, and why in its last lines.
func TestACrawlWhoseSeedsAllFailSaysSo(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + listener.Addr().String() + "/"
	listener.Close()
	well := fmt.Sprintf("http://127.0.0.1:%d/", accepts(func(c net.Conn) {
		asked(c)
		says(status("200 OK"))(c)
	})(t))
	crawl := func(dir string, seeds ...string) (string, error) {
		return command(t, append([]string{"crawl", "--dir", filepath.Join(t.TempDir(), dir), "--allow-private",
			"--delay", "0", "--listen-http", "off", "--retries", "0", "--progress", "off"}, seeds...)...)
	}
	out, err := crawl("broken", refused)
	if code := config.Code(err); code != config.ExitSeedsFailed {
		t.Errorf("exit code %d, want %d:\n%s", code, config.ExitSeedsFailed, out)
	}
	for _, want := range []string{"1 × CONNECT_REFUSED  " + refused,
		refused + ": CONNECT_REFUSED (connect: dial tcp"} {
		if !strings.Contains(out+fmt.Sprint(err), want) {
			t.Errorf("nowhere %q:\n%s%v", want, out, err)
		}
	}
	if out, err = crawl("half", refused, well); err != nil {
		t.Errorf("of two seeds one was had, and the crawl ends with %v:\n%s", err, out)
	}
}
