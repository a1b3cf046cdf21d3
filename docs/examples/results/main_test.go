package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"henro"
)

func TestTitlesAreListed(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title> Fish &amp; chips\n</title>")
	}))
	defer web.Close()
	dir := t.TempDir()
	if _, err := henro.Crawl(t.Context(), henro.Options{Dir: dir, Seeds: []string{web.URL + "/"},
		Settings: map[string]any{"allow-private": true, "delay": "0s"}}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(&out, []string{dir}); err != nil || out.String() != web.URL+"/\tFish & chips\n" {
		t.Errorf("it lists %q, %v", &out, err)
	}
	if run(&out, nil) == nil {
		t.Error("no directory is no mistake")
	}
}
