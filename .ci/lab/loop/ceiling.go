package main

import (
	"bytes"
	"crypto/sha1"
	"encoding/base32"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html"
)

// ceiling is what a crawler could reach that does nothing but fetch and archive: the loop with a byte scanner for links
// in place of the tokenizer, hashes of URLs in place of the URLs, and a response record for each answer, with the SHA-1
// of its payload, as a gzip member of level 3. The file is synced once, at the end.
type ceiling struct {
	seed maphash.Seed

	mu   sync.Mutex
	warc *os.File
	err  error // the first of writing
}

func newCeiling(path string) (*ceiling, error) {
	f, err := os.Create(path)
	return &ceiling{seed: maphash.MakeSeed(), warc: f}, err
}

func (c *ceiling) close() error {
	for _, err := range []error{c.err, c.warc.Sync(), c.warc.Close()} {
		if err != nil {
			return err
		}
	}
	return nil
}

// tuned is one worker of the ceiling, with the buffers that it keeps.
type tuned struct {
	*ceiling
	client *http.Client
	body   bytes.Buffer
	head   bytes.Buffer
	member bytes.Buffer
	zip    *gzip.Writer
	known  map[uint64]struct{} // references that were resolved before, with the folder of their page
}

func (c *ceiling) worker(client *http.Client) *tuned {
	zip, err := gzip.NewWriterLevel(io.Discard, 3)
	if err != nil {
		panic(err)
	}
	return &tuned{ceiling: c, client: client, zip: zip, known: map[uint64]struct{}{}}
}

func (w *tuned) fetch(u *url.URL) (found []*url.URL, n int64, page bool) {
	res, err := w.client.Get(u.String())
	if err != nil {
		return nil, 0, false
	}
	defer res.Body.Close()
	w.body.Reset()
	if _, err := w.body.ReadFrom(res.Body); err != nil {
		return nil, 0, false
	}
	w.archive(u, res)
	if to := res.Header.Get("Location"); to != "" && res.StatusCode/100 == 3 {
		if next, err := u.Parse(to); err == nil {
			found = append(found, next)
		}
	}
	n = int64(w.body.Len())
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		return found, n, false
	}
	folder := u.Path[:strings.LastIndexByte(u.Path, '/')+1]
	references(w.body.Bytes(), func(raw []byte) {
		if at := bytes.IndexByte(raw, '#'); at >= 0 {
			raw = raw[:at]
		}
		if len(raw) == 0 {
			return
		}
		var h maphash.Hash
		h.SetSeed(w.seed)
		h.WriteString(u.Host)
		h.WriteString(folder)
		h.WriteByte(0)
		h.Write(raw)
		key := h.Sum64()
		if _, ok := w.known[key]; ok && raw[0] != '?' { // which belongs to the page, not to its folder
			return
		}
		w.known[key] = struct{}{}
		reference := string(raw)
		if strings.Contains(reference, "&") {
			reference = html.UnescapeString(reference)
		}
		if to, err := u.Parse(reference); err == nil {
			found = append(found, to)
		}
	})
	return found, n, true
}

// archive appends the response record of what is in body.
func (w *tuned) archive(u *url.URL, res *http.Response) {
	digest := sha1.Sum(w.body.Bytes())
	w.head.Reset()
	fmt.Fprintf(&w.head, "%s %s\r\n", res.Proto, res.Status)
	res.Header.Write(&w.head)
	w.head.WriteString("\r\n")
	w.member.Reset()
	w.zip.Reset(&w.member)
	fmt.Fprintf(w.zip, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:sha1:%x>\r\nWARC-Date: %s\r\n"+
		"WARC-Target-URI: %s\r\nWARC-Payload-Digest: sha1:%s\r\nContent-Type: application/http; msgtype=response\r\n"+
		"Content-Length: %d\r\n\r\n", digest, time.Now().UTC().Format(time.RFC3339), u,
		base32.StdEncoding.EncodeToString(digest[:]), w.head.Len()+w.body.Len())
	w.zip.Write(w.head.Bytes()) // to memory, which does not fail
	w.zip.Write(w.body.Bytes())
	w.zip.Write([]byte("\r\n\r\n"))
	w.zip.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.warc.Write(w.member.Bytes()); err != nil && w.err == nil {
		w.err = err
	}
}

// references calls found with the links that loop follows, as they stand in the page: of a, area, link, frame and
// iframe, but not inside comments and elements whose content is text.
func references(page []byte, found func(raw []byte)) {
	for {
		at := bytes.IndexByte(page, '<')
		if at < 0 || at+1 == len(page) {
			return
		}
		page = page[at+1:]
		if bytes.HasPrefix(page, []byte("!--")) {
			page = after(page[3:], "-->")
			continue
		}
		n := 0
		for n < len(page) && (page[n]|0x20 >= 'a' && page[n]|0x20 <= 'z') {
			n++
		}
		name := page[:n]
		if n == 0 || n < len(page) && page[n] > ' ' && page[n] != '>' && page[n] != '/' { // h1 to h6, custom elements
			continue
		}
		attribute := ""
		switch {
		case is(name, "a"), is(name, "area"), is(name, "link"):
			attribute = "href"
		case is(name, "frame"), is(name, "iframe"):
			attribute = "src"
		case is(name, "script"):
			page = after(page, "</script")
			continue
		case is(name, "style"):
			page = after(page, "</style")
			continue
		default:
			continue
		}
		value, rel, rest := attributes(page[n:], attribute)
		page = rest
		if len(value) > 0 && value[0] != '#' &&
			!(is(name, "link") && (bytes.Contains(rel, []byte("stylesheet")) || bytes.Contains(rel, []byte("icon")))) {
			found(value)
		}
	}
}

func is(name []byte, wanted string) bool {
	if len(name) != len(wanted) {
		return false
	}
	for i := range name {
		if name[i]|0x20 != wanted[i] {
			return false
		}
	}
	return true
}

// after is what follows the next end, none if there is none.
func after(page []byte, end string) []byte {
	at := bytes.Index(page, []byte(end))
	if at < 0 {
		return nil
	}
	return page[at+len(end):]
}

// attributes reads the attributes of a tag and returns two of them, and what follows the tag.
func attributes(tag []byte, wanted string) (value, rel, rest []byte) {
	for i := 0; i < len(tag); {
		switch c := tag[i]; {
		case c == '>':
			return value, rel, tag[i+1:]
		case c <= ' ' || c == '/':
			i++
			continue
		}
		begin := i
		for i < len(tag) && tag[i] > ' ' && tag[i] != '=' && tag[i] != '>' {
			i++
		}
		key := tag[begin:i]
		for i < len(tag) && tag[i] <= ' ' {
			i++
		}
		if i == len(tag) || tag[i] != '=' {
			continue
		}
		for i++; i < len(tag) && tag[i] <= ' '; i++ {
		}
		if i == len(tag) {
			break
		}
		var v []byte
		if quote := tag[i]; quote == '"' || quote == '\'' {
			n := bytes.IndexByte(tag[i+1:], quote)
			if n < 0 {
				break
			}
			v, i = tag[i+1:i+1+n], i+n+2
		} else {
			begin := i
			for i < len(tag) && tag[i] > ' ' && tag[i] != '>' {
				i++
			}
			v = tag[begin:i]
		}
		switch {
		case is(key, wanted):
			value = bytes.TrimSpace(v)
		case is(key, "rel"):
			rel = v
		}
	}
	return value, rel, nil
}
