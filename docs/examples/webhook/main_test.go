package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Each line is posted once, signed, in order, over an answer that is none and over a restart; one that is not whole
// waits.
func TestChangesArePosted(t *testing.T) {
	dir := t.TempDir()
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte("a secret of more than 24 bytes"))
	verify, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	var got []string
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop, want := cancel, 2
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if err := verify.Verify(body, r.Header); err != nil {
			t.Errorf("the signature: %v", err)
		}
		if got = append(got, r.Header.Get("Webhook-Id")); len(got) == want {
			time.AfterFunc(200*time.Millisecond, stop)
		}
	}))
	t.Cleanup(hook.Close)
	name, key := filepath.Join(dir, "changes.jsonl"), filepath.Join(dir, "secret")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(key, secret+"\n")
	lines := fmt.Sprintf("{%q:%q}\n{%q:%q}\n", "id", "a", "id", "b")
	write(name, lines+`{"id":"c"`)
	arguments := []string{"-url", hook.URL, "-secret", key, name}
	if err := run(ctx, io.Discard, arguments); err != nil {
		t.Fatal(err)
	}
	write(name, lines+"{\"id\":\"c\"}\n")
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop, want = cancel, 3
	if err := run(ctx, io.Discard, arguments); err != nil || strings.Join(got, "") != "abc" {
		t.Errorf("posted %q, %v", got, err)
	}
	if err := run(t.Context(), io.Discard, []string{"-url", hook.URL, "-secret", name, name}); err == nil {
		t.Error("a secret that is none is taken")
	}
}
