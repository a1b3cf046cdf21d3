package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nlnwa/gowarc/v2"
)

// foreign is a record of page i as others write it: behind it stands end, and its Content-Length is so much too large.
func foreign(i int, end string, excess int) string {
	body := fmt.Sprintf("<title>%d</title>%s", i, strings.Repeat("x", 300))
	block := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:0000000%d-0000-4000-8000-"+
		"000000000000>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: http://a.test/%d\r\nContent-Type: "+
		"application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s%s", i, i, len(block)+excess, block, end)
}

func packed(data string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, data) // into memory
	_ = w.Close()
	return b.String()
}

// broken are files whose records are broken, and what is wrong with them. Those whose names begin with "packed" are
// of gzip members.
func broken() map[string]string {
	const end = "\r\n\r\n"
	var p, g [4]string
	for i := range p {
		p[i] = foreign(i, end, 0)
		g[i] = packed(p[i])
	}
	plain, members := strings.Join(p[:], ""), strings.Join(g[:], "")
	first, packedFirst := p[0]+p[1]+p[2], g[0]+g[1]+g[2]
	flip := func(s string, at int) string {
		b := []byte(s)
		b[(at+len(b))%len(b)] ^= 1
		return string(b)
	}
	unsized := regexp.MustCompile(`Content-Length: \d+\r\n\r\nHTTP`).ReplaceAllString(p[1], "\r\nHTTP")
	return map[string]string{
		"whole":                   plain,
		"no end":                  first + foreign(3, "", 0),
		"half an end":             first + foreign(3, "\r\n", 0),
		"bare line feeds":         strings.ReplaceAll(plain, "\r\n", "\n"),
		"three line ends":         first + p[3] + "\r\n",
		"too long by 20":          first + foreign(3, end, 20),
		"too short by 20":         first + foreign(3, end, -20),
		"too short in the middle": p[0] + foreign(1, end, -20) + p[2] + p[3],
		"no end in the middle":    p[0] + foreign(1, "", 0) + p[2] + p[3],
		"one end in the middle":   p[0] + foreign(1, "\r\n", 0) + p[2] + p[3],
		"eats the next":           p[0] + foreign(1, end, 20) + p[2] + p[3],
		"cut in the block":        plain[:len(plain)-100],
		"cut in the HTTP head":    plain[:len(plain)-350],
		"cut in the head":         first + p[3][:60],
		"cut behind the version":  first + p[3][:10],
		"zeros behind":            plain + strings.Repeat("\x00", 100),
		"text behind":             plain + "garbage\n",
		"text before":             "garbage\n" + plain,
		"a foul length": p[0] + strings.Replace(p[1], "Content-Length: 3", "Content-Length: x3",
			1) + p[2],
		"no length at all":               p[0] + unsized + p[2],
		"packed whole":                   members,
		"packed no end":                  packedFirst + packed(foreign(3, "", 0)),
		"packed too long":                packedFirst + packed(foreign(3, end, 20)),
		"packed too long in the middle":  g[0] + packed(foreign(1, end, 20)) + g[2] + g[3],
		"packed too short":               packedFirst + packed(foreign(3, end, -20)),
		"packed too short in the middle": g[0] + packed(foreign(1, end, -20)) + g[2] + g[3],
		"packed no end in the middle":    g[0] + packed(foreign(1, "", 0)) + g[2] + g[3],
		"packed cut":                     members[:len(members)-30],
		"packed cut in the sum":          members[:len(members)-4],
		"packed wrong sum":               packedFirst + flip(g[3], -6),
		"packed wrong sum in the middle": g[0] + flip(g[1], -6) + g[2] + g[3],
		"packed wrong length":            packedFirst + flip(g[3], -2),
		"packed flipped bit":             g[0] + flip(g[1], len(g[1])/2) + g[2] + g[3],
		"packed zeros behind":            members + strings.Repeat("\x00", 100),
		"packed text behind":             members + "garbage\n",
		"packed all in one":              packed(plain),
		"packed all in one, cut":         packed(plain)[:len(packed(plain))-20],
		"packed an empty member":         g[0] + packed("") + g[1] + g[2] + g[3],
		"packed line ends of their own":  packed(foreign(0, "", 0)) + packed(end) + g[1] + g[2] + g[3],
		"packed in two members":          packed(p[0][:200]) + packed(p[0][200:]) + g[1] + g[2] + g[3],
		"packed plain behind":            g[0] + g[1] + p[2] + p[3],
	}
}

// known are kinds of which others list more, and why henro does not.
var known = map[string]string{
	"packed in two members": "a record that begins in the middle of a member cannot be found by an offset",
}

// warcs compares what henro check --repair lists with what warcio and gowarc list.
func (l *lab) warcs(ctx context.Context) (bool, error) {
	files := broken()
	all, less := 0, 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		folder := filepath.Join(l.dir, "warcs", strings.ReplaceAll(name, " ", "-"))
		if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o777)); err != nil {
			return false, err
		}
		path := filepath.Join(folder, "a.warc")
		if strings.HasPrefix(name, "packed") {
			path += ".gz"
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o666); err != nil {
			return false, err
		}
		complaint, err := exec.CommandContext(ctx, l.henro, "check", "--repair", folder).CombinedOutput()
		if err != nil {
			fmt.Printf("       %s: henro check --repair: %v: %s\n", name, err, complaint)
		}
		index, _ := os.ReadFile(filepath.Join(folder, "index.cdxj")) // none: nothing is listed
		out, err := l.node(ctx, "warcio.mjs", "", path)
		if err != nil {
			return false, err
		}
		mine, warcio, other := numbers(string(index)), numbers(string(out)), numbers(byGowarc(path))
		all++
		if lacks := without(strings.Split(warcio+other, ""), strings.Split(mine, "")); len(lacks) > 0 &&
			known[name] == "" {
			less++
			fmt.Printf("       %s: henro lists %q, warcio %q, gowarc %q\n", name, mine, warcio, other)
		}
	}
	return verdict(less == 0, "%d kinds of broken WARC files: of %d warcio or gowarc lists a record that henro does "+
		"not, "+
		"and of %d for a reason that is known", all, less, len(known)), nil
}

// numbers are the pages named in what was listed.
func numbers(listed string) string {
	var b strings.Builder
	for _, m := range regexp.MustCompile(`http://a\.test/(\d)`).FindAllStringSubmatch(listed, -1) {
		if !strings.Contains(b.String(), m[1]) {
			b.WriteString(m[1])
		}
	}
	return b.String()
}

// byGowarc lists a file with gowarc, until it gives up.
func byGowarc(path string) string {
	var b strings.Builder
	r, err := gowarc.NewWarcFileReader(path, 0, gowarc.WithNoValidation())
	if err != nil {
		return ""
	}
	defer r.Close()
	for range 10 {
		record, _, _, err := r.Next()
		if err != nil {
			return b.String()
		}
		if record.Type() == gowarc.Response {
			b.WriteString(record.WarcHeader().Get(gowarc.WarcTargetURI) + " ")
		}
		_ = record.Close() // what it finds wrong then, it has listed
	}
	return b.String()
}
