package fields

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// A player moves within what was archived as a whole: a part of it is asked for, and comes as a part.
func TestAPartOfABodyIsAnswered(t *testing.T) {
	const whole = "0123456789"
	for _, c := range []struct {
		name, method, asked, length string
		status, want                int
		body, of                    string
	}{
		{"the whole", "GET", "", "10", 200, 200, whole, ""},
		{"from the start", "GET", "bytes=0-", "10", 200, 206, whole, "bytes 0-9/10"},
		{"in the middle", "GET", "bytes=3-5", "10", 200, 206, "345", "bytes 3-5/10"},
		{"the end", "GET", "bytes=-2", "10", 200, 206, "89", "bytes 8-9/10"},
		{"behind the end", "GET", "bytes=10-", "10", 200, 416, "", "bytes */10"},
		{"several", "GET", "bytes=0-1,3-4", "10", 200, 200, whole, ""},
		{"of what length is not known", "GET", "bytes=3-5", "", 200, 200, whole, ""},
		{"of a page that was not found", "GET", "bytes=3-5", "10", 404, 404, whole, ""},
		{"nothing to HEAD", "HEAD", "", "10", 200, 200, "", ""},
		{"nothing of a part to HEAD", "HEAD", "bytes=3-5", "10", 200, 206, "", "bytes 3-5/10"},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(c.method, "/", http.NoBody)
		if c.asked != "" {
			r.Header.Set("Range", c.asked)
		}
		w.Header().Set("Content-Type", "audio/wav")
		if c.length != "" {
			w.Header().Set("Content-Length", c.length)
		}
		err := Body(w, r, c.status, iotest.OneByteReader(strings.NewReader(whole)))
		body, of := w.Body.String(), w.Header().Get("Content-Range")
		if c.want == 416 {
			body = ""
		}
		if err != nil || w.Code != c.want || body != c.body || of != c.of {
			t.Errorf("%s: %v, status %d, %q, %q", c.name, err, w.Code, body, of)
		}
	}
}

// What is shorter than it was said to be is said.
func TestABodyThatEndsEarlyIsAnError(t *testing.T) {
	cut := errors.New("cut off")
	for _, asked := range []string{"", "bytes=3-"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", http.NoBody)
		r.Header.Set("Range", asked)
		w.Header().Set("Content-Length", "10")
		w.Header().Set("Content-Type", "audio/wav")
		err := Body(w, r, 200, io.MultiReader(strings.NewReader("01234"), iotest.ErrReader(cut)))
		if !errors.Is(err, cut) {
			t.Errorf("%q: %v", asked, err)
		}
	}
}
