// Command leaks renders pages that try everything in a real Chromium, and fails when anything is not as it should be:
//
//   - a page of scripts is rendered: words and links of its DOM with shadow roots, its requests with their kinds;
//   - a page that tries every way out is rendered in time, a server on loopback that it calls hears nothing, and all
//     connections of Chromium's processes lead to the proxy;
//   - pages with endless scripts, dialogs, frames, workers and canvas cost their time and nothing else;
//   - after Chromium is killed the next page is rendered, and after its parent is killed no Chromium is left.
//
// It prints how long pages take and what memory they take.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"henro/slave/browser"
)

func main() {
	dir := flag.String("dir", "", "scratch folder; empty: a temporary one")
	child := flag.Bool("child", false, "render one page, say so, and wait to be killed")
	pages := flag.Int("pages", 30, "ordinary pages of which the time is taken")
	timeout := flag.Duration("timeout", 8*time.Second, "of a page")
	flag.Parse()
	if err := run(*dir, *child, *pages, *timeout); err != nil {
		fmt.Fprintln(os.Stderr, "leaks:", err)
		os.Exit(1)
	}
}

func run(dir string, child bool, pages int, timeout time.Duration) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "leaks"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	log := logrus.New()
	b := browser.New(browser.Options{Dir: filepath.Join(dir, "chromium"), Timeout: timeout,
		Log: logrus.NewEntry(log)})
	defer b.Close()
	if child {
		if _, err := b.Render(context.Background(), browser.Page{URL: "https://a.example/"}, site(nil)); err != nil {
			return err
		}
		fmt.Println("rendered")
		select {}
	}
	t := &trial{b: b, dir: dir}
	// An ordinary page is not judged by the limit that others are to reach: under load Chromium starts as slowly.
	ordinary := func() error {
		patient := browser.New(browser.Options{Dir: filepath.Join(dir, "patient"), Timeout: time.Minute,
			Log: logrus.NewEntry(log)})
		defer patient.Close()
		return (&trial{b: patient}).ordinary()
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{{"ordinary", ordinary}, {"times", func() error { return t.times(pages) }}, {"ways out", t.waysOut},
		{"burdens", t.burdens}, {"killed", t.killed}, {"parent killed", t.parentKilled}} {
		began := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Printf("%-14s as it should be, %.1f s\n", step.name, time.Since(began).Seconds())
	}
	return nil
}

type trial struct {
	b   *browser.Browser
	dir string
}

// site answers from pages by URL; what is not there is not.
func site(more map[string]string) browser.Source {
	return func(_ context.Context, r *browser.Request) *browser.Answer {
		body, ok := more[r.URL]
		if !ok {
			body, ok = files[r.URL]
		}
		if !ok || r.Method == http.MethodOptions {
			return nil
		}
		mime := "text/html; charset=utf-8"
		switch filepath.Ext(r.URL) {
		case ".js":
			mime = "text/javascript"
		case ".json":
			mime = "application/json"
		case ".png":
			mime = "image/png"
		}
		return &browser.Answer{Status: 200, Header: http.Header{"Content-Type": {mime},
			"Access-Control-Allow-Origin": {"*"}}, Body: []byte(body), At: time.Unix(1700000000, 0)}
	}
}

