package recall

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"henro/actors/archivist"
	"henro/messages"
	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/slave/fetch"
	"henro/slave/walk"
	"henro/store/archive/cdxj"
	"henro/store/archive/folder"
	"henro/store/archive/warc"
)

const host = "http://a.test"

// left writes a WARC file with these exchanges, as a process that died leaves it once it is repaired.
func left(t *testing.T, path string, exchanges ...*warc.Exchange) {
	t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for _, x := range exchanges {
		data, _ = b.AppendExchange(data, x)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cdxj.IndexFile(path); err != nil {
		t.Fatal(err)
	}
}

// page is an exchange that was made so long ago.
func page(path, status, body string, ago time.Duration) *warc.Exchange {
	head := "HTTP/1.1 " + status + "\r\nContent-Type: text/html\r\n\r\n"
	return &warc.Exchange{URI: host + path, At: time.Now().Add(-ago), Request: []byte("GET / HTTP/1.1\r\n\r\n"),
		Head: []byte(head), Body: []byte(body)}
}

func of(dir string, most int) *Book {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return Of(&archivist.Options{Writer: warc.WriterOptions{Dir: dir, Prefix: "henro"}}, most, logrus.NewEntry(log))
}

// files are those that were repaired.
func files(paths ...string) (repaired []folder.Repaired) {
	for _, path := range paths {
		repaired = append(repaired, folder.Repaired{Repaired: warc.Repaired{Path: path}})
	}
	return append(repaired, folder.Repaired{Err: warc.ErrDamaged})
}

// asked is what a host answers.
func asked() *fetch.Response { return nil }

func visit(path string) *walk.Visit { return &walk.Visit{URL: weburl.MustParse(host + path)} }

// TestWhatIsRecalled: what a process that died left in a file answers what was never visited, once.
func TestWhatIsRecalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "b.warc.gz")
		long := strings.Repeat("words ", 300)
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		if _, err := z.Write([]byte("in a coding")); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		coded := page("/coded", "200 OK", zipped.String(), 0)
		coded.Head = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n")
		later := page("/later", "503 Busy", "", 20*time.Second)
		later.Head = []byte("HTTP/1.1 503 Busy\r\nRetry-After: 90\r\n\r\n")
		original := page("/original", "200 OK", long, time.Hour)
		same := page("/same", "200 OK", long, 0)
		same.Earlier = &warc.Earlier{URI: original.URI, At: original.At}
		lost := page("/lost", "200 OK", long+"more", 0)
		lost.Earlier = &warc.Earlier{URI: host + "/nowhere", At: original.At}
		torn, sent := page("/torn", "200 OK", "not who", 0), page("/sent", "200 OK", "answer", 0)
		torn.Truncated = "length"
		sentAs, err := posted.Make(posted.Request{URL: weburl.MustParse(sent.URI), ContentType: "text/plain",
			Body: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		sent.Extra = []warc.Field{{Name: posted.Field, Value: posted.FieldOf(sentAs.String())}}
		wrong := page("/wrong", "200 OK", "another digest", 0)
		wrong.PayloadDigest = warc.Sum([]byte("x"))
		left(t, filepath.Join(dir, "a.warc.gz"), original, page("/original", "200 OK", "changed since", time.Minute))
		left(t, file, page("/first", "200 OK", "beyond the bound", time.Second),
			page("/", "200 OK", "words", time.Minute), page("/moved", "301 Moved", "", 0),
			page("/none", "404 Not Found", "none", 0), later,
			page("/often", "429 Often", "", 0), page("/robots.txt", "500 Broken", "", 0),
			coded, same, lost, torn, sent, wrong,
			page("/failed", "200 OK", "x", 0), page("/known", "200 OK", "x", 0),
			page("/old", "200 OK", "", within+time.Minute))
		b := of(dir, 12)
		time.AfterFunc(time.Second, func() { b.fill(files("", file)) }) // requests wait for it
		failed, known := visit("/failed"), visit("/known")
		failed.Attempts, known.Task = 1, &messages.Task{CapturedUnix: 7}
		rules := visit("/robots.txt")
		rules.File = new(walk.File)
		var got strings.Builder
		for _, v := range []*walk.Visit{visit("/"), visit("/"), visit("/moved"), visit("/none"), visit("/later"),
			visit("/often"), visit("/coded"), visit("/same"), visit("/lost"), visit("/torn"), visit("/sent"),
			visit("/wrong"), visit("/old"), visit("/first"), visit("/original"), failed, known, rules} {
			r, p := b.Answer(t.Context(), v, asked)
			fmt.Fprintf(&got, "%s:", v.URL.Path())
			if r != nil {
				fact := v.Visited(messages.Reason_NONE)
				p.Tell(fact, r, nil)
				fmt.Fprintf(&got, " %d %s %.11q of %d, %v ago, in %s, identical %d, unasked %v", r.Status,
					r.Header.Get("Content-Type"), r.Body, len(r.Body), time.Since(time.Unix(fact.CapturedUnix, 0)),
					fact.WarcFile, fact.IdenticalBytes, fact.Unasked)
				if r.RetryAfter > 0 {
					fmt.Fprintf(&got, ", to rest for %v more", r.RetryAfter)
				}
				if fact.WarcOffset != uint64(p.Offset) || fact.WarcBytes != uint64(p.Length) || p.Length == 0 {
					t.Errorf("%s: told %+v of %+v", v.URL, fact, p)
				}
			}
			got.WriteByte('\n')
		}
		const want = `/: 200 text/html "words" of 5, 1m1s ago, in b.warc.gz, identical 0, unasked true
/:
/moved: 301 text/html "" of 0, 1s ago, in b.warc.gz, identical 0, unasked true
/none: 404 text/html "none" of 4, 1s ago, in b.warc.gz, identical 0, unasked true
/later: 503  "" of 0, 21s ago, in b.warc.gz, identical 0, unasked false, to rest for 1m9s more
/often: 429 text/html "" of 0, 1s ago, in b.warc.gz, identical 0, unasked false
/coded: 200 text/html "in a coding" of 11, 1s ago, in b.warc.gz, identical 0, unasked true
/same: 200 text/html "words words" of 1800, 1s ago, in b.warc.gz, identical 1800, unasked true
/lost:
/torn:
/sent:
/wrong:
/old:
/first:
/original:
/failed:
/known:
/robots.txt:
`
		if got.String() != want {
			t.Errorf("%s\nwant\n%s", got.String(), want)
		}
		(*Place)(nil).Tell(nil, nil, nil)
	})
}

