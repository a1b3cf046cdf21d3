package collect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"henro/actors/collect"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

func quiet() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return logrus.NewEntry(log)
}

// finished writes a finished file of some kB with its index.
func finished(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for i := range 20 {
		data = b.Append(data, &warc.Record{Type: warc.Resource, Date: time.Unix(1773489600, 0),
			TargetURI: fmt.Sprintf("http://docs.test/%s/%d", name, i), ContentType: "text/plain", Head: []byte("page")})
	}
	path := filepath.Join(dir, name)
	if err := errors.Join(os.WriteFile(path, data, 0o600), cdxj.IndexFile(path)); err != nil {
		t.Fatal(err)
	}
	return data
}

// faulty is a network on which the at-th event is a fault: a request that does not arrive, one of which half arrives,
// or an answer that does not come back.
type faulty struct {
	to    http.Handler
	at, n int
}

var errFault = errors.New("the line is dead")

func (f *faulty) fault() bool {
	f.n++
	return f.n == f.at
}

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.fault() {
		return nil, errFault
	}
	arrived := httptest.NewRequest(r.Method, r.URL.String(), r.Body)
	if r.Body != nil && f.fault() {
		arrived.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, r.ContentLength/2), broken{}))
		f.to.ServeHTTP(httptest.NewRecorder(), arrived)
		return nil, errFault
	}
	w := httptest.NewRecorder()
	f.to.ServeHTTP(w, arrived)
	if f.fault() {
		return nil, errFault
	}
	return w.Result(), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errFault }