var files = map[string]string{
	"https://a.example/": `<!doctype html><html lang=en><title>before</title><div id=app></div><x-card></x-card>
<details><summary>more</summary>folded words</details><nav><button id=m aria-expanded=false>menu</button></nav>
<button type=button id=b>Load more</button>
<script type=module src=/app.js></script>`,
	"https://a.example/app.js": `document.title = "after";
const data = await (await fetch("/data.json")).json();
document.getElementById("app").innerHTML = "<a href='/deep'>" + data.word + "</a>";
customElements.define("x-card", class extends HTMLElement { connectedCallback() {
	this.attachShadow({mode: "open"}).innerHTML = "<p>shaded words</p><a href='/shade'>s</a>"; } });
document.getElementById("b").onclick = () => { const p = document.createElement("p"); p.textContent = "loaded words";
	document.body.append(p); document.getElementById("b").remove(); };
const open = (id, then) => { const e = document.getElementById(id);
	e.onclick = () => { e.ariaExpanded = "true"; then((html) => e.insertAdjacentHTML("afterend", html)); }; };
open("m", (add) => { add("<button id=n aria-expanded=false>more</button>");
	open("n", (add) => { add("<a href=/menu>closed words</a>"); history.pushState(null, "", "/led");
		fetch("/late.json"); }); });
fetch("https://b.example/api.json", {method: "POST", headers: {"X-A": "1"}, body: "q=1"}).then(r => r.json()).then(j =>
	document.body.append(j.word));
new Image().src = "/missing.png";
new WebSocket("wss://a.example/socket");
setTimeout(() => { throw new Error("nobody catches it"); });
setTimeout(() => { location = "/away"; }, 50);`,
	"https://a.example/data.json": `{"word": "fetched words"}`,
	"https://b.example/api.json":  `{"word": "posted words"}`,
}

func (t *trial) render(p browser.Page, more map[string]string) (*browser.Rendering, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return t.b.Render(ctx, p, site(more))
}

func (t *trial) ordinary() error {
	began := time.Now()
	r, err := t.render(browser.Page{URL: "https://a.example/", Behaviour: "document.body.append('users words');"}, nil)
	if err != nil {
		return err
	}
	fmt.Printf("first page %.2f s\n", time.Since(began).Seconds())
	var wrong error
	expect := func(is bool, what string) {
		if !is {
			wrong = errors.Join(wrong, errors.New(what))
		}
	}
	expect(r.Title == "after", "title "+r.Title)
	for _, words := range []string{"fetched words", "shaded words", "loaded words", "posted words", "users words",
		"folded words"} {
		expect(strings.Contains(r.Text, words), words+" are not in the text")
		expect(bytes.Contains(r.HTML, []byte(words)), words+" are not in the DOM")
	}
	expect(bytes.Contains(r.HTML, []byte(`shadowrootmode="open"`)), "no shadow root in the DOM")
	for _, link := range []string{"https://a.example/deep", "https://a.example/shade", "https://a.example/away"} {
		expect(slices.Contains(r.Links, link), "no link "+link)
	}
	for _, link := range []string{"https://a.example/menu", "https://a.example/led"} {
		expect(slices.Contains(r.Menus, link), "no link of a menu "+link)
	}
	expect(!strings.Contains(r.Text, "closed words"), "a menu was opened before the page was read")
	kinds := map[string]string{}
	for _, a := range r.Asked {
		kinds[a.Method+" "+a.URL] = fmt.Sprint(a.Kind, " ", a.Answered)
	}
	for request, kind := range map[string]string{"GET https://a.example/": "document true",
		"GET https://a.example/app.js": "script true", "GET https://a.example/data.json": "fetch true",
		"POST https://b.example/api.json": "fetch true", "GET https://a.example/missing.png": "image false",
		"GET https://a.example/favicon.ico": "other false"} {
		expect(kinds[request] == kind, request+" is "+kinds[request]+", not "+kind)
	}
	expect(len(r.Asked) == 6, fmt.Sprintf("%d requests: %v", len(r.Asked), kinds))
	expect(r.Tried.Sockets == 1, fmt.Sprintf("%d sockets", r.Tried.Sockets))
	expect(r.Errors == 1, fmt.Sprintf("%d errors", r.Errors))
	expect(r.Rested, "it did not come to rest")
	expect(bytes.HasPrefix(r.Screenshot, []byte("\x89PNG")), "no picture")
	expect(bytes.HasPrefix(r.Thumbnail, []byte("\xff\xd8")), "no thumbnail")
	expect(bytes.HasPrefix(r.Narrow, []byte("\x89PNG")), "no picture of a phone")
	expect(len(r.Records("https://a.example/")) == 5, "not five records")
	_, err = t.render(browser.Page{URL: "https://a.example/none"}, nil)
	expect(errors.Is(err, browser.ErrUnanswered), fmt.Sprint("a page that is not there: ", err))
	return wrong
}

