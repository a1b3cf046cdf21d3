package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/parquet-go/parquet-go"
	"github.com/sirupsen/logrus"

	"henro/actors/collect"
	"henro/cmd/config"
	"henro/store/archive/wacz"
	"henro/store/report/changes"
)

// TestABucketAnswersAsItsFolder: search, diff, feed, sql, page and import say of an archive in a bucket what they say
// of the same files here, and what they make is in a folder here that is called as that of the bucket is.
func TestABucketAnswersAsItsFolder(t *testing.T) {
	dir, store := changingSite(t), s3mem.New()
	if err := store.CreateBucket("archive"); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "warc", "henro-*"))
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.PutObject("archive", "of/mine/"+filepath.Base(name),
			map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}, bytes.NewReader(data),
			int64(len(data)), nil); err != nil {
			t.Fatal(err)
		}
	}
	served(t, store)
	t.Chdir(t.TempDir())
	const address = "s3://archive/of/mine/"
	search := func(dir string, f searchFlags) string {
		t.Helper()
		var out bytes.Buffer
		f.q.Most = 20
		if err := f.run(t.Context(), dir, "rise", &out, io.Discard); err != nil {
			t.Fatal(dir, err)
		}
		return out.String()
	}
	f := searchFlags{}
	f.q.Most = 1
	if err := f.run(t.Context(), address, "rain", io.Discard, io.Discard); config.Code(err) != config.ExitUsage {
		t.Errorf("without an index: %v", err)
	}
	search(dir, searchFlags{index: true})
	search(address, searchFlags{index: true})
	if want, got := search(dir, searchFlags{}), search(address, searchFlags{}); got != want ||
		strings.Count(got, "http://") < 1 {
		t.Errorf("search: %s, want %s", got, want)
	}
	feed := func(dir string) string {
		var flags feedFlags
		flags.o.Least = 1
		if err := flags.run(t.Context(), dir, io.Discard, io.Discard); err != nil {
			t.Fatal(dir, err)
		}
		text, err := os.ReadFile(filepath.Join(beside(dir), changes.Folder, changes.LinesName))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if want, got := feed(dir), feed(address); strings.Count(got, "\n") != strings.Count(want, "\n") || got == "" {
		t.Errorf("feed: %s, want %s", got, want)
	}
	var said []string
	for _, from := range []string{dir, address} {
		packed, out := filepath.Join(t.TempDir(), "a.wacz"), new(bytes.Buffer)
		if err := exportWACZ(nil, io.Discard, wacz.DefaultOptions(), from, packed); err != nil {
			t.Fatal(err)
		}
		if err := checkPackage(out, newBar(io.Discard), packed, "", nil); err != nil {
			t.Errorf("the package of %s: %s, %v", from, out, err)
		}
		_, counts, _ := strings.Cut(out.String(), "archive ")
		counts, _, _ = strings.Cut(counts, "\n")
		said = append(said, counts)
	}
	if said[0] != said[1] || said[0] == "" {
		t.Errorf("packages: %q", said)
	}
	t.Run("tables", func(t *testing.T) { tablesOfABucket(t, dir, address) })
	t.Run("edges", func(t *testing.T) { edgesOfABucket(t, store, dir, address) })
	made, err := os.ReadDir(".")
	if err != nil || len(made) != 1 || made[0].Name() != "mine" {
		t.Errorf("made here: %v, %v", made, err)
	}
	for _, address := range []string{"s3://archive", "s3://archive/..", "s3://archive/a/../.."} {
		if at := beside(address); at == ".." || strings.Contains(at, "/") {
			t.Errorf("%s: %s", address, at)
		}
	}
}

// served has a store be the one that the environment names.
func served(t *testing.T, store gofakes3.Backend) {
	server := httptest.NewServer(gofakes3.New(store).Server())
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "key",
		"AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL_S3": ""} {
		t.Setenv(name, value)
	}
}

