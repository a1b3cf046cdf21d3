package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"henro/cmd/config"
	"henro/store/archive/cdxj"
	"henro/store/proof"
)

// proven is a crawl whose archive is logged, and a copy of the checkpoint.
func proven(t *testing.T) (dir, file, checkpoint string) {
	t.Helper()
	dir, old, index := checked(t)
	file = filepath.Join(dir, "warc", "HENRO-1.warc.gz")
	log, err := proof.Options{}, errors.Join(os.Remove(index), os.Rename(old, file), cdxj.IndexFile(file))
	log.Archive, log.Dir, log.Prefix = filepath.Dir(file), proof.Path(filepath.Dir(file)), "HENRO"
	l, bad := proof.Open(log)
	if err := errors.Join(err, bad, l.Close()); err != nil {
		t.Fatal(err)
	}
	newest, err := filepath.Glob(filepath.Join(log.Dir, "*", "checkpoint"))
	if err != nil || len(newest) != 1 {
		t.Fatal(newest, err)
	}
	checkpoint = filepath.Join(t.TempDir(), "kept")
	text, err := os.ReadFile(newest[0])
	if err := errors.Join(err, os.WriteFile(checkpoint, text, 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir, file, checkpoint
}

func TestCheckComparesTheArchiveWithItsLog(t *testing.T) {
	dir, file, kept := proven(t)
	out, err := command(t, "check", "--since", kept, dir)
	if err != nil || !strings.Contains(out, "/checkpoint elsewhere") || !strings.Contains(out, "nothing of ") ||
		!strings.Contains(out, "clean") {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "check", "--since", string(text), dir); err != nil {
		t.Errorf("by its text: %v: %s", err, out)
	}
	for given, says := range map[string]string{"nowhere": "no such file", "a\n\nb": "is no checkpoint",
		strings.Replace(string(text), "\n", "0\n", 2): "checkpoint"} {
		if out, err := command(t, "check", "--since", given, dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q: %v: %s", given, err, out)
		}
	}
	// The moment in a gzip header, which nothing else covers.
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[5] ^= 1
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err = command(t, "check", dir)
	if err == nil || !strings.Contains(out, " at 0 was altered") || strings.Contains(out, "clean") {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.RemoveAll(filepath.Join(dir, "proof")); err != nil {
		t.Fatal(err)
	}
	out, err = command(t, "check", "--since", kept, dir)
	if err == nil || !strings.Contains(out, "is not here: it was removed") {
		t.Errorf("%v: %s", err, out)
	}
}

// A file of which nothing is left goes, and one that has grown since it was logged becomes what it was.
func TestRepairLeavesWhatTheLogSays(t *testing.T) {
	for says, spoil := range map[string]func(data []byte) []byte{
		"was removed":         func([]byte) []byte { return nil },
		"bytes, the log says": func(data []byte) []byte { return append(data, data...) },
	} {
		dir, file, _ := proven(t)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, spoil(slices.Clone(data)), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := command(t, "check", dir)
		if err == nil || !strings.Contains(out, says) {
			t.Errorf("%v: %s, want %q", err, out, says)
		}
		_, err = command(t, "check", "--repair", dir)
		if out, after := command(t, "check", dir); err != nil || after != nil {
			t.Errorf("%s: %v, then %v: %s", says, err, after, out)
		}
		left, err := os.ReadFile(file)
		gone := errors.Is(err, fs.ErrNotExist)
		if gone != (says == "was removed") || !gone && !bytes.Equal(left, data) {
			t.Errorf("%s: %d of %d bytes are left, %v", says, len(left), len(data), err)
		}
	}
}

func TestAPageIsProvedAndVerified(t *testing.T) {
	dir, file, _ := proven(t)
	entries, err := os.ReadFile(cdxj.Path(file))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(entries), "\n")
	e, err := cdxj.Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "page.proof")
	if out, err := command(t, "prove", dir, e.URL, "-o", to); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(to)
	out, bad := command(t, "prove", dir, e.URL)
	if err != nil || bad != nil || out != string(text) || len(text) > 4096 {
		t.Errorf("%v %v: %s\n%s", err, bad, out, text)
	}
	out, err = command(t, "verify", to)
	if err != nil || !strings.Contains(out, e.URL) || !strings.Contains(out, "was not compared") {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := command(t, "verify", to, file); err != nil || !strings.HasSuffix(out, "\nproved\n") {
		t.Errorf("%v: %s", err, out)
	}
	damaged := filepath.Join(t.TempDir(), "damaged")
	other := strings.Replace(string(text), "leaf henro/1", "leaf henro/2", 1)
	if err := os.WriteFile(damaged, []byte(other), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{damaged}, {to, damaged}, {"--key", "another", to}, {"nowhere"}, {file}} {
		if out, err := command(t, append([]string{"verify"}, arguments...)...); err == nil {
			t.Errorf("%q: %s", arguments, out)
		}
	}
	for _, arguments := range [][]string{{"typo", e.URL}, {dir, "http://nowhere.test/"}, {dir, "no URL"}} {
		if out, err := command(t, append([]string{"prove"}, arguments...)...); err == nil {
			t.Errorf("%q: %s", arguments, out)
		}
	}
}

func TestACheckpointIsStampedOnDemand(t *testing.T) {
	dir, _, _ := proven(t)
	asked := 0
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Error(w, "closed on Sundays", http.StatusServiceUnavailable)
	}))
	defer authority.Close()
	if out, err := command(t, "prove", "--timestamp", authority.URL, dir); err == nil || asked != 1 ||
		!strings.Contains(err.Error(), "answers 503") {
		t.Errorf("%d: %v: %s", asked, err, out)
	}
	for _, arguments := range [][]string{{dir}, {"--timestamp", "ftp://clock.test", dir},
		{"--timestamp", authority.URL, t.TempDir()}} {
		if _, err := command(t, append([]string{"prove"}, arguments...)...); config.Code(err) != config.ExitUsage {
			t.Errorf("%q: %v", arguments, err)
		}
	}
	if asked != 1 {
		t.Error(asked)
	}
}

// A package has the log of its files, without the key: what was changed before it was packed is named too.
func TestAPackageIsComparedWithTheLogInIt(t *testing.T) {
	dir, file, kept := proven(t)
	pack := filepath.Join(t.TempDir(), "a.wacz")
	said(t, "wacz", dir, pack)
	out := said(t, "check", "--since", kept, pack)
	if !strings.Contains(out, "log      ") || !strings.HasSuffix(out, "clean\n") {
		t.Errorf("%s", out)
	}
	z, err := zip.OpenReader(pack)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, part := range z.File {
		if path.Base(part.Name) == "key" {
			t.Errorf("%s is packed", part.Name)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[5] ^= 1
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	said(t, "wacz", dir, pack)
	if out, err := command(t, "check", pack); err == nil || !strings.Contains(out, " at 0 was altered") {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.RemoveAll(filepath.Join(dir, "proof")); err != nil {
		t.Fatal(err)
	}
	said(t, "wacz", dir, pack)
	if out, err := command(t, "check", pack); err != nil {
		t.Errorf("without a log: %v: %s", err, out)
	}
	if out, err := command(t, "check", "--since", kept, pack); err == nil || !strings.Contains(out, "is not here") {
		t.Errorf("%v: %s", err, out)
	}
}