func (t *trial) times(pages int) error {
	var took []time.Duration
	for range pages {
		began := time.Now()
		if _, err := t.render(browser.Page{URL: "https://a.example/"}, nil); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	fmt.Printf("next pages: median %.2f s, slowest %.2f s; Chromium takes %d MiB\n", took[len(took)/2].Seconds(),
		took[len(took)-1].Seconds(), t.memory()>>20)
	return nil
}

// waysOut is a page that calls a server on loopback by every way there is.
func (t *trial) waysOut() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var heard atomic.Int64
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		heard.Add(1)
		fmt.Println("heard", r.Method, r.URL)
	}), ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			heard.Add(1)
		}
	}}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer udp.Close()
	go func() {
		for packet := make([]byte, 2048); ; {
			if _, _, err := udp.ReadFrom(packet); err != nil {
				return
			}
			heard.Add(1)
			fmt.Println("heard a datagram")
		}
	}()
	at, datagrams := listener.Addr().String(), udp.LocalAddr().String()
	stop := make(chan struct{})
	strange := make(chan []string, 1)
	go func() { strange <- t.strangers(stop) }()
	page := strings.NewReplacer("SERVER", at, "DATAGRAMS", datagrams).Replace(leaving)
	for _, url := range []string{"https://leave.example/", "http://leave.example/"} {
		r, err := t.render(browser.Page{URL: url}, map[string]string{url: page,
			strings.TrimSuffix(url, "/") + "/worker.js": "self.onfetch = () => {}; fetch('http://" + at + "/worker')"})
		if err != nil {
			return err
		}
		if !strings.Contains(r.Text, "to the end") || strings.Contains(r.Text, "LEAK") {
			return fmt.Errorf("the page says %q", r.Text)
		}
		fmt.Printf("%s: %d requests, %d sockets, %d links in %.1f s\n", url, len(r.Asked), r.Tried.Sockets,
			len(r.Links), r.Took.Seconds())
	}
	time.Sleep(time.Second)
	close(stop)
	if found := <-strange; len(found) > 0 {
		return fmt.Errorf("connections of Chromium: %v", found)
	}
	if n := heard.Load(); n > 0 {
		return fmt.Errorf("the server heard %d times", n)
	}
	return nil
}

