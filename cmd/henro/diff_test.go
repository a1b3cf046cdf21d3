package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	legacy "golang.org/x/text/encoding/japanese"

	"henro/store/archive/warc"
)

// versions is an archive of a page that was as it had been once, then changed, each time in another encoding.
func versions(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	var data []byte
	put := func(day int, head, body string, earlier *warc.Earlier) {
		x := &warc.Exchange{URI: "http://docs.test/", At: noon.AddDate(0, 0, day),
			Request: []byte("GET / HTTP/1.1\r\n\r\n"), Head: []byte("HTTP/1.1 " + head + "\r\n\r\n"),
			Body: []byte(body), Earlier: earlier}
		data, _ = b.AppendExchange(data, x)
	}
	const page = "<!DOCTYPE html><title>値段</title><p>はじめの文。値段は十円です。終わりの文。</p>"
	sjis, err := legacy.ShiftJIS.NewEncoder().String(page)
	if err != nil {
		t.Fatal(err)
	}
	put(0, "200 OK\r\nContent-Type: text/html; charset=shift_jis", sjis, nil)
	put(1, "304 Not Modified", "", &warc.Earlier{URI: "http://docs.test/", At: noon, NotModified: true,
		Digest: warc.Sum([]byte(sjis))})
	put(2, "200 OK\r\nContent-Type: text/html; charset=utf-8", page, nil)
	put(3, "200 OK\r\nContent-Type: text/html; charset=utf-8", strings.Replace(page, "十円", "百円", 1), nil)
	if err := os.WriteFile(filepath.Join(dir, "a.warc.gz"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestVersionsOfAPageAreListedAndCompared(t *testing.T) {
	dir := versions(t)
	out, err := command(t, "diff", dir, "http://docs.test/")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, want := range []string{`content$`, `^2026-03-14T12:00:00Z .* first$`, `^2026-03-15.* unchanged$`,
		`^2026-03-16.* same text$`, `^2026-03-17.* (changed|about the same) \(\d+ of 64 bits\)$`} {
		if i >= len(lines) || !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Fatalf("line %d: want %s in\n%s", i, want, out)
		}
	}

	out, err = command(t, "diff", dir, "http://docs.test/", "--from", "2026-03-15", "--to", "20260317120000")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n-値段は十円です。\n", "\n+値段は百円です。\n", "\n はじめの文。\n", "\n 終わりの文。\n",
		"2026-03-17T12:00:00Z"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for arguments, want := range map[string]string{
		"--from 2026-03-14 --to 2026-03-16": "is the same",
		"--to 2026-03-14":                   "both moments are nearest",
	} {
		if out, err := command(t, append([]string{"diff", dir, "http://docs.test/"},
			strings.Fields(arguments)...)...); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %q, %v, want %q", arguments, out, err, want)
		}
	}
	for _, arguments := range [][]string{{"http://docs.test/other"}, {"nonsense"},
		{"http://docs.test/", "--from", "yesterday"}} {
		if _, err := command(t, append([]string{"diff", dir}, arguments...)...); err == nil {
			t.Errorf("%q was answered", arguments)
		}
	}
}
