package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"henro/cmd/config"
	"henro/master"
)

// evil sets the title of a terminal, in seven and in eight bits, turns text round, hides, and begins a line of its own.
const evil = "\x1b]0;OWNED\a\u009b2J\u202eexe\u200b\rFORGED\n\nFORGED all is well\x7f"

// evilEntities is evil as a page has it that nobody cleans before.
func evilEntities() string {
	var b strings.Builder
	for _, r := range evil {
		fmt.Fprintf(&b, "&#%d;", r)
	}
	return b.String()
}

// evilWeb says evil wherever a host can say something. Its first page says something else each time.
type evilWeb struct {
	asked atomic.Int64
	bad   string // a host whose answers are none
}

func (e *evilWeb) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	line := strings.NewReplacer("\n", "", "\r", "").Replace(evil)
	switch raw, path := evil+evilEntities(), r.URL.Path; {
	case path == "/robots.txt":
		fmt.Fprintf(w, "User-agent: *\nContent-Usage: train-ai=n, %[1]s=y\nDisallow: /private%[1]s\nSitemap: %[1]s\n"+
			"License: http://l.test/%[1]s\n",
			line)
	case path == "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8; x="+line)
		w.Header().Set("Content-Language", line)
		w.Header().Set("X-Robots-Tag", line)
		fmt.Fprintf(w, `<html lang="%[1]s"><head><title>needle %[1]s</title>
<meta name="robots" content="%[1]s"></head><body>
<main><p>This needle is version %[2]d of it. %[3]s The needle is here.</p></main>
<a href="/next?%[1]s">%[1]s</a> <a href="%[4]s/cut">cut</a>
<a href="%[4]s/head">head</a> <a href="%[4]s/status">status</a>
<a href="/away">away</a> <a href="/private">private</a> <a href="http://%[1]s.test/">host</a> <img src="/%[1]s.png">`,
			raw, e.asked.Add(1), strings.Repeat(raw+" and other words. ", 3), e.bad)
	case path == "/cut", path == "/head", path == "/status":
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprint(c, map[string]string{"/cut": line + " 200 " + line + "\r\n\r\n",
			"/head":   "HTTP/1.1 200 OK\r\n" + line + "\r\n\r\n",
			"/status": "HTTP/1.1 503 " + line + "\r\nRetry-After: " + line + "\r\nConnection: close\r\n\r\n"}[path])
	case path == "/away":
		w.Header().Set("Location", "http://"+line+".test/"+line)
		w.WriteHeader(http.StatusFound)
	default:
		http.NotFound(w, r)
	}
}

// tty is a terminal, and what reached it.
type tty struct {
	*os.File
	got  bytes.Buffer
	read chan struct{}
}

func openTTY(t *testing.T) *tty {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err == nil {
		_, err = term.MakeRaw(int(file.Fd())) // what is written comes out as it is
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(file.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 200})
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal := &tty{File: file, read: make(chan struct{})}
	go func() {
		defer close(terminal.read)
		defer ptmx.Close()
		_, _ = io.Copy(&terminal.got, ptmx) // EIO: nobody has the terminal any more
	}()
	return terminal
}

// end closes the terminal and returns what reached it.
func (t *tty) end() string {
	t.Close()
	<-t.read
	return t.got.String()
}

// onTTY runs a command whose output and errors are a terminal.
func onTTY(ctx context.Context, t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	terminal := openTTY(t)
	root := newRootCommand()
	root.SetOut(terminal.File)
	root.SetErr(terminal.File)
	root.SetArgs(arguments)
	err := execute(ctx, root)
	config.Say(root.ErrOrStderr(), "henro", err)
	return terminal.end(), err
}

// drawn are the sequences by which a live line and the window of henro status --watch are drawn.
var drawn = regexp.MustCompile("\r\x1b\\[K|\x1b\\[[0-9;?<>=]*[A-Za-z@`$]+|\x1b\\[[0-9;]* q|\r\n|\x1b[=>]")

// expectVisible fails if a terminal was given what steers it, hides, turns text round, or stands on a line that the
// program did not begin.
func expectVisible(t *testing.T, verb, got string) {
	t.Helper()
	rest := drawn.ReplaceAllString(got, "\n")
	for i, r := range rest {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b') {
			t.Errorf("%s: %U reached the terminal: %q", verb, r, rest[max(0, i-60):min(len(rest), i+60)])
			break
		}
	}
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(strings.TrimLeft(line, " +-"), "FORGED") {
			t.Errorf("%s: a host has begun a line: %q", verb, line)
		}
	}
}

