package replay

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/wacz"
	"henro/store/archive/warc"
)

// all reads every capture of an archive.
func all(t *testing.T, a *captures.Archive) (read []string) {
	t.Helper()
	if err := a.Entries(func(e cdxj.Entry) bool {
		c, err := a.Read(e)
		if err != nil {
			read = append(read, fmt.Sprint(e.URL, " ", e.At, " ", err))
			return true
		}
		defer c.Close()
		body, err := io.ReadAll(c.Body)
		read = append(read, fmt.Sprint(e.URL, " ", e.At, " ", c.Status, " ", c.Header, " ", string(body), err))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestAPackageIsReadAsTheFolderOfWhichItWasMade(t *testing.T) {
	folder := archived(t, warc.Gzip).archive
	want := all(t, folder)
	file := filepath.Join(t.TempDir(), "a.wacz")
	var packed bytes.Buffer
	if err := wacz.Write(&packed, folder.Dir(), folder.Merged(), wacz.Lists{}, wacz.DefaultOptions()); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(folder.Merged().Path)
	if err != nil {
		t.Fatal(err)
	}
	// Another writer's: its index is not packed, has other keys, and so another order.
	var foreign bytes.Buffer
	from, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	to := zip.NewWriter(&foreign)
	for _, part := range from.File {
		if !strings.HasPrefix(part.Name, "indexes/") {
			if err := to.Copy(part); err != nil {
				t.Fatal(err)
			}
		}
	}
	w, err := to.Create("indexes/index.cdxj")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.ReplaceAll(string(index), "test,docs)", "test,docs,www)"), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		_, _ = io.WriteString(w, lines[i])
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"ours": packed.Bytes(), "another writer's": foreign.Bytes()} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := captures.Open(file, func(string) {})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 2 { // the second time after Refresh
			if got := all(t, a); !reflect.DeepEqual(got, want) {
				t.Errorf("%s holds\n%q\nwant\n%q", name, got, want)
			}
			if err := a.Refresh(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := a.Merged().Files; !reflect.DeepEqual(got, folder.Merged().Files) {
			t.Errorf("%s: files %q", name, got)
		}
		temporary := a.Dir()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(temporary); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", temporary, err)
		}
	}
	if err := os.WriteFile(file, []byte("no package"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := captures.Open(file, func(string) {}); !errors.Is(err, wacz.ErrNotPackage) {
		t.Errorf("no package: %v", err)
	}
}