func sender(t *testing.T, dir string, line http.RoundTripper, change func(*collect.SenderOptions)) *collect.Sender {
	t.Helper()
	o := collect.DefaultSenderOptions()
	post, err := collect.NewPost("http://receiver.test", &http.Client{Transport: line})
	if err != nil {
		t.Fatal(err)
	}
	post.Piece = 300
	o.Dir, o.Prefix, o.Place = dir, "henro", post
	if change != nil {
		change(&o)
	}
	s, err := collect.NewSender(o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAFileIsThereBeforeItIsGoneHere breaks the line at each event in turn, both sides being started anew after it as a
// kill would have it, and looks after every step whether the file is whole on one side at least.
func TestAFileIsThereBeforeItIsGoneHere(t *testing.T) {
	faults := 0
	for at := 1; ; at++ {
		from, to := t.TempDir(), t.TempDir()
		const name = "henro-1.warc.gz"
		data := finished(t, from, name)
		line := &faulty{at: at}
		for pass := 0; ; pass++ {
			receiver, err := collect.NewReceiver(to, quiet())
			if err != nil {
				t.Fatal(err)
			}
			line.to = receiver
			n, err := sender(t, from, line, nil).Pass(t.Context())
			here, _ := os.ReadFile(filepath.Join(from, name))
			there, _ := os.ReadFile(filepath.Join(to, name))
			if !bytes.Equal(here, data) && !bytes.Equal(there, data) {
				t.Fatalf("fault %d, pass %d: the file is whole nowhere", at, pass)
			}
			if e := receiver.Close(); e != nil {
				t.Fatal(e)
			}
			if err == nil && n == 1 {
				break
			}
			if pass > 0 {
				t.Fatalf("fault %d, pass %d: %d sent, %v", at, pass, n, err)
			}
		}
		left, _ := os.ReadDir(from)
		got, _ := os.ReadDir(to)
		var names []string
		for _, e := range got {
			names = append(names, e.Name())
		}
		if len(left) != 0 || strings.Join(names, " ") != ".collect.lock henro-1.cdxj "+name {
			t.Fatalf("fault %d: %d files left here, there are %v", at, len(left), names)
		}
		if line.n < at {
			faults = at - 1
			break
		}
	}
	if faults < 20 {
		t.Errorf("only %d faults were tried", faults)
	}
}

// TestWhatTheDiskGivesBackCounts has a receiver whose part was damaged while the sender was away.
func TestWhatTheDiskGivesBackCounts(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	data := finished(t, from, "henro-1.warc.gz")
	spoilt := bytes.Clone(data[:500])
	spoilt[100] ^= 1
	if err := os.WriteFile(filepath.Join(to, "henro-1.warc.gz.part"), spoilt, 0o600); err != nil {
		t.Fatal(err)
	}
	receiver, err := collect.NewReceiver(to, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	if n, err := sender(t, from, &faulty{to: receiver}, nil).Pass(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if got, err := os.ReadFile(filepath.Join(to, "henro-1.warc.gz")); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestWhatIsNotTakenStaysHere(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	finished(t, from, "henro-1.warc.gz")
	finished(t, from, "henro-2.warc.gz")
	finished(t, from, "other-1.warc.gz")
	if err := os.WriteFile(filepath.Join(from, "henro-3.warc.gz"), []byte("no index yet"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "henro-1.warc.gz"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	receiver, err := collect.NewReceiver(to, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	if _, err := collect.NewReceiver(to, quiet()); !errors.Is(err, collect.ErrInUse) {
		t.Errorf("a second receiver: %v", err)
	}
	n, err := sender(t, from, &faulty{to: receiver}, nil).Pass(t.Context())
	if n != 1 || !errors.Is(err, collect.ErrConflict) {
		t.Errorf("%d sent, %v", n, err)
	}
	for name, want := range map[string]bool{"henro-1.warc.gz": true, "henro-2.warc.gz": false, "henro-3.warc.gz": true,
		"other-1.warc.gz": true} {
		if _, err := os.Stat(filepath.Join(from, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, target := range []string{"/files/../x.warc.gz", "/files/.x.warc.gz", "/files/x.txt", "/files/a%2Fb.warc",
		"/", "/files/" + strings.Repeat("x", 300) + ".warc"} {
		w := httptest.NewRecorder()
		receiver.ServeHTTP(w, httptest.NewRequest(http.MethodPut,
			target+"?offset=0&size=1&sha256="+strings.Repeat("0", 64), strings.NewReader("x")))
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sender(t, from, &faulty{to: receiver}, nil).Run(ctx) // returns
}

func TestOptionsAreChecked(t *testing.T) {
	for sentence, change := range map[string]func(*collect.SenderOptions){
		"no folder":  func(o *collect.SenderOptions) { o.Dir = "" },
		"no prefix":  func(o *collect.SenderOptions) { o.Prefix = "" },
		"no place":   func(o *collect.SenderOptions) { o.Place = nil },
		"short rest": func(o *collect.SenderOptions) { o.RetryMax = 0 },
	} {
		o := collect.DefaultSenderOptions()
		o.Dir, o.Prefix, o.Place = "x", "henro", &collect.Post{}
		change(&o)
		if _, err := collect.NewSender(o, quiet()); err == nil {
			t.Errorf("%s is taken", sentence)
		}
	}
	for _, to := range []string{"receiver:7783", "ftp://receiver", "https://"} {
		if _, err := collect.NewPost(to, http.DefaultClient); err == nil {
			t.Errorf("%s is taken", to)
		}
	}
}

type line func(*http.Request) (*http.Response, error)

func (l line) RoundTrip(r *http.Request) (*http.Response, error) { return l(r) }

// What answers at the receiver's address may be somebody else: it sends neither requests nor files to a third.
func TestARedirectIsNoReceiver(t *testing.T) {
	var asked []string
	post, err := collect.NewPost("http://receiver.test", &http.Client{Transport: line(
		func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.Host)
			w := httptest.NewRecorder()
			http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusTemporaryRedirect)
			return w.Result(), nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	err = post.Bring(t.Context(), &collect.File{Name: "a.warc", SHA256: "0"})
	if err == nil || len(asked) != 1 || asked[0] != "receiver.test" {
		t.Errorf("%v, asked %q", err, asked)
	}
}

type anywhere struct{}

func (anywhere) Bring(context.Context, *collect.File) error { return nil }

// TestNoIndexIsLeftOfAFileThatWasCollected has the start of an Archivist index a file that is just being collected.
func TestNoIndexIsLeftOfAFileThatWasCollected(t *testing.T) {
	for range 20 {
		from := t.TempDir()
		finished(t, from, "henro-1.warc.gz")
		path := filepath.Join(from, "henro-1.warc.gz")
		indexed := make(chan error)
		go func() { indexed <- cdxj.IndexFile(path) }()
		pass := sender(t, from, nil, func(o *collect.SenderOptions) { o.Place = anywhere{} })
		if n, err := pass.Pass(t.Context()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if err := <-indexed; err != nil && !errors.Is(err, os.ErrNotExist) { // it came too late
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(from, "*")); len(left) != 0 {
			t.Fatalf("left: %v", left)
		}
	}
}