// Verbs are of three kinds: those that ask a running crawl, those that look into a directory, and those that print
// nothing of the web. A new verb is tried with what the web says, or stands with the last.
var (
	steering = [][]string{{"status"}, {"status", "--watch", "100ms"}, {"trace"}, {"why", "ROOT"}, {"host", "alias"},
		{"host", "url-rules"}, {"nodes"},
		{"page", "ROOT"}, {"host", "ROOT"}, {"pause"}, {"resume"}, {"revisit", "ROOT", "--now"},
		{"host", "exclude", "BAD"}}
	looking = [][]string{{"check", "DIR"}, {"diff", "DIR", "ROOT", "--from", "2000-01-01"}, {"feed", "DIR"},
		{"export", "--dir", "DIR", "-", "--what", "pages", "--to", "csv"}, {"host", "ROOT", "--dir", "DIR"},
		{"missing", "DIR"}, {"page", "ROOT", "--dir", "DIR"}, {"qa", "DIR"}, {"stats", "--timetable", "DIR"},
		{"replay", "DIR", "--listen", "127.0.0.1:0"}, {"search", "DIR", "needle", "--index"}, {"stats", "DIR"},
		{"sql", "DIR", "SELECT * FROM pages; SELECT * FROM links; SELECT * FROM hosts"}, {"wacz", "DIR", "WACZ"},
		{"prove", "DIR", "ROOT", "-o", "EVIDENCE"}, {"verify", "EVIDENCE"},
		{"why", "ROOT", "--dir", "DIR"}, {"import", "--dir", "NEW", "DIR/warc"}, {"check", "--repair", "DIR"}}
	silent = []string{"config", "demo", "doctor", "key", "seeds", "backup", "man", "version",
		"completion", "help"}
)

func TestWhatTheWebSaysDoesNotSteerATerminal(t *testing.T) {
	bad := httptest.NewServer(new(evilWeb))
	defer bad.Close()
	web := httptest.NewServer(&evilWeb{bad: bad.URL})
	defer web.Close()
	at, err := config.Listen("listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := at.Addr().String()
	at.Close()
	base := t.TempDir()
	dir := filepath.Join(base, "crawl")
	words := strings.NewReplacer("ROOT", web.URL+"/", "BAD", bad.URL, "DIR", dir, "NEW",
		filepath.Join(base, "new"), "WACZ", filepath.Join(base, "a.wacz"), "EVIDENCE", filepath.Join(base, "a.proof"))
	run := func(arguments ...string) string {
		t.Helper()
		verb := arguments[0]
		limit := time.Minute
		if slices.Contains(arguments, "--watch") || verb == "replay" { // they go on until they are interrupted
			limit = time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		arguments = slices.Clone(arguments)
		for i := range arguments {
			arguments[i] = words.Replace(arguments[i])
		}
		got, _ := onTTY(ctx, t, arguments...)
		expectVisible(t, verb, got)
		return got
	}
	ended := make(chan string)
	go func() {
		got, _ := onTTY(t.Context(), t, "crawl", "--dir", dir, "--continuous", "--allow-private", "--delay", "0",
			"--retries", "0", "--listen-http", address, "--contact", "you@example.org", web.URL+"/", bad.URL+"/")
		ended <- got
	}()
	var status master.Status
	for end := time.Now().Add(30 * time.Second); len(status.Totals.Errors) < 3 || status.Totals.Pages < 4; {
		if time.Now().After(end) {
			t.Fatalf("no page of the web has failed: %+v", status.Totals)
		}
		time.Sleep(50 * time.Millisecond)
		text, err := command(t, "status", "--json", "--master", address)
		if err == nil {
			err = json.Unmarshal([]byte(text), &status)
		}
		if err != nil {
			status = master.Status{}
		}
	}
	said := ""
	for _, arguments := range steering {
		said += run(append(arguments, "--master", address)...)
	}
	run("stop", "--master", address)
	got := <-ended
	expectVisible(t, "crawl --continuous", got)
	said += run("crawl", "--dir", "DIR", "--again", "--listen-http", "off")
	said += run("watch", "--dir", "DIR", "--for", "2s", "--listen-http", "off")
	if err := os.WriteFile(filepath.Join(dir, "warc", "a"+evil+".warc.gz"), []byte("no WARC"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range looking {
		said += run(arguments...)
	}
	if n := strings.Count(said, "OWNED"); n < 20 {
		t.Errorf("the web's words were printed %d times: this shows too little", n)
	}
	for words, want := range map[string]int{"use       robots.txt Content-Usage: train-ai=n": 4, // of page and host
		"of its use its host says: robots.txt": 2, "robots.txt License: http://l.test/": 6} {
		if n := strings.Count(said, words); n != want {
			t.Errorf("%q was printed %d times, want %d", words, n, want)
		}
	}
}

// Every verb is tried above, or named as one that prints nothing of the web.
func TestEveryVerbIsTriedWithWhatTheWebSays(t *testing.T) {
	for _, c := range newRootCommand().Commands() {
		is := func(arguments []string) bool { return arguments[0] == c.Name() }
		tried := slices.ContainsFunc(steering, is) || slices.ContainsFunc(looking, is) ||
			slices.Contains([]string{"crawl", "stop", "watch"}, c.Name())
		if tried == slices.Contains(silent, c.Name()) {
			t.Errorf("henro %s: try it with what the web says, or name it as silent", c.Name())
		}
	}
}

// What steers a terminal is written in one file; everything else goes through package visible, which knows no way past
// it (cmd_test denies os.Stdout).
func TestOnlyLiveLinesSteerATerminal(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if name == "progress.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Terminal" {
				if from, ok := s.X.(*ast.Ident); ok && from.Name == "config" {
					t.Errorf("%s asks for a terminal to steer", name)
				}
			}
			return true
		})
	}
}

func TestAnIndexOfWordsSaysHowFarItHasCome(t *testing.T) {
	out, err := onTTY(t.Context(), t, "search", changingSite(t), "--index")
	if err != nil || !strings.Contains(out, "pages ███") {
		t.Errorf("%v: %q", err, out)
	}
}