const leaving = `<!doctype html><title>leaving</title><p id=said></p>
<link rel=dns-prefetch href="//prefetched.example"><link rel=preconnect href="http://SERVER">
<link rel=prefetch href="http://SERVER/prefetch"><link rel=preload as=image href="http://SERVER/preload">
<script type=speculationrules>{"prerender":[{"source":"list","urls":["/prerender"]}]}</script>
<img src="http://SERVER/img"><iframe src="http://SERVER/frame"></iframe><iframe src="file:///etc/passwd"></iframe>
<object data="http://SERVER/object"></object><video src="http://SERVER/video" autoplay></video>
<a id=ping href="#" ping="http://SERVER/ping">p</a><a id=down href="data:text/plain,x" download=x.txt>d</a>
<a id=blank href="http://SERVER/blank" target=_blank>b</a>
<script>
const said = document.getElementById("said"), leak = (what) => { said.textContent += " LEAK " + what; };
const tries = [
	() => { fetch("http://SERVER/fetch").then(() => leak("fetch"), () => {}); },
	() => { fetch("file:///etc/passwd").then(() => leak("file"), () => {}); },
	() => { const x = new XMLHttpRequest(); x.open("GET", "http://SERVER/xhr"); x.send(); },
	() => { new WebSocket("ws://SERVER/ws").onopen = () => leak("ws"); },
	() => { navigator.sendBeacon("http://SERVER/beacon", "x"); },
	() => { new EventSource("http://SERVER/events"); },
	() => { fetch("http://SERVER/keep", {method: "POST", keepalive: true, body: "x"}).catch(() => {}); },
	() => { if (window.RTCPeerConnection) leak("rtc"); },
	() => { const f = document.createElement("iframe"); document.body.append(f);
		const R = f.contentWindow.RTCPeerConnection;
		if (R) { leak("rtc of a frame"); const p = new R({iceServers: [{urls: "stun:DATAGRAMS"}]});
			p.createDataChannel("x"); p.createOffer().then((o) => p.setLocalDescription(o)); } },
	() => { const f = document.createElement("iframe"); f.srcdoc = "<script>if (window.RTCPeerConnection) " +
		"parent.leak('rtc of srcdoc')<\/script>"; document.body.append(f); },
	() => { new WebTransport("https://SERVER/transport"); },
	() => { navigator.serviceWorker.register("/worker.js").then(() => leak("service worker"), () => {}); },
	() => { new Worker("/worker.js"); },
	() => { window.open("http://SERVER/popup"); },
	() => { document.getElementById("down").click(); document.getElementById("ping").click();
		document.getElementById("blank").click(); },
	() => { navigator.geolocation?.getCurrentPosition(() => leak("place")); Notification?.requestPermission?.(); },
	() => { alert(1); confirm(2); prompt(3); print(); },
	() => { const f = document.createElement("form"); f.action = "http://SERVER/form"; f.method = "post";
		document.body.append(f); f.submit(); },
	() => { location = "file:///etc/passwd"; },
	() => { setTimeout(() => { location = "http://SERVER/away"; }, 100); },
	() => { onbeforeunload = (e) => { e.preventDefault(); return "stay"; }; },
];
for (const one of tries) try { one(); } catch (e) {}
said.textContent += " to the end";
</script>`

// strangers are the peers of connections of Chromium's processes that are no proxy of this process, until stop.
func (t *trial) strangers(stop chan struct{}) []string {
	found := map[string]bool{}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	own := fmt.Sprint(os.Getpid())
	for {
		select {
		case <-stop:
			var all []string
			for peer := range found {
				all = append(all, peer)
			}
			return all
		case <-tick.C:
		}
		inodes, listens := map[string]bool{}, map[string]bool{}
		for _, pid := range t.processes() {
			links, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
			for _, link := range links {
				if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, "socket:[") {
					inodes[strings.Trim(to[7:], "[]")] = true
				}
			}
		}
		links, _ := filepath.Glob("/proc/" + own + "/fd/*")
		ours := map[string]bool{}
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, "socket:[") {
				ours[strings.Trim(to[7:], "[]")] = true
			}
		}
		for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
			text, _ := os.ReadFile("/proc/net/" + table)
			var rows [][]string
			for line := range strings.Lines(string(text)) {
				if f := strings.Fields(line); len(f) > 9 {
					rows = append(rows, f)
					if f[3] == "0A" && ours[f[9]] {
						listens[f[1]] = true
					}
				}
			}
			for _, f := range rows {
				if inodes[f[9]] && !listens[f[2]] && !strings.HasSuffix(f[2], ":0000") {
					found[table+" "+f[2]] = true
				}
				if inodes[f[9]] && f[3] == "0A" {
					found[table+" listens at "+f[1]] = true
				}
			}
		}
	}
}