// TestABucketProvesWhatItHas: the log comes with the file that a slave sends, check compares it with an earlier
// checkpoint, and prove needs nothing else.
func TestABucketProvesWhatItHas(t *testing.T) {
	_, file, kept := proven(t)
	store := s3mem.New()
	if err := store.CreateBucket("archive"); err != nil {
		t.Fatal(err)
	}
	served(t, store)
	const address = "s3://archive/mine"
	where, err := config.FindBucket(address)
	if err != nil {
		t.Fatal(err)
	}
	o := collect.DefaultSenderOptions()
	o.Dir, o.Prefix = filepath.Dir(file), "HENRO"
	if o.Place, err = collect.NewBucket(where); err != nil {
		t.Fatal(err)
	}
	sender, err := collect.NewSender(o, logrus.NewEntry(logrus.New()))
	if err != nil {
		t.Fatal(err)
	}
	copied, _ := os.ReadFile(file)
	if n, err := sender.Pass(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	out, err := command(t, "check", "--since", kept, address)
	if err != nil || !strings.Contains(out, "nothing of ") || !strings.Contains(out, "1 files") ||
		!strings.Contains(out, "s3://archive/mine/proof/henro-") || !strings.Contains(out, "clean") {
		t.Errorf("%v: %s", err, out)
	}
	url := strings.TrimSpace(said(t, "sql", "--format", "tsv", "--", address, "SELECT max(url) AS url FROM captures"))
	url = url[strings.LastIndexByte(url, '\n')+1:]
	proof := filepath.Join(t.TempDir(), "a.proof")
	if out, err := command(t, "prove", address, url, "-o", proof); err != nil {
		t.Fatal(url, err, out)
	}
	if err := os.WriteFile(file, copied, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "verify", proof, file); err != nil || !strings.HasSuffix(out, "proved\n") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := command(t, "prove", "--timestamp", "http://a.test/", address); config.Code(err) != config.ExitUsage {
		t.Errorf("%v: %s", err, out)
	}
	pack := filepath.Join(t.TempDir(), "a.wacz")
	said(t, "wacz", address, pack)
	if out := said(t, "check", "--since", kept, pack); !strings.Contains(out, "log      henro-") ||
		!strings.HasSuffix(out, " records were compared\nclean\n") {
		t.Errorf("a package of the bucket: %s", out)
	}
	// Somebody removes the log.
	if objects, err := store.ListBucket("archive", &gofakes3.Prefix{}, gofakes3.ListBucketPage{}); err == nil {
		for _, o := range objects.Contents {
			if strings.Contains(o.Key, "/proof/") {
				store.DeleteObject("archive", o.Key)
			}
		}
	}
	if out, err := command(t, "check", "--since", kept, address); config.Code(err) != config.ExitDamaged {
		t.Errorf("without its log: %v: %s", err, out)
	}
}

// edgesOfABucket: of a page's last capture the edges are those that the crawl knows of it, and there is a page for each
// capture that is no revisit. The files here had neither table.
func edgesOfABucket(t *testing.T, store gofakes3.Backend, dir, address string) {
	asked := func(of, where string) string {
		t.Helper()
		return said(t, "sql", "--format", "tsv", "--", of, "SELECT source, target, kind, nofollow, anchor, "+
			"source_host, target_host FROM edges WHERE "+where+" ORDER BY 1, 2, 3")
	}
	first := strings.Split(strings.Split(asked(dir, "target <> ''"), "\n")[1], "\t")
	same := func(when string) {
		t.Helper()
		for _, where := range []string{"target <> ''", "source = '" + first[0] + "'",
			"source_host = '" + first[5] + "'"} {
			if got, want := asked(address, where), asked(dir, where); got != want || strings.Count(got, "\n") < 3 {
				t.Errorf("%s, %s:\n%s, want\n%s", when, where, got, want)
			}
		}
	}
	same("of records")
	defer same("of Parquet")
	if out := said(t, "check", address); !strings.Contains(out, "3 WARC files have no pages and edges") {
		t.Errorf("before: %s", out)
	}
	said(t, "check", "--repair", address)
	if out := said(t, "check", address); strings.Contains(out, " as Parquet yet") ||
		!strings.HasSuffix(out, "clean\n") {
		t.Errorf("after it: %s", out)
	}
	read := func(table string, into any) {
		t.Helper()
		objects, err := store.ListBucket("archive", &gofakes3.Prefix{HasPrefix: true,
			Prefix: "of/mine/tables/" + table + "/crawl=mine/"}, gofakes3.ListBucketPage{})
		if err != nil || len(objects.Contents) != 1 {
			t.Fatal(table, objects, err)
		}
		o, err := store.GetObject("archive", objects.Contents[0].Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Contents.Close()
		data, err := io.ReadAll(o.Contents)
		if err != nil {
			t.Fatal(err)
		}
		switch to := into.(type) {
		case *[]edgeRow:
			*to, err = parquet.Read[edgeRow](bytes.NewReader(data), int64(len(data)))
		case *[]pageRow:
			*to, err = parquet.Read[pageRow](bytes.NewReader(data), int64(len(data)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var edges []edgeRow
	var pages []pageRow
	read("edges", &edges)
	read("pages", &pages)
	last, links := map[string]pageRow{}, int64(0)
	for _, p := range pages {
		if links += p.Links; last[p.URL].At < p.At {
			last[p.URL] = p
		}
	}
	var got []string
	for _, e := range edges {
		if p := last[e.Source]; p.File == e.File && p.Offset == e.Offset {
			got = append(got, fmt.Sprint(e.Source, "\t", e.Target, "\t", e.Kind))
		}
	}
	slices.Sort(got)
	want := strings.Split(strings.TrimSpace(said(t, "sql", "--format", "tsv", "--", dir,
		"SELECT source, target, kind FROM edges ORDER BY 1, 2, 3")), "\n")[1:]
	if !slices.Equal(got, want) || len(want) < 50 || links != int64(len(edges)) {
		t.Errorf("%d edges of %d, %d links of pages; henro sql has %d\n%q\n%q", len(got), len(edges), links, len(want),
			got, want)
	}
	captures := strings.Fields(said(t, "sql", "--format", "tsv", "--", dir,
		"SELECT count(*) FROM captures WHERE NOT revisit AND status > 0"))
	if captures[len(captures)-1] != fmt.Sprint(len(pages)) {
		t.Errorf("%d pages, %q captures", len(pages), captures)
	}
}

type edgeRow struct {
	Source string `parquet:"source,optional"`
	Target string `parquet:"target,optional"`
	Kind   string `parquet:"kind,optional"`
	File   string `parquet:"warc_filename,optional"`
	Offset int64  `parquet:"warc_record_offset,optional"`
}

type pageRow struct {
	URL    string `parquet:"url,optional"`
	At     int64  `parquet:"fetch_time,optional"`
	Links  int64  `parquet:"links,optional"`
	File   string `parquet:"warc_filename,optional"`
	Offset int64  `parquet:"warc_record_offset,optional"`
}

// tablesOfABucket: the captures are those of the folder; what only a state knows is said to be absent; a crawl that
// begins with a bucket knows as much as one that begins with its folder.
func tablesOfABucket(t *testing.T, dir, address string) {
	var url string
	for _, question := range []string{"SELECT * FROM captures ORDER BY filename, offset",
		"SELECT url FROM captures GROUP BY url ORDER BY count(*) DESC, url LIMIT 1",
		"SELECT url FROM captures WHERE url = '%s'"} {
		question = strings.Replace(question, "%s", url, 1)
		ask := []string{"--format", "tsv", "--", dir, question}
		want := said(t, append([]string{"sql"}, ask...)...)
		ask[3] = address
		if got := said(t, append([]string{"sql"}, ask...)...); got != want || strings.Count(got, "\n") < 2 {
			t.Errorf("%s:\n%s, want\n%s", question, got, want)
		}
		url = want[strings.LastIndexByte(strings.TrimSpace(want), '\n')+1 : len(want)-1]
	}
	for _, verb := range [][]string{{"sql", address, "SELECT count(*) FROM pages"}, {"stats", address},
		{"sql", address, "SELECT * FROM hosts WHERE host = 'http://a.example'"}, {"stats", "--timetable", address},
		{"why", "--dir", address, url}, {"host", "--dir", address, "a.example"}, {"missing", address},
		{"export", "--dir", address, "x.csv"}} {
		if out, err := command(t, verb...); err == nil ||
			strings.Count(err.Error(), "captures and links alone") != 1 || !strings.Contains(err.Error(), "--master") {
			t.Errorf("%v: %s, %v", verb, out, err)
		}
	}
	for _, verb := range [][]string{{"crawl", "--allow-private", "--listen-http", "off", "--dir", address,
		"http://127.0.0.1/"}, {"import", "--dir", address, filepath.Join(dir, "warc")},
		{"nodes", "collect", "--listen", "127.0.0.1:0", address}} {
		if out, err := command(t, verb...); config.Code(err) != config.ExitUsage ||
			!strings.Contains(err.Error(), "henro-slave --archive") {
			t.Errorf("%v: %s, %v", verb, out, err)
		}
	}
	all := filepath.Join(t.TempDir(), "all")
	said(t, "export", "--dir", address, "--to", "cc-index", all)
	if files, err := filepath.Glob(all + "/*"); err != nil || len(files) != 2 {
		t.Errorf("all that a bucket has: %q, %v", files, err)
	}
	listed := func(page string) (captures []string) {
		for line := range strings.Lines(page) {
			if strings.Contains(line, "  200  ") {
				captures = append(captures, strings.TrimPrefix(strings.TrimSpace(line), "captures "))
			}
		}
		return captures
	}
	here, there := listed(said(t, "page", dir, url)), listed(said(t, "page", address, url))
	if len(here) < 2 || !slices.Equal(here, there) {
		t.Errorf("captures of %s:\n%q, want\n%q", url, there, here)
	}
	if out, err := command(t, "page", address, "http://a.example/none"); err == nil ||
		!strings.Contains(err.Error(), "not in this archive") {
		t.Errorf("a page that is not there: %s, %v", out, err)
	}
	want, _, _ := strings.Cut(said(t, "import", "--dir", t.TempDir(), filepath.Join(dir, "warc")), ";")
	if got, _, _ := strings.Cut(said(t, "import", "--dir", t.TempDir(), address), ";"); got != want {
		t.Errorf("import: %s, want %s", got, want)
	}
}
