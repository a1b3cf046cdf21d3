package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/parquet-go/parquet-go"

	"henro/store/archive/bucket"
)

// question is one to an engine, which answers with lines that begin with the name of a WARC file, and to henro sql.
type question struct{ name, theirs, ours string }

const moment = "strftime(fetch_time, '%Y-%m-%dT%H:%M:%SZ')"

var questions = []question{
	{"captures", "SELECT DISTINCT warc_filename, warc_record_offset, warc_record_length, url, " + moment +
		", fetch_status, content_digest, crawl FROM captures ORDER BY 1, 2",
		"SELECT filename, offset, length, url, at, status, digest, '" + folder + "' FROM captures ORDER BY 1, 2"},
	{"pages", "SELECT DISTINCT warc_filename, warc_record_offset, url, " + moment +
		", fetch_status, crawl FROM pages ORDER BY 1, 2",
		"SELECT filename, offset, url, at, status, '" + folder +
			"' FROM captures WHERE NOT revisit AND status > 0 ORDER BY 1, 2"},
	{"edges", "SELECT warc_filename, warc_record_offset, count(*) FROM (SELECT DISTINCT * FROM edges) " +
		"GROUP BY 1, 2 ORDER BY 1, 2", ""}, // as many as pages has links
	{"links", "SELECT DISTINCT warc_filename, warc_record_offset, links FROM pages WHERE links > 0 ORDER BY 1, 2", ""},
}

// engines ask DuckDB, and Polars where the store answers ranges as HTTP says (rclone says 200), for what is in the
// tables while the crawl runs: it must be what henro sql has of the same files. Polars reads through S3. The client for
// S3 of DuckDB is not in its package, so it reads files that a client of S3 has fetched by ranges.
func (l *lab) engines() error {
	var files strings.Builder
	for _, q := range questions {
		if err := os.WriteFile(l.path(q.name+".sql"), []byte(q.theirs), 0o600); err != nil {
			return err
		}
		if q.name != "links" {
			fmt.Fprintf(&files, "CREATE VIEW %s AS SELECT * FROM read_parquet('%s/%s/*/*.parquet', "+
				"hive_partitioning = true);\n", q.name, l.path("fetched"), q.name)
		}
	}
	if err := os.WriteFile(l.path("tables.sql"), []byte(files.String()), 0o600); err != nil {
		return err
	}
	arguments := []string{filepath.Join(l.duckdb, "duckdb.mjs"), l.path("tables.sql"), l.dir}
	for _, q := range questions {
		arguments = append(arguments, l.path(q.name+".sql"))
	}
	err := l.engine("DuckDB", func() error { return errors.Join(l.fetchTables(), l.node(arguments...)) })
	if err == nil && l.store != "rclone" {
		err = l.engine("Polars", func() error {
			return l.node(filepath.Join(l.duckdb, "polars.mjs"), "http://"+l.at, archive+"/"+bucket.TablesFolder, l.dir)
		})
	}
	return err
}