// burdens are pages that take what they can.
func (t *trial) burdens() error {
	var frames strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&frames, "<iframe src='/f%d'></iframe>", i)
	}
	for _, p := range []struct{ name, page string }{
		{"dialogs", `<script>for (let i = 0; i < 1e5; i++) { alert(i); confirm(i); }
onbeforeunload = () => "no";</script>`},
		{"1,000 frames", frames.String()},
		{"reloads", `<script>setInterval(() => location.reload(), 5)</script>`},
		{"polls", `<script>setInterval(() => fetch("/poll"), 50)</script>`},
		{"log", `<script>for (let i = 0; i < 1e5; i++) console.log(i, document)</script>`},
		{"1 GB of canvas", `<script>const all = []; for (let i = 0; i < 16; i++) { const c = document.createElement(
"canvas"); c.width = c.height = 4096; c.getContext("2d").fillRect(0, 0, 4096, 4096); document.body?.append(c);
all.push(c);
}</script>`},
		{"endless", `<p>before</p><script>for (;;);</script>`},
		{"endless later", `<p>before</p><script>setInterval(() => { for (;;); }, 700)</script>`},
		{"heap", `<script>const a = []; for (;;) a.push(new Array(1e6).fill(1))</script>`},
		{"workers", `<script>const u = URL.createObjectURL(new Blob(["const u = URL.createObjectURL(new Blob([` +
			`'for (;;);'])); for (let i = 0; i < 500; i++) new Worker(u); for (;;);"]));
for (let i = 0; i < 500; i++) new Worker(u);</script>`},
	} {
		url := "https://burden.example/"
		began := time.Now()
		r, err := t.render(browser.Page{URL: url}, map[string]string{url: "<!doctype html><p>words</p>" + p.page})
		took := time.Since(began)
		outcome := fmt.Sprint(err)
		if err == nil {
			outcome = fmt.Sprintf("rendered, rested %v, %d asked", r.Rested, len(r.Asked))
		}
		fmt.Printf("  %-14s %5.1f s  %s\n", p.name, took.Seconds(), outcome)
		if took > 35*time.Second {
			return fmt.Errorf("%s takes %s", p.name, took)
		}
	}
	_, err := t.render(browser.Page{URL: "https://a.example/"}, nil)
	return err
}

// killed kills Chromium before a page and during one.
func (t *trial) killed() error {
	for _, pid := range t.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if _, err := t.render(browser.Page{URL: "https://a.example/"}, nil); err != nil {
		// it may not have been noticed yet
		if _, err := t.render(browser.Page{URL: "https://a.example/"}, nil); err != nil {
			return fmt.Errorf("before: %w", err)
		}
	}
	time.AfterFunc(time.Second, func() {
		for _, pid := range t.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	url := "https://burden.example/"
	_, err := t.render(browser.Page{URL: url}, map[string]string{url: `<script>for (;;);</script>`})
	if err == nil {
		return errors.New("a page is rendered by a Chromium that was killed")
	}
	fmt.Println(" ", err)
	_, err = t.render(browser.Page{URL: "https://a.example/"}, nil)
	return err
}

func (t *trial) parentKilled() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self, "-child", "-dir", filepath.Join(t.dir, "child"))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	if !bufio.NewScanner(out).Scan() {
		return errors.New("the child renders nothing")
	}
	before := len(processes(filepath.Join(t.dir, "child")))
	_ = child.Process.Kill()
	_ = child.Wait()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := processes(filepath.Join(t.dir, "child"))
		if before > 0 && len(left) == 0 {
			fmt.Printf("%d processes of Chromium are gone\n", before)
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d processes of Chromium before, %d left", before, len(left))
		}
	}
}

func (t *trial) processes() []int { return processes(filepath.Join(t.dir, "chromium")) }

// processes are those whose command line names a folder as their profile's.
func processes(dir string) (all []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if line, err := os.ReadFile(name); err == nil && bytes.Contains(line, []byte("--user-data-dir="+dir+"/")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			all = append(all, pid)
		}
	}
	return all
}

func (t *trial) memory() (sum int64) {
	for _, pid := range t.processes() {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if _, rest, ok := strings.Cut(string(text), "\nPss:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			sum += kb << 10
		}
	}
	return sum
}
