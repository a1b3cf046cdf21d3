package feed

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// A pass looks at what a file that grows has had since the last one, and at nothing again, also when so much was told
// that the changes of it are no more remembered.
// growing is an archive of a page that grows, and has another price at each of these moments.
func growing(t *testing.T, moments ...time.Duration) *captures.Archive {
	t.Helper()
	dir := t.TempDir()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for i, moment := range moments {
		data, _ = b.AppendExchange(data, &warc.Exchange{URI: "http://a.test/",
			Request: []byte("GET / HTTP/1.1\r\n\r\n"), At: time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC).Add(moment),
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
			Body: fmt.Appendf(nil, "<title>Prices</title><main><p>Salt costs %d coins.</p></main>", i)})
	}
	path := filepath.Join(dir, "a.warc.gz")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cdxj.IndexFile(path); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, cdxj.Path(path)} {
		if err := os.Rename(name, name+warc.OpenSuffix); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := captures.Open(dir, func(what string) { t.Error(what) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { archive.Close() })
	return archive
}

func TestAFileThatGrowsIsNotLookedAtAgain(t *testing.T) {
	f, err := Open(Options{Dir: t.TempDir(), Least: 1}, growing(t, 0, 24*time.Hour, 48*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 0} {
		if count, err := f.Pass(t.Context()); err != nil || count != want {
			t.Errorf("%d changes are told, want %d, %v", count, want, err)
		}
		clear(f.listed)
	}
}

// A page that is fetched again after a crash may have two versions of one second.
func TestTwoVersionsOfOneSecondAreTold(t *testing.T) {
	f, err := Open(Options{Dir: t.TempDir(), Least: 1}, growing(t, 0, time.Minute, time.Minute+400*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if count, err := f.Pass(t.Context()); err != nil || count != 2 {
		t.Errorf("%d changes are told, want 2, %v", count, err)
	}
}
