package fakeweb

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServeTellsWhereItIs(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	folder := filepath.Join(t.TempDir(), "web")
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, out, ServeOptions{Web: Options{Hosts: 3, Pages: 4}, Folder: folder})
		out.Close()
	}()
	var seeds, resolve []string
	lines := bufio.NewScanner(in)
	for lines.Scan() && lines.Text() != "ready" {
		if seed, ok := strings.CutPrefix(lines.Text(), "seed "); ok {
			seeds = append(seeds, seed)
		} else if line, ok := strings.CutPrefix(lines.Text(), "resolve "); ok {
			resolve = append(resolve, line)
		}
	}
	if len(seeds) != 3 || len(resolve) != 3 {
		t.Fatalf("seeds %v, resolve %v", seeds, resolve)
	}
	parts := strings.Split(resolve[2], ":")
	req, _ := http.NewRequest("GET", "http://"+parts[2]+":"+parts[1]+"/", nil)
	req.Host = parts[0] + ":" + parts[1]
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != 200 {
		t.Error(res.StatusCode)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(folder, "access.log"))
	if f := strings.Split(string(log), "\t"); err != nil || len(f) != 11 || f[2]+"://"+f[3]+f[4] != seeds[2] {
		t.Errorf("%q, %v", log, err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "seeds.txt")); err != nil ||
		string(text) != strings.Join(seeds, "\n")+"\n" {
		t.Errorf("seeds.txt: %q, %v", text, err)
	}
}
