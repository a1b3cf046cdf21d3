package collect_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"henro/actors/collect"
)

// timed is an answer whose reader's deadline is seen.
type timed struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (w *timed) SetReadDeadline(at time.Time) error {
	w.until = at
	return nil
}

// TestALyingSenderChangesNothing sends what no slave sends, and looks at what then lies in the folder.
func TestALyingSenderChangesNothing(t *testing.T) {
	const name = "henro-1.warc.gz"
	sum := func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
	query := func(offset, size any, sum string) string {
		return fmt.Sprintf("?offset=%v&size=%v&sha256=%s", offset, size, sum)
	}
	for sentence, c := range map[string]struct {
		there       map[string]string // files before
		query, body string
		field       string // of the request
		status      int
		left        map[string]string // files after
	}{
		"a page of the web sends": {query: query(0, 4, sum("page")), body: "page", field: "Origin", status: 403},
		"a browser sends, without an origin": {query: query(0, 4, sum("page")), body: "page", field: "Sec-Fetch-Site",
			status: 403},
		"no offset":             {query: query("", 4, sum("page")), body: "page", status: 400},
		"no size":               {query: query(0, "x", sum("page")), body: "page", status: 400},
		"an offset before all":  {query: query(-1, 4, sum("page")), body: "page", status: 400},
		"a size below the part": {query: query(5, 4, sum("page")), body: "page", status: 400},
		"half of a digest":      {query: query(0, 4, sum("page")[:32]), body: "page", status: 400},
		"a piece behind a gap": {query: query(4, 8, sum("pagepage")), body: "page", status: 409,
			left: map[string]string{name + ".part": ""}},
		"a piece over what is there": {there: map[string]string{name + ".part": "page"},
			query: query(0, 8, sum("mine")), body: "mine", status: 409,
			left: map[string]string{name + ".part": "page"}},
		"more than its size": {query: query(0, 4, sum("page")), body: "page" + strings.Repeat("x", 1000), status: 200,
			left: map[string]string{name: "page", "henro-1.cdxj": ""}},
		"more than its size in a part": {query: query(0, 2000, sum("page")), body: strings.Repeat("x", 1000),
			status: 200, left: map[string]string{name + ".part": strings.Repeat("x", 1000)}},
		"another content than its digest": {query: query(0, 4, sum("page")), body: "mine", status: 422},
		"a file that is there": {there: map[string]string{name: "page", "henro-1.cdxj": ""},
			query: query(0, 4, sum("mine")), body: "mine", status: 200,
			left: map[string]string{name: "page", "henro-1.cdxj": ""}},
	} {
		dir := t.TempDir()
		for file, content := range c.there {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		receiver, err := collect.NewReceiver(dir, quiet())
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPut, "/files/"+name+c.query, strings.NewReader(c.body))
		if c.field != "" {
			r.Header.Set(c.field, "cross-site")
		}
		w := httptest.NewRecorder()
		if receiver.ServeHTTP(w, r); w.Code != c.status {
			t.Errorf("%s: %d %s, want %d", sentence, w.Code, w.Body, c.status)
		}
		left := map[string]string{}
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if e.Name() != ".collect.lock" {
				b, _ := os.ReadFile(filepath.Join(dir, e.Name()))
				left[e.Name()] = string(b)
			}
		}
		if err != nil || fmt.Sprint(left) != fmt.Sprint(c.left) {
			t.Errorf("%s: %v are left, want %v, %v", sentence, left, c.left, err)
		}
		if err := receiver.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFileThatCannotBeLookedAtIsNotWrittenOver: nor is it taken for one that is not there.
func TestAFileThatCannotBeLookedAtIsNotWrittenOver(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "henro-1.warc.gz")
	if err := os.Symlink(filepath.Base(path), path); err != nil { // it leads to itself
		if runtime.GOOS == "windows" {
			return // where only an administrator may make one
		}
		t.Fatal(err)
	}
	receiver, err := collect.NewReceiver(dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	whole := fmt.Sprintf("?offset=0&size=4&sha256=%x", sha256.Sum256([]byte("page")))
	for method, query := range map[string]string{http.MethodGet: "", http.MethodPut: whole} {
		w := httptest.NewRecorder()
		receiver.ServeHTTP(w, httptest.NewRequest(method, "/files/henro-1.warc.gz"+query, strings.NewReader("page")))
		if _, err := os.Readlink(path); w.Code != http.StatusInternalServerError || err != nil {
			t.Errorf("%s: %d %s, %v", method, w.Code, w.Body, err)
		}
	}
}

// TestOnePieceOfAFileAtATime: while one request is at a file, no other is, and its piece has a deadline.
func TestOnePieceOfAFileAtATime(t *testing.T) {
	receiver, err := collect.NewReceiver(t.TempDir(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	const target = "/files/henro-1.warc.gz?offset=0&size=8&sha256="
	digest := strings.Repeat("0", 64)
	slow, write := io.Pipe()
	first, done := &timed{ResponseRecorder: httptest.NewRecorder()}, make(chan struct{})
	begin := time.Now()
	go func() {
		defer close(done)
		receiver.ServeHTTP(first, httptest.NewRequest(http.MethodPut, target+digest, slow))
	}()
	if _, err := write.Write([]byte("page")); err != nil { // it is being read
		t.Fatal(err)
	}
	second := httptest.NewRecorder()
	receiver.ServeHTTP(second, httptest.NewRequest(http.MethodPut, target+digest, strings.NewReader("other")))
	if second.Code != http.StatusLocked {
		t.Errorf("a second piece at the same time: %d %s", second.Code, second.Body)
	}
	if err := write.CloseWithError(errFault); err != nil {
		t.Fatal(err)
	}
	<-done
	if wait := first.until.Sub(begin); wait <= 0 || wait > 5*time.Minute {
		t.Errorf("the reader of a piece waits for %v", wait)
	}
	if first.Code != http.StatusInternalServerError {
		t.Errorf("a piece that broke: %d", first.Code)
	}
	third := httptest.NewRecorder()
	receiver.ServeHTTP(third, httptest.NewRequest(http.MethodGet, "/files/henro-1.warc.gz", nil))
	var state collect.State
	if err := json.NewDecoder(third.Body).Decode(&state); err != nil || state.Size != 4 {
		t.Errorf("after it broke: %+v, %v", state, err)
	}
}

// spaces is an answer without an end, of which is counted how much was read.
type spaces struct{ read int }

func (s *spaces) Read(p []byte) (int, error) {
	if s.read > 1<<22 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = ' '
	}
	s.read += len(p)
	return len(p), nil
}

func (*spaces) Close() error { return nil }

// TestALyingReceiverGetsNoFileRemoved: whatever answers at the receiver's address, Bring ends, and with an error
// unless the file is there.
func TestALyingReceiverGetsNoFileRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "henro-1.warc.gz")
	if err := os.WriteFile(path, []byte("page"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte("page")))
	file := &collect.File{ReaderAt: f, Name: "henro-1.warc.gz", Size: 4, SHA256: digest}
	whole, nothing := collect.State{Size: 4, Whole: true, SHA256: digest}, collect.State{}
	for sentence, c := range map[string]struct {
		get, put collect.State
		status   int
		want     error // nil: any
		requests int   // at most
	}{
		"it has more than there is": {get: collect.State{Size: 1 << 40}, status: 200,
			want: collect.ErrConflict, requests: 1},
		"it never gets further": {get: nothing, put: nothing, status: 200,
			want: collect.ErrDigest, requests: 5},
		"it has another content": {get: collect.State{Size: 4, Whole: true, SHA256: "0"},
			status: 200, want: collect.ErrConflict, requests: 1},
		"it is whole only in what is said":    {get: nothing, put: whole, status: 200, requests: 3},
		"it is whole, and fails at that":      {get: whole, status: 500, requests: 1},
		"it is another program with an error": {get: whole, status: 404, requests: 1},
	} {
		n := 0
		post, err := collect.NewPost("http://receiver.test", &http.Client{Transport: line(
			func(r *http.Request) (*http.Response, error) {
				if n++; n > 20 {
					return nil, errFault
				}
				if until, ok := r.Context().Deadline(); !ok || time.Until(until) > 10*time.Minute {
					t.Errorf("%s: the request may take until %v", sentence, until)
				}
				state := c.get
				if r.Method == http.MethodPut {
					state = c.put
				}
				b, err := json.Marshal(state)
				return &http.Response{StatusCode: c.status, Body: io.NopCloser(bytes.NewReader(b))}, err
			})})
		if err != nil {
			t.Fatal(err)
		}
		err = post.Bring(t.Context(), file)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || n > c.requests {
			t.Errorf("%s: %v after %d requests", sentence, err, n)
		}
	}
	endless := &spaces{}
	post, err := collect.NewPost("http://receiver.test", &http.Client{Transport: line(
		func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: endless}, nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	if err := post.Bring(t.Context(), file); err == nil || endless.read > 1<<20 {
		t.Errorf("an answer without an end: %v, %d bytes were read", err, endless.read)
	}
}
