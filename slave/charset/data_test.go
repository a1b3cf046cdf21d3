package charset

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readCases reads lines of JSON from testdata, or from HENRO_DATA if the name has a folder; none if that is not set.
func readCases[T any](t testing.TB, name string) (all []T) {
	path := filepath.Join("testdata", name)
	if strings.Contains(name, "/") {
		folder := os.Getenv("HENRO_DATA")
		if folder == "" {
			return nil
		}
		path = filepath.Join(folder, name)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var c T
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	return all
}
