package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestBrokenLinksAreListed(t *testing.T) {
	mended := false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, `<a href="/one">one</a>`)
		case r.URL.Path == "/one" && mended:
			io.WriteString(w, "here it is")
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	var out bytes.Buffer
	check := func() error { return run(t.Context(), &out, []string{"-local", "-dir", t.TempDir(), web.URL + "/"}) }
	if err := check(); !errors.Is(err, errBroken) ||
		!strings.Contains(out.String(), "HTTP 404: "+web.URL+"/ links to "+web.URL+"/one \"one\"\n") {
		t.Errorf("%v\n%s", err, &out)
	}
	mended = true
	out.Reset()
	if err := check(); err != nil || !strings.Contains(out.String(), ", 0 broken") {
		t.Errorf("%v\n%s", err, &out)
	}
}
