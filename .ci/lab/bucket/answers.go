package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"henro/store/report/changes"
)

// changing is an archive of a site whose pages change: a crawl here, whose WARC files a client of S3 brings.
const changing = "changing"

// answers compares what search, diff, feed, sql and page say of an archive in the bucket with what they say of its WARC
// files in a folder: of the sites, which do not change, and of one that does.
func (l *lab) answers() error {
	if err := l.change(); err != nil {
		return fmt.Errorf("the site that changes: %w", err)
	}
	for _, of := range []struct {
		name, words string
		changes     int // at least
	}{{folder, "commit|index|\"pattern matching\"|function table|the", 0}, {changing, "prices|\"rise by\"|page", 3}} {
		if err := l.answersOf(of.name, strings.Split(of.words, "|"), of.changes); err != nil {
			return fmt.Errorf("answers of %s: %w", of.name, err)
		}
	}
	return nil
}

// change crawls the site four times, and brings its files.
func (l *lab) change() error {
	round := 0
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	site := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<title>Page %s</title><main><p>The first sentence of %s stands. Others stand beside it.",
				r.URL.Path, r.URL.Path)
			if n, err := strconv.Atoi(r.URL.Path[1:]); err == nil && round > n%3 { // once: what always changes is noise
				words := strings.Fields("rain wind snow bread corn wine ships trains harbours roads schools letters")
				some := rand.New(rand.NewPCG(uint64(n), 1))
				some.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
				fmt.Fprintf(w, " Prices rise by %d percent for %s.", n, strings.Join(words, " and "))
			}
			for n := range 30 {
				fmt.Fprintf(w, " <a href=/%d>%d</a>", n, n)
			}
		})}
	go site.Serve(listener)
	defer site.Close()
	for ; round < 4; round++ {
		arguments := []string{"crawl", "--dir", l.path(changing), "--allow-private", "--delay", "1ms",
			"--progress", "off", "--log-level", "error", "http://" + listener.Addr().String() + "/"}
		if round > 0 {
			arguments = append(arguments[:len(arguments)-1], "--again")
		}
		if _, err := l.henro(l.dir, arguments...); err != nil {
			return err
		}
	}
	files, err := filepath.Glob(l.path(changing + "/warc/henro-*"))
	if err != nil {
		return err
	}
	client, err := l.client()
	for _, file := range files {
		if err == nil && !strings.HasSuffix(file, ".lock") {
			_, err = client.FPutObject(l.ctx, bucketName, changing+"/"+filepath.Base(file), file,
				minio.PutObjectOptions{})
		}
	}
	return err
}

// henro runs it in a folder.
func (l *lab) henro(in string, arguments ...string) (string, error) {
	var says bytes.Buffer
	asked := exec.CommandContext(l.ctx, l.bin+"/henro", arguments...)
	asked.Dir, asked.Stderr = in, &says
	out, err := asked.Output()
	if err != nil {
		err = fmt.Errorf("henro %s: %w: %s", strings.Join(arguments, " "), err, says.Bytes())
	}
	return string(out), err
}

func (l *lab) answersOf(name string, words []string, least int) error {
	here, there, in := l.path(name), "s3://"+bucketName+"/"+name, l.path("asked")
	if err := os.MkdirAll(in, 0o755); err != nil {
		return err
	}
	compared := 0
	same := func(arguments ...string) (string, error) { // DIR stands for the archive
		var said [2]string
		for i, archive := range []string{here, there} {
			asked := slices.Clone(arguments)
			asked[slices.Index(asked, "DIR")] = archive
			out, err := l.henro(in, asked...)
			if err != nil {
				return "", err
			}
			said[i] = out
		}
		if arguments[0] == "page" { // of the bucket it has the captures alone
			said[0], said[1] = capturesIn(said[0]), capturesIn(said[1])
		}
		if said[0] != said[1] || strings.TrimSpace(said[0]) == "" {
			return "", fmt.Errorf("henro %q: here %.500q, in the bucket %.500q", arguments, said[0], said[1])
		}
		compared++
		return said[0], nil
	}
	table, err := same("sql", "--format", "tsv", "--", "DIR", "SELECT * FROM captures ORDER BY filename, offset")
	if err != nil {
		return err
	}
	for _, archive := range []string{here, there} {
		if _, err := l.henro(in, "search", archive, "--index"); err != nil {
			return err
		}
	}
	found := 0
	for _, word := range words {
		out, err := same("search", "--versions", "DIR", word)
		if err != nil {
			return err
		}
		found += strings.Count(out, "http://")
	}
	listed, err := same("sql", "--format", "tsv", "--", "DIR", "SELECT url FROM captures WHERE mime = 'text/html' AND "+
		"status = 200 GROUP BY url ORDER BY count(*) DESC, url")
	if err != nil {
		return err
	}
	urls, pages, lines := strings.Fields(listed)[1:], 0, 0
	for i := 0; i < len(urls); i += 1 + len(urls)/20 {
		out, err := same("diff", "DIR", urls[i])
		if err == nil {
			_, err = same("diff", "DIR", urls[i], "--from", "2000-01-01", "--to", "2199-01-01")
		}
		if err == nil {
			_, err = same("page", "DIR", urls[i])
		}
		if err != nil {
			return err
		}
		pages, lines = pages+1, lines+strings.Count(out, "\n")-1
	}
	var told [2][]string
	for i, archive := range []string{here, there} {
		if _, err := l.henro(in, "feed", archive); err != nil {
			return err
		}
		made := []string{here, filepath.Join(in, name)}[i]
		text, err := os.ReadFile(filepath.Join(made, changes.Folder, changes.LinesName))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		told[i] = slices.Sorted(strings.Lines(string(text)))
	}
	if !slices.Equal(told[0], told[1]) || len(told[0]) < least {
		return fmt.Errorf("henro feed: %d changes here, %d in the bucket: %.500q, %.500q", len(told[0]), len(told[1]),
			told[0], told[1])
	}
	fmt.Printf("answers   of %s: %d rows of sql, %d hits of %d searches, page and diff of %d pages with %d versions, "+
		"%d changes of feed: the same of a folder\n", name, strings.Count(table, "\n")-1, found, len(words), pages,
		lines, len(told[0]))
	return nil
}

// capturesIn are the captures that henro page lists.
func capturesIn(page string) (listed string) {
	for line := range strings.Lines(page) {
		if strings.Contains(line, "  200  ") {
			listed += strings.TrimPrefix(strings.TrimSpace(line), "captures ") + "\n"
		}
	}
	return listed
}
