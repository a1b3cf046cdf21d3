package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"henro/cmd/config"
	"henro/cmd/embedded/crawltest"
	"henro/store"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/report/tables/tablestest"
)

// checked makes a crawl with a WARC file and its index, in which every captured page has its record.
func checked(t *testing.T) (dir, file, index string) { return checkedLate(t, 0) }

// checkedLate makes one whose state has the captures so much later than they were.
func checkedLate(t *testing.T, late time.Duration) (dir, file, index string) {
	t.Helper()
	dir = t.TempDir()
	if err := (tablestest.Web{Pages: 40, Out: 2, Hosts: 3}).Make(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	state := crawltest.OpenState(t, dir)
	defer state.Close()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for _, p := range state.Partitions {
		if err := p.Pages.Each(func(page store.Page, _ store.Place) error {
			if !page.CapturedAt.IsZero() {
				data, _ = b.AppendExchange(data, &warc.Exchange{URI: page.URL, At: page.CapturedAt.Add(-late),
					Request: []byte("GET / HTTP/1.1\r\n\r\n"),
					Head:    []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Body: []byte(page.URL)})
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	file = filepath.Join(dir, "warc", "a"+warc.Gzip.Suffix())
	for _, err := range []error{os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, data, 0o644),
		cdxj.IndexFile(file), os.WriteFile(filepath.Join(dir, "crawl.json"), []byte(
			`{"version": 1, "in_force": {"archives_all": true}}`), 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, file, cdxj.Path(file)
}

// A busy master takes a report seconds late, and has the moment of the capture from its age: nothing is lost.
func TestACaptureThatWasReportedLateIsThere(t *testing.T) {
	for late, whole := range map[time.Duration]bool{-time.Second: true, 5 * time.Second: true, time.Minute: true,
		-3 * time.Second: false, 2 * time.Minute: false} {
		dir, _, _ := checkedLate(t, late)
		out, err := command(t, "check", dir)
		if (err == nil) != whole || strings.Contains(out, "is in no WARC file here") == whole {
			t.Errorf("late by %v: %v, want whole %v: %s", late, err, whole, out)
		}
	}
}

// What needs the state alone goes on where crawl.json cannot be read, and says so; what needs the settings does not.
func TestWithoutSettingsTheStateIsRead(t *testing.T) {
	dir, _, _ := checked(t)
	if err := os.WriteFile(filepath.Join(dir, "crawl.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "backup", "--dir", dir, filepath.Join(dir, "state.tar")); err != nil {
		t.Errorf("backup: %v: %s", err, out)
	}
	for _, arguments := range [][]string{{"export", "--dir", dir, "-"},
		{"sql", dir, "SELECT count(*) FROM pages"}, {"stats", dir}} {
		out, err := command(t, arguments...)
		if err != nil || !strings.Contains(out, "warning: read what the crawl is") {
			t.Errorf("%s: %v: %s", arguments[0], err, out)
		}
	}
	for _, arguments := range [][]string{{"why", "--dir", dir, "https://example.org/"}, {"stats", "--timetable", dir}} {
		if out, err := command(t, arguments...); err == nil || !strings.Contains(err.Error(), "crawl.json") {
			t.Errorf("%s: %v: %s", arguments[0], err, out)
		}
	}
}

func TestCheckFollowsEveryCaptureAndEveryLine(t *testing.T) {
	change := func(change func([]byte) []byte) func(t *testing.T, file, index string) {
		return func(t *testing.T, _, index string) {
			data, err := os.ReadFile(index)
			if err == nil {
				err = os.WriteFile(index, change(data), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(names ...int) func(t *testing.T, file, index string) {
		return func(t *testing.T, file, index string) {
			for _, i := range names {
				if err := os.Remove([]string{file, index}[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for sentence, c := range map[string]struct {
		damage  func(t *testing.T, file, index string)
		says    string // empty: clean
		mending bool   // makes it whole again
	}{
		"whole":            {func(*testing.T, string, string) {}, "", true},
		"the file is gone": {remove(0), "its WARC file is gone", true},
		"a file and its index are gone": {func(t *testing.T, file, index string) {
			other := filepath.Join(filepath.Dir(file), "b.warc.gz")
			if err := os.WriteFile(other, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			remove(0, 1)(t, file, index)
		}, "is in no WARC file here", true},
		"the index is gone":  {remove(1), "it has no index", true},
		"the index is empty": {change(func([]byte) []byte { return nil }), "captures are not in the index", true},
		"a line is cut":      {change(func(b []byte) []byte { return b[:len(b)-20] }), "index is cut off", true},
		"a line is gone": {change(func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] }),
			"1 of its", true},
		"a line of garbage": {change(func(b []byte) []byte { return append(b, "~~~ garbage\n"...) }),
			"not an index line", true},
		"bytes of garbage": {change(func(b []byte) []byte { return bytes.Repeat([]byte{0xff, '\n'}, len(b)) }),
			"not an index line", true},
		"another offset": {change(func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"offset":"`), []byte(`"offset":"7`), 1)
		}), "leads to no such record", true},
		"another page": {change(func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"url":"http://h`), []byte(`"url":"http://x`), 1)
		}), "is not found by", true},
		"another key": {change(func(b []byte) []byte { return append([]byte("a"), b...) }), "is not found by", true},
		"another order": {change(func(b []byte) []byte {
			i := bytes.IndexByte(b, '\n') + 1
			return append(append([]byte{}, b[i:]...), b[:i]...)
		}), "out of order", true},
		"the merged index is cut": {func(t *testing.T, _, index string) {
			if _, err := cdxj.MergeDir(filepath.Dir(index)); err != nil {
				t.Fatal(err)
			}
			merged := filepath.Join(filepath.Dir(index), cdxj.MergedName)
			data, err := os.ReadFile(merged)
			if err == nil {
				err = os.WriteFile(merged, data[:len(data)-7], 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "index.cdxj: line", true},
		"the merged index leads elsewhere": {func(t *testing.T, _, index string) {
			if _, err := cdxj.MergeDir(filepath.Dir(index)); err != nil {
				t.Fatal(err)
			}
			merged := filepath.Join(filepath.Dir(index), cdxj.MergedName)
			data, err := os.ReadFile(merged)
			if err == nil {
				err = os.WriteFile(merged, bytes.Replace(data, []byte(`"offset":"`), []byte(`"offset":"1`), 1), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "index.cdxj: line", true},
		"the merged index lacks a file": {func(t *testing.T, file, index string) {
			if _, err := cdxj.MergeDir(filepath.Dir(index)); err != nil {
				t.Fatal(err)
			}
			merged := filepath.Join(filepath.Dir(index), cdxj.MergedName)
			data, err := os.ReadFile(merged)
			if err == nil {
				err = os.WriteFile(merged, data[bytes.IndexByte(data, '\n')+1:], 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "index.cdxj: 1 captures are not in it", true},
		"a record is damaged, and there is a merged index": {func(t *testing.T, file, _ string) {
			if _, err := cdxj.MergeDir(filepath.Dir(file)); err != nil {
				t.Fatal(err)
			}
			spoilCapture(t, file)
		}, "are no record", true},
		"a record is damaged": {func(t *testing.T, file, _ string) {
			spoilCapture(t, file)
		}, "are no record", true},
	} {
		dir, file, index := checked(t)
		c.damage(t, file, index)
		out, err := command(t, "check", dir)
		if c.says == "" {
			if err != nil || !strings.Contains(out, "clean") || !strings.Contains(out, "digest   p000.db ") {
				t.Errorf("%s: %q, %v", sentence, out, err)
			}
			continue
		}
		if config.Code(err) != config.ExitDamaged || !strings.Contains(out, c.says) ||
			strings.Contains(err.Error(), "restore a backup") {
			t.Errorf("%s: %q, %v, want %q", sentence, out, err, c.says)
		}
		_, err = command(t, "check", "--repair", dir)
		if again, after := command(t, "check", dir); (after == nil) != c.mending || c.mending && err != nil {
			t.Errorf("%s: after --repair %q, %v", sentence, again, after)
		}
	}
}

// What --repair plans anew waits for a visit, and nothing else does.
func TestMendPlansTheVisitsOfLostCapturesAnew(t *testing.T) {
	dir, file, _ := checked(t)
	count := func() (waiting, captured int) {
		state := crawltest.OpenState(t, dir)
		defer state.Close()
		for _, p := range state.Partitions {
			if err := p.Pages.Each(func(page store.Page, place store.Place) error {
				if place == store.InFresh {
					waiting++
				}
				if !page.CapturedAt.IsZero() {
					captured++
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		return waiting, captured
	}
	spoilCapture(t, file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(filepath.Dir(file), ".henro.payloads")
	if err := os.WriteFile(known, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	waited, captured := count()
	if out, err := command(t, "check", "--repair", dir); err != nil ||
		!strings.Contains(out, "1 pages will be visited") {
		t.Fatalf("%q, %v", out, err)
	}
	if waits, has := count(); waits != waited+1 || has != captured-1 {
		t.Errorf("%d pages wait and %d have captures, before %d and %d", waits, has, waited, captured)
	}
	aside, err := os.ReadFile(filepath.Join(filepath.Dir(file), "damaged", filepath.Base(file)))
	if err != nil || !bytes.Equal(aside, data) {
		t.Errorf("the damaged file was not kept: %v", err)
	}
	if _, err := os.Stat(known); err == nil {
		t.Error("what was lost is still known as a payload")
	}
}

// spoilCapture flips bits in the middle of a record of a capture: where the record begins, gzip's own header has bytes
// that nothing reads.
func spoilCapture(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(cdxj.Path(file))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(index), []byte("\n"))
	e, err := cdxj.Parse(lines[len(lines)/2])
	if err != nil {
		t.Fatal(err)
	}
	data[e.Offset+e.Length/2] ^= 0xff
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// compressParts makes a package whose parts are all compressed.
func compressParts(t *testing.T, from, to string) {
	t.Helper()
	z, err := zip.OpenReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, part := range z.File {
		in, err := part.Open()
		if err != nil {
			t.Fatal(err)
		}
		out, err := w.Create(part.Name)
		if err == nil {
			_, err = io.Copy(out, in)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), os.WriteFile(to, packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestCheckVerifiesPackages(t *testing.T) {
	dir, file, _ := checked(t)
	key, signed := filepath.Join(dir, "key"), filepath.Join(dir, "signed.wacz")
	if err := os.WriteFile(key, []byte(said(t, "key", "signing")), 0o600); err != nil {
		t.Fatal(err)
	}
	said(t, "wacz", "--sign", key, dir, signed)
	out := said(t, "check", signed)
	_, rest, _ := strings.Cut(out, "signed   by ")
	public, _, _ := strings.Cut(rest, " ")
	if !strings.HasPrefix(public, "MHYwEAYH") || !strings.HasSuffix(out, "clean\n") {
		t.Fatalf("a signed package:\n%s", out)
	}
	said(t, "check", "--signer", public, signed)
	plain := filepath.Join(dir, "plain.wacz")
	said(t, "wacz", dir, plain)
	if out := said(t, "check", plain); !strings.Contains(out, "signed   not at all") ||
		!strings.HasSuffix(out, "clean\n") {
		t.Errorf("an unsigned package:\n%s", out)
	}

	data, err := os.ReadFile(signed)
	if err != nil {
		t.Fatal(err)
	}
	records, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, records)
	data[at+len(records)/2] ^= 1
	changed := filepath.Join(dir, "changed.wacz")
	if err := os.WriteFile(changed, data, 0o644); err != nil {
		t.Fatal(err)
	}
	compressed := filepath.Join(dir, "compressed.wacz")
	compressParts(t, plain, compressed)
	for sentence, c := range map[string]struct {
		arguments []string
		code      int
		says      string
	}{
		"a changed byte":       {[]string{changed}, config.ExitDamaged, "archive/a.warc.gz"},
		"records compressed":   {[]string{compressed}, config.ExitDamaged, "is compressed by the package"},
		"a line to no record":  {[]string{compressed}, config.ExitDamaged, "leads to no record"},
		"signed by nobody":     {[]string{"--signer", public, plain}, config.ExitDamaged, "it is not signed by"},
		"signed by another":    {[]string{"--signer", "MHYwEAYH", signed}, config.ExitDamaged, "it is not signed by"},
		"no package":           {[]string{file}, config.ExitUsage, "not a WACZ file"},
		"a package to repair":  {[]string{"--repair", signed}, config.ExitUsage, "is not repaired"},
		"a directory's signer": {[]string{"--signer", public, dir}, config.ExitUsage, "want a WACZ file"},
	} {
		out, err := command(t, append([]string{"check"}, c.arguments...)...)
		var exit *config.Exit
		if !errors.As(err, &exit) || exit.Code != c.code || !strings.Contains(out+err.Error(), c.says) {
			t.Errorf("%s: %v\n%s", sentence, err, out)
		}
	}
}
