package wacz_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"henro/store/archive/wacz"
)

// part is one of a package, to be packed again.
type part struct {
	name   string
	data   []byte
	method uint16
}

// packed writes a package.
func packed(t *testing.T, parts []part) (file string) {
	t.Helper()
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, p := range parts {
		to, err := z.CreateHeader(&zip.FileHeader{Name: p.name, Method: p.method})
		if err == nil {
			_, err = to.Write(p.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "a.wacz")
	if err := os.WriteFile(file, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// verified writes a package and verifies it.
func verified(t *testing.T, parts []part) (wacz.About, []string, error) {
	t.Helper()
	return verifiedFile(t, packed(t, parts))
}

func verifiedFile(t *testing.T, file string) (wacz.About, []string, error) {
	t.Helper()
	p, err := wacz.Open(file)
	if err != nil {
		return wacz.About{}, nil, err
	}
	defer p.Close()
	var wrong []string
	about, err := p.Verify(func(format string, values ...any) { wrong = append(wrong, fmt.Sprintf(format, values...)) },
		func(done, all int64) {
			if done > all {
				t.Errorf("%d of %d bytes", done, all)
			}
		})
	return about, wrong, err
}

// signed is a signed package in parts.
func signed(t *testing.T) []part {
	t.Helper()
	z, _ := signedPackage(t, 2)
	var parts []part
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part{f.Name, data, f.Method})
	}
	return parts
}

func TestAChangedPackageIsFoundOut(t *testing.T) {
	of := func(parts []part, name string) *part {
		for i := range parts {
			if parts[i].name == name {
				return &parts[i]
			}
		}
		t.Fatalf("no %s", name)
		return nil
	}
	replaced := func(name, old, new string) func([]part) []part {
		return func(parts []part) []part {
			p := of(parts, name)
			if !bytes.Contains(p.data, []byte(old)) {
				t.Fatalf("%s has no %q", name, old)
			}
			p.data = bytes.Replace(p.data, []byte(old), []byte(new), 1)
			return parts
		}
	}
	const digest = "datapackage-digest.json"
	others := of(signed(t), digest).data
	for sentence, c := range map[string]struct {
		change func([]part) []part
		want   string // empty: nothing is wrong
		signed bool
	}{
		"as it was made": {func(p []part) []part { return p }, "", true},
		"a byte of a WARC file": {func(p []part) []part { of(p, "archive/0.warc.gz").data[50] ^= 1; return p },
			`"archive/0.warc.gz": its content is not the one that is listed`, true},
		"a WARC file cut off": {func(p []part) []part {
			a := of(p, "archive/0.warc.gz")
			a.data = a.data[:len(a.data)-1]
			return p
		}, "bytes, listed are", true},
		"a part is gone": {func(p []part) []part { return p[1:] }, "is listed in datapackage.json and not in", true},
		"a part too many": {func(p []part) []part { return append(p, part{name: "archive/x.warc.gz"}) },
			"not listed", true},
		"a part twice": {func(p []part) []part { return append(p, p[0]) }, "is in the package twice", true},
		"another title": {replaced("datapackage.json", "Manuals", "Novels!"),
			"datapackage.json does not have the digest that datapackage-digest.json names", false},
		"another digest": {replaced(digest, `"hash": "sha256:`, `"hash": "sha256:0`), "not have the digest", false},
		"another signature": {replaced(digest, `"signature": "`, `"signature": "AAAA`),
			"signature: it is not base64 of 96", false},
		"the signature of another package": {func(p []part) []part { of(p, digest).data = others; return p },
			"does not have the digest that", false},
		"no signature": {func(p []part) []part {
			d := of(p, digest)
			d.data, _, _ = bytes.Cut(d.data, []byte(",\n  \"signedData\""))
			d.data = append(d.data, '}')
			return p
		}, "", false},
		"a signature by a certificate": {replaced(digest, `"signature": "`, `"domain": "a.example", "signature": "`),
			"", false},
		"a hash that is not SHA-256": {replaced("datapackage.json", `"hash": "sha256:`, `"hash": "md5:`),
			"is not one of SHA-256", false},
		"no JSON": {func(p []part) []part { of(p, digest).data = []byte("{"); return p },
			"unexpected end of JSON", false},
	} {
		about, wrong, err := verified(t, c.change(signed(t)))
		all := strings.Join(wrong, "\n")
		if err != nil || (all == "") != (c.want == "") || !strings.Contains(all, c.want) {
			t.Errorf("%s: %v, %q", sentence, err, wrong)
		}
		byCertificate := sentence == "a signature by a certificate"
		if (about.Signed != nil) != c.signed || (about.Domain != "") != byCertificate {
			t.Errorf("%s: signed %+v, for %q", sentence, about.Signed, about.Domain)
		}
		if sentence == "as it was made" && (about.Software != "henro/test" || about.Title != "Manuals" ||
			about.Parts != 4 || about.Signed.Created != "2026-03-14T12:00:00Z") {
			t.Errorf("about: %+v", about)
		}
	}
}

func TestASignatureIsOneOfItsKey(t *testing.T) {
	mine, theirs := signed(t), signed(t)
	last := len(mine) - 1
	from := bytes.Index(theirs[last].data, []byte(`"publicKey"`))
	at := bytes.Index(mine[last].data, []byte(`"publicKey"`))
	mine[last].data = append(mine[last].data[:at:at], theirs[last].data[from:]...)
	about, wrong, err := verified(t, mine)
	if err != nil || about.Signed != nil || len(wrong) != 1 || !strings.Contains(wrong[0], "not fit its public key") {
		t.Errorf("with the public key of another: %+v, %q, %v", about.Signed, wrong, err)
	}
}

func TestWhatIsNoPackageIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.wacz")
	for sentence, data := range map[string][]byte{"empty": nil, "no ZIP": []byte("WARC/1.1")} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := wacz.Open(file); !errors.Is(err, wacz.ErrNotPackage) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
	if _, _, err := verified(t, []part{{name: "archive/a.warc.gz"}}); !errors.Is(err, wacz.ErrNotPackage) {
		t.Errorf("without a data package: %v", err)
	}
	broken := []part{{name: "datapackage.json", data: []byte("[")}}
	if _, _, err := verified(t, broken); !errors.Is(err, wacz.ErrNotPackage) {
		t.Errorf("with a broken one: %v", err)
	}
}

// Each of these is small as a file and takes many times as much in memory.
func TestAPackageMadeToFillMemoryIsRefused(t *testing.T) {
	names := make([]part, 80_000)
	for i := range names {
		names[i].name = fmt.Sprintf("archive/%0200d", i)
	}
	entries := []byte(`{"resources": [{}` + strings.Repeat(",{}", 1_000_000) + `]}`)
	for sentence, c := range map[string]struct {
		parts []part
		want  string
	}{
		"a directory of many long names": {append(names, part{name: "datapackage.json", data: []byte("{}")}),
			"its directory is longer than"},
		"a data package of 17 MiB": {[]part{{"datapackage.json", make([]byte, 17<<20), zip.Deflate}},
			"datapackage.json is longer than"},
		"a list of a million parts": {[]part{{"datapackage.json", entries, zip.Deflate}},
			"it lists more than 102 parts"},
		"resources that are no list": {[]part{{name: "datapackage.json", data: []byte(`{"resources": {}}`)}},
			"is no list"},
	} {
		file := packed(t, c.parts)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := verifiedFile(t, file)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, wacz.ErrNotPackage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", sentence, err, c.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 160<<20 {
			t.Errorf("%s: %d MB were allocated, one after the other", sentence, took>>20)
		}
	}
}
