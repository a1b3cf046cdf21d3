package embedded_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/scope"
	"henro/cmd/embedded/crawltest"
	"henro/master"
	"henro/master/window"
	"henro/messages"
	"henro/slave"
	"henro/slave/botauth"
	"henro/slave/cookies"
	"henro/store"
)

// membersSite wants a login by cookie, gives another cookie with every page, and takes none twice; what lies in
// /private/ wants a password. Its pages are linked in a row.
type membersSite struct {
	mu      sync.Mutex
	session int
	pages   map[string]int
	refused int
	strange []string // secrets that came to another host
}

func (m *membersSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Host != "members.example" {
		if s := r.Header.Get("Cookie") + r.Header.Get("Authorization") + r.Header.Get("X-Member"); s != "" {
			m.strange = append(m.strange, s)
		}
		http.SetCookie(w, &http.Cookie{Name: "tracker", Value: "1", Path: "/"})
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<a href="/again">again</a>`)
		return
	}
	if r.URL.Path == "/robots.txt" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	name, password, _ := r.BasicAuth()
	private := strings.HasPrefix(r.URL.Path, "/private/")
	if c, err := r.Cookie("session"); err != nil || c.Value != "s3ss10n-"+strconv.Itoa(m.session) ||
		r.Header.Get("X-Member") != "memb3r" || private != (name == "me" && password == "p4ssword") {
		m.refused++
		w.WriteHeader(http.StatusForbidden)
		return
	}
	m.session++
	http.SetCookie(w, &http.Cookie{Name: "session", Value: "s3ss10n-" + strconv.Itoa(m.session), Path: "/",
		MaxAge: 3600})
	m.pages[r.URL.Path]++
	w.Header().Set("Content-Type", "text/html")
	n, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/privat"))
	fmt.Fprintf(w, `<a href="/private/%d">in</a> <a href="/%d">on</a> <a href="http://others.example/">others</a>`, n,
		n+1)
}

// A login lasts over leases and a restart, goes to no other host, and stands in no file that is shown to others.
func TestALoginLastsAndStaysSecret(t *testing.T) {
	dir := t.TempDir()
	site := &membersSite{pages: map[string]int{}}
	synctest.Test(t, func(t *testing.T) {
		run := func(pages uint64) {
			e := crawltest.At(t, dir, site, func(o *master.Options) {
				o.Depth, o.Scope.Mode, o.MaxPages, o.Hosts.PageBudget = 12, scope.Any, pages, 3
				o.Fetch.Headers = []*messages.Header{
					{Prefix: "http://members.example/private/", Name: "Authorization",
						Value: "Basic " + base64.StdEncoding.EncodeToString([]byte("me:p4ssword"))},
					{Prefix: "http://members.example/", Name: "X-Member", Value: "memb3r"},
				}
				o.Fetch.CookieFile = []byte("members.example\tFALSE\t/\tFALSE\t0\tsession\ts3ss10n-0\n")
			}, "http://members.example/0")
			crawltest.Run(t, e)
		}
		run(7)
		before := len(site.pages)
		run(0)
		if before < 3 || len(site.pages) != 25 || site.refused > 0 || len(site.strange) > 0 {
			t.Errorf("%d and then %d pages, %d were refused; others got %q", before, len(site.pages), site.refused,
				site.strange)
		}
	})
	secrets := []string{"p4ssword", "memb3r", base64.StdEncoding.EncodeToString([]byte("me:p4ssword"))}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(path, "/state/") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".gz") {
			in, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				return err
			}
			if text, err = io.ReadAll(in); err != nil {
				return err
			}
			seen += bytes.Count(text, []byte("\r\nX-Member: redacted\r\n"))
			if bytes.Contains(text, []byte("\r\nCookie: session=")) {
				t.Errorf("%s: a request record has its cookie", path)
			}
		}
		for _, secret := range secrets {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds %q", path, secret)
			}
		}
		return nil
	})
	if err != nil || seen < 25 {
		t.Errorf("%d request records say what was left out, %v", seen, err)
	}
	o := store.DefaultOptions()
	o.Partitions, o.ReadOnly = 0, true
	state, err := store.OpenState(filepath.Join(dir, "state"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	kept := 0
	for _, p := range state.Partitions {
		hosts, err := p.Hosts.List(0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hosts {
			if len(h.Cookies) > cookies.MaxKept || len(h.Cookies) > 0 && h.Name != "http://members.example" {
				t.Errorf("%s keeps %q", h.Name, h.Cookies)
			}
			kept += len(h.Cookies)
		}
	}
	if kept == 0 {
		t.Error("no host keeps its cookies")
	}
}

// A crawl with hours asks for nothing outside of them, and goes on when they come again.
func TestACrawlKeepsItsHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins on 2000-01-01, a Saturday, at midnight UTC
		var mu sync.Mutex
		var asked []time.Time
		site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, time.Now())
			mu.Unlock()
			if r.URL.Path == "/robots.txt" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			for n := range 200 {
				fmt.Fprintf(w, `<a href="/%d">page</a>`, n)
			}
		})
		var hours window.Hours
		for _, text := range []string{"Sat 10:00-10:20 Asia/Tokyo", "daily 04:00-04:20 UTC"} {
			w, err := window.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			hours = append(hours, w)
		}
		e := crawltest.At(t, t.TempDir(), site, func(o *master.Options) {
			o.Hours, o.StallAfter = hours, time.Minute
			o.Hosts.Politeness.Floor = 10 * time.Second
		}, "http://a.example/0")
		e.Adjust = func(o *slave.Options) { o.AskEvery = time.Second }
		var closed master.Status
		status, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
			time.Sleep(30 * time.Minute)
			closed = *crawltest.Ask(t, ctx, node, &master.StatusAsked{})
			<-ctx.Done()
			return nil
		})
		if err != nil || status.End != master.Finished {
			t.Fatalf("%s, %v", status.End, err)
		}
		opens := time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)
		if closed.State != master.Closed || !closed.Opens.Equal(opens) || !closed.Stalled.IsZero() {
			t.Errorf("outside the hours: %s until %v, %v", closed.State, closed.Opens, closed.Stalled)
		}
		spans := map[int]int{}
		for _, at := range asked {
			if !hours.Open(at) {
				t.Errorf("asked at %v", at)
			}
			spans[at.UTC().Hour()]++
		}
		// twenty minutes of a request each ten seconds, and what is left three hours later
		if len(asked) != 201 || spans[1] < 115 || spans[4] < 80 {
			t.Errorf("%d requests, by the hour %v", len(asked), spans)
		}
	})
}

// Every request of a crawl, that for robots.txt too, has a signature of its own, which holds by the key that the
// directory names; the archive has it as it was sent.
func TestRequestsAreSigned(t *testing.T) {
	dir := t.TempDir()
	key, err := botauth.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	signer, err := botauth.New(key, "")
	if err != nil {
		t.Fatal(err)
	}
	var directory struct{ Keys []struct{ Kid, X string } }
	if err := json.Unmarshal(signer.Directory(), &directory); err != nil {
		t.Fatal(err)
	}
	public, err := base64.RawURLEncoding.DecodeString(directory.Keys[0].X)
	if err != nil {
		t.Fatal(err)
	}
	signed := regexp.MustCompile(`^sig1=(\("@authority" "signature-agent";key="sig1"\);created=\d+;keyid="` +
		directory.Keys[0].Kid + `";alg="ed25519";expires=\d+;nonce="([\w-]{86})";tag="web-bot-auth")$`)
	var mu sync.Mutex
	nonces, sent := map[string]bool{}, ""
	synctest.Test(t, func(t *testing.T) {
		crawltest.Run(t, crawltest.At(t, dir, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			sent = r.Header.Get("Signature")
			input := signed.FindStringSubmatch(r.Header.Get("Signature-Input"))
			signature, err := base64.StdEncoding.DecodeString(strings.Trim(strings.TrimPrefix(sent, "sig1="), ":"))
			if err != nil || input == nil || r.Header.Get("Signature-Agent") != `sig1="https://bot.example.org"` ||
				!ed25519.Verify(public, []byte("\"@authority\": "+r.Host+"\n\"signature-agent\";key=\"sig1\": "+
					"\"https://bot.example.org\"\n\"@signature-params\": "+input[1]), signature) {
				t.Errorf("%s %s: %q, %v", r.Host, r.URL, r.Header, err)
				return
			}
			if nonces[input[2]] {
				t.Errorf("%s: a nonce came twice", r.URL)
			}
			nonces[input[2]] = true
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, `<a href="/a">a</a> <a href="/b">b</a>`)
		}), func(o *master.Options) {
			o.Depth, o.Fetch.BotKey, o.Fetch.BotAgent = 2, key, "https://bot.example.org"
		}, "http://site.example:8080/"))
	})
	if len(nonces) != 4 {
		t.Errorf("%d requests were signed, want 4", len(nonces))
	}
	if all := warcText(t, dir); !strings.Contains(all, "\r\nSignature: "+sent+"\r\n") {
		t.Error("the archive has not the signature of the last request")
	}
}

// warcText is what the WARC files of a crawl hold.
func warcText(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	files, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		in, err := gzip.NewReader(f)
		if err == nil {
			_, err = io.Copy(&all, in)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// A crawl that is over before the Master looks for the first time has a pace all the same: of what was there before.
func TestAShortCrawlHasAPace(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Millisecond)
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, `<a href="/a">a</a>`)
		})
		status := crawltest.Run(t, crawltest.At(t, dir, site, func(o *master.Options) {
			o.Depth, o.Hosts.Politeness.Floor = 2, 0
		}, "http://site.example/"))
		if want := float64(status.Totals.Pages) / status.Seconds; status.Totals.Pages != 2 || status.PerSecond != want {
			t.Errorf("%d pages in %v s are %v a second, want %v", status.Totals.Pages, status.Seconds, status.PerSecond,
				want)
		}
	})
}
