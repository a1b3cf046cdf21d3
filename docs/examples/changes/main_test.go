package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOnlyWhatHasChangedIsListed(t *testing.T) {
	version := "1"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			io.WriteString(w, `<a href="/news">news</a>`)
		case "/news":
			io.WriteString(w, version)
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	dir := t.TempDir()
	for _, step := range []struct{ version, want string }{
		{"1", "all"}, {"1", ""}, {"2", web.URL + "/news\n"},
	} {
		version = step.version
		var out bytes.Buffer
		if err := run(t.Context(), &out, []string{"-local", "-dir", dir, web.URL + "/"}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != step.want && (step.want != "all" || len(got) == 0) {
			t.Errorf("version %s: %q, want %q", step.version, got, step.want)
		}
	}
}