func (l *lab) node(arguments ...string) error {
	out, err := exec.CommandContext(l.ctx, "node", arguments...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

// engine compares the answers of one, which come into files. A table may go while it is read, and the store may be
// dead: then all is asked again.
func (l *lab) engine(name string, ask func() error) (err error) {
	for range 10 {
		said := ""
		if err = ask(); err == nil {
			said, err = l.agrees()
		}
		if err == nil {
			fmt.Printf("%-9s %s while the crawl runs, the same as by henro sql\n", name, said)
			return nil
		}
		if bad := l.wait(l.every); bad != nil {
			return bad
		}
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (l *lab) agrees() (said string, err error) {
	answers := map[string][]string{}
	for _, q := range questions {
		text, err := os.ReadFile(l.path(q.name + ".tsv"))
		if err != nil {
			return "", err
		}
		answers[q.name] = slices.Collect(strings.Lines(string(text)))
	}
	for _, q := range questions {
		theirs, files := answers[q.name], map[string]bool{}
		for _, line := range theirs {
			files[line[:strings.IndexByte(line, '\t')]] = true
		}
		var ours []string
		if q.ours != "" {
			text, err := exec.CommandContext(l.ctx, l.bin+"/henro", "sql", "--format", "tsv", "--", archive,
				q.ours).Output()
			if err != nil {
				return "", err
			}
			for line := range strings.Lines(string(text)) {
				if file, _, ok := strings.Cut(line, "\t"); ok && files[file] {
					ours = append(ours, line)
				}
			}
			said += fmt.Sprintf("%d %s, ", len(ours), q.name)
		} else {
			ours = answers["links"]
		}
		if !slices.Equal(ours, theirs) || len(ours) == 0 {
			return "", fmt.Errorf("%s: it has %d lines, henro sql %d", q.name, len(theirs), len(ours))
		}
	}
	return said + fmt.Sprintf("links of %d", len(answers["links"])), nil
}

func (l *lab) client() (*minio.Client, error) {
	return minio.New(l.at, &minio.Options{Creds: credentials.NewStaticV4(key, secret, ""), Region: "us-east-1"})
}

// eachTable shows the files of a table by a client of S3.
func (l *lab) eachTable(table string, show func(client *minio.Client, o minio.ObjectInfo) error) error {
	client, err := l.client()
	if err != nil {
		return err
	}
	for o := range client.ListObjects(l.ctx, bucketName, minio.ListObjectsOptions{Recursive: true,
		Prefix: folder + "/" + bucket.TablesFolder + "/" + table + "/"}) {
		if o.Err != nil {
			return o.Err
		}
		if err := show(client, o); err != nil {
			return fmt.Errorf("%s: %w", o.Key, err)
		}
	}
	return nil
}

// fetchTables copies the tables as they are now, by ranges.
func (l *lab) fetchTables() error {
	if err := os.RemoveAll(l.path("fetched")); err != nil {
		return err
	}
	for _, q := range questions[:3] {
		if err := l.eachTable(q.name, func(client *minio.Client, o minio.ObjectInfo) error {
			var data bytes.Buffer
			for at := int64(0); at < o.Size; at += 64 << 10 {
				var part minio.GetObjectOptions
				if err := part.SetRange(at, min(at+64<<10, o.Size)-1); err != nil {
					return err
				}
				body, err := client.GetObject(l.ctx, bucketName, o.Key, part)
				if err != nil {
					return err
				}
				if _, err := io.Copy(&data, body); err != nil {
					return err
				}
				body.Close()
			}
			to := l.path(filepath.Join("fetched", q.name, filepath.Base(filepath.Dir(o.Key)), filepath.Base(o.Key)))
			return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data.Bytes(), 0o600))
		}); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf reads a table.
func rowsOf[R any](l *lab, table string) (rows []R, files int, err error) {
	err = l.eachTable(table, func(client *minio.Client, o minio.ObjectInfo) error {
		body, err := client.GetObject(l.ctx, bucketName, o.Key, minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer body.Close()
		data, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		some, err := parquet.Read[R](bytes.NewReader(data), int64(len(data)))
		rows, files = append(rows, some...), files+1
		return err
	})
	return rows, files, err
}

type place struct {
	File   string `parquet:"warc_filename,optional"`
	Offset int64  `parquet:"warc_record_offset,optional"`
}

type page struct {
	place
	URL   string `parquet:"url,optional"`
	At    int64  `parquet:"fetch_time,optional"`
	Links int64  `parquet:"links,optional"`
}

type edge struct {
	place
	Source string `parquet:"source,optional"`
	Target string `parquet:"target,optional"`
	Kind   string `parquet:"kind,optional"`
}

// edges reads pages and edges of the bucket: each must be there once, and those of the last capture of a page must be
// the links that the state has of it, but for what only a crawl knows. A page whose bytes another URL had before is a
// revisit, and in no table.
func (l *lab) edges() error {
	pages, files, err := rowsOf[page](l, "pages")
	if err != nil {
		return err
	}
	edges, more, err := rowsOf[edge](l, "edges")
	if err != nil {
		return err
	}
	last, at, links := map[string]page{}, map[place]bool{}, int64(0)
	for _, p := range pages {
		if at[p.place] {
			return fmt.Errorf("%v is twice in pages", p)
		}
		at[p.place], links = true, links+p.Links
		if before, there := last[p.URL]; !there || p.At >= before.At {
			last[p.URL] = p
		}
	}
	if links != int64(len(edges)) {
		return fmt.Errorf("%d edges, pages have %d", len(edges), links)
	}
	theirs := map[string]bool{}
	for _, e := range edges {
		if last[e.Source].place == e.place {
			theirs[e.Source+"\t"+e.Target+"\t"+e.Kind+"\n"] = true
		}
	}
	text, err := exec.CommandContext(l.ctx, l.bin+"/henro", "sql", "--format", "tsv", "--", l.path("crawl"),
		"SELECT source, target, kind FROM edges WHERE kind NOT IN ('sitemap', 'feed', 'part', 'alias')").Output()
	if err != nil {
		return err
	}
	ours, revisits, odd := len(theirs), 0, ""
	for line := range strings.Lines(string(text)) {
		if source, _, _ := strings.Cut(line, "\t"); last[source].URL == "" {
			revisits++
		} else if !theirs[line] {
			odd = line
		}
		delete(theirs, line)
	}
	for line := range theirs {
		odd = line
	}
	fmt.Printf("edges     %d of %d pages in %d files of Parquet; of the last captures %d, as the state has them, "+
		"which has %d of revisits, too\n", len(edges), len(pages), files+more, ours, revisits-1)
	if odd != "" || ours == 0 {
		return fmt.Errorf("the tables and henro sql differ in %q; %d are in the tables alone", odd, len(theirs))
	}
	return nil
}
