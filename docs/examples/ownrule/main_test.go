package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestPagesWithAQueryAreVisitedFromTheFrontPageOnly(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, `<a href="/list">list</a><a href="?page=1">1</a>`) // another page below each
	}))
	defer web.Close()
	var out bytes.Buffer
	if err := run(t.Context(), &out, []string{"-local", "-dir", t.TempDir(), web.URL + "/"}); err != nil {
		t.Fatal(err)
	}
	want := "3 pages, ended: finished, links not taken: {\"own rule\":1}\n"
	if out.String() != want {
		t.Errorf("it says %q, want %q", &out, want)
	}
}
