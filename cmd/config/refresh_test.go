package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"henro/actors/actortest"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// A slave ends with a merged index of all its files, if its archive was read and so has one.
func TestAMergedIndexIsKeptTrue(t *testing.T) {
	dir := t.TempDir()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	merged := filepath.Join(dir, cdxj.MergedName)
	for n, refresh := range []func(){
		func() { RefreshMerged(dir, actortest.Log()) },
		func() { Refresh(dir, actortest.Log()) },
		func() { RefreshMerged(dir, actortest.Log()) },
	} {
		records, _ := b.AppendExchange(nil, &warc.Exchange{
			URI: fmt.Sprintf("http://docs.test/%d", n), At: time.Now(), Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Body: []byte("text"),
		})
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("HENRO-%d.warc.gz", n)), records, 0o600); err != nil {
			t.Fatal(err)
		}
		refresh()
		if index, err := os.ReadFile(merged); n == 0 {
			if !os.IsNotExist(err) {
				t.Errorf("an archive that nobody read has an index: %v", err)
			}
		} else if err != nil || bytes.Count(index, []byte("\n")) != n+1 {
			t.Errorf("of %d captures the index lists %q %v", n+1, index, err)
		}
	}
}