// TestAProcessThatDiesSoonLosesNothing: what the one before it had left open, and which it did not come to ask for,
// answers the next one too, for a few minutes.
func TestAProcessThatDiesSoonLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a, c := filepath.Join(dir, "a.warc.gz"), filepath.Join(dir, "c.warc.gz")
		left(t, a, page("/", "200 OK", "words", 0), page("/two", "200 OK", "words", 0))
		left(t, c, page("/three", "200 OK", "words", 0))
		noted := func(want string) {
			t.Helper()
			if data, _ := os.ReadFile(filepath.Join(dir, ".henro.left")); string(data) != want {
				t.Errorf("noted %q; want %q", data, want)
			}
		}
		answers := func(b *Book, path string, want bool) {
			t.Helper()
			if r, _ := b.Answer(t.Context(), visit(path), asked); (r != nil) != want {
				t.Errorf("%s is answered: %v", path, !want)
			}
		}
		for _, path := range []string{a, c} { // by the clock of the bubble
			if err := os.Chtimes(cdxj.Path(path), time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		first := of(dir, 10)
		first.fill(files(a))
		answers(first, "/", true)
		first.fill(files(c)) // the disk was full meanwhile
		answers(first, "/", false)
		answers(first, "/three", true)
		noted("a.warc.gz\nc.warc.gz\n")
		time.Sleep(within / 2)
		next := of(dir, 10)
		next.fill(nil)
		answers(next, "/two", true)
		noted("a.warc.gz\nc.warc.gz\n")
		if err := os.Remove(cdxj.Path(c)); err != nil { // moved into a bucket
			t.Fatal(err)
		}
		of(dir, 10).fill(nil)
		noted("a.warc.gz\n")
		time.Sleep(within/2 + time.Second)
		last := of(dir, 10)
		last.fill(nil)
		answers(last, "/two", false)
		noted("")
		if _, err := os.Stat(filepath.Join(dir, ".henro.left")); err == nil {
			t.Error("a file without names is left")
		}
	})
}

// TestNothingIsWaitedForForLong: not for an archive that is not repaired, nor for what was archived long ago.
func TestNothingIsWaitedForForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "a.warc.gz")
		left(t, file, page("/", "200 OK", "words", 0), page("/two", "200 OK", "words", 0))
		b := of(dir, 10)
		if r, _ := b.Answer(t.Context(), visit("/"), asked); r != nil || time.Since(b.began) != patience {
			t.Errorf("%v after %v", r, time.Since(b.began))
		}
		b.fill(files(file))
		b.fill(nil)
		if r, _ := b.Answer(t.Context(), visit("/"), asked); r == nil {
			t.Error("it is not recalled")
		}
		time.Sleep(within)
		if r, _ := b.Answer(t.Context(), visit("/two"), asked); r != nil {
			t.Error("it is recalled after so long")
		}
		if r, _ := (*Book)(nil).Answer(t.Context(), visit("/"), asked); r != nil {
			t.Error("no book has something")
		}
	})
}
