package cdxj_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"henro/store/archive/cdxj"
)

// foreign is a record of page i as others write it: with this end, its Content-Length so much too large.
func foreign(i int, end string, excess int) string {
	body := fmt.Sprintf("<title>%d</title>%s", i, strings.Repeat("x", 300))
	block := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:0000000%d-0000-4000-8000-"+
		"000000000000>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: http://a.test/%d\r\nContent-Type: "+
		"application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s%s", i, i, len(block)+excess, block, end)
}

// unsized is a record with another word for its length, or without one.
func unsized(record, length string) string {
	head, block, _ := strings.Cut(record, "\r\n\r\n")
	head, _, _ = strings.Cut(head, "\r\nContent-Length: ")
	if length != "" {
		head += "\r\nContent-Length: " + length
	}
	return head + "\r\n\r\n" + block
}

func gzipped(t *testing.T, record string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(record))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What is listed of broken files of other writers is what warcio lists, or more.
func TestBrokenRecordsOfOtherWritersAreListedAsByOtherReaders(t *testing.T) {
	const end = "\r\n\r\n"
	var plain, packed [4]string
	for i := range plain {
		plain[i] = foreign(i, end, 0)
		packed[i] = gzipped(t, plain[i])
	}
	p, g := strings.Join(plain[:], ""), strings.Join(packed[:], "")
	wrong := []byte(packed[3])
	wrong[len(wrong)-6] ^= 1 // the check sum
	for sentence, c := range map[string]struct {
		packed       bool
		data, listed string
	}{
		"the last without an end":          {false, plain[0] + plain[1] + plain[2] + foreign(3, "", 0), "0123"},
		"the last with half an end":        {false, plain[0] + plain[1] + plain[2] + foreign(3, "\r\n", 0), "0123"},
		"one in the middle without an end": {false, plain[0] + foreign(1, "", 0) + plain[2] + plain[3], "0123"},
		"one in the middle, half an end":   {false, plain[0] + foreign(1, "\r\n", 0) + plain[2] + plain[3], "0123"},
		"the last one too short":           {false, plain[0] + plain[1] + plain[2] + foreign(3, end, 20), "0123"},
		"one in the middle that eats":      {false, plain[0] + foreign(1, end, 20) + plain[2] + plain[3], "0123"},
		"the last one too long":            {false, plain[0] + plain[1] + plain[2] + foreign(3, end, -20), "0123"},
		"one in the middle too long":       {false, plain[0] + foreign(1, end, -20) + plain[2] + plain[3], "0123"},
		"bare line feeds":                  {false, strings.ReplaceAll(p, "\r\n", "\n"), "0123"},
		"a length that is none":            {false, plain[0] + unsized(plain[1], "x") + plain[2] + plain[3], "0123"},
		"the last without a length":        {false, plain[0] + plain[1] + plain[2] + unsized(plain[3], ""), "0123"},
		"packed: a length that is none":    {true, packed[0] + gzipped(t, unsized(plain[1], "x")) + packed[2], "012"},
		"cut in the last block":            {false, p[:len(p)-100], "0123"},
		"cut in the last head":             {false, plain[0] + plain[1] + plain[2] + plain[3][:60], "012"},
		"zeros behind":                     {false, p + strings.Repeat("\x00", 100), "0123"},
		"packed: the last without an end": {
			true, packed[0] + packed[1] + packed[2] + gzipped(t, foreign(3, "", 0)), "0123"},
		"packed: one without an end": {
			true, packed[0] + gzipped(t, foreign(1, "", 0)) + packed[2] + packed[3], "0123"},
		"packed: one too short": {
			true, packed[0] + gzipped(t, foreign(1, end, 20)) + packed[2] + packed[3], "0123"},
		"packed: cut":                       {true, g[:len(g)-30], "012"},
		"packed: a wrong sum in the middle": {true, packed[0] + string(wrong) + packed[2], "02"},
		"packed: text behind":               {true, g + "garbage\n", "0123"},
		"packed: plain ones behind":         {true, packed[0] + packed[1] + plain[2] + plain[3], "0123"},
		"packed: all in one, cut":           {true, gzipped(t, p)[:len(gzipped(t, p))-20], "012"},
	} {
		path := filepath.Join(t.TempDir(), "a.warc")
		if c.packed {
			path += ".gz"
		}
		if err := os.WriteFile(path, []byte(c.data), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := cdxj.IndexFile(path); err != nil {
			t.Errorf("%s: %v", sentence, err)
			continue
		}
		index, err := os.ReadFile(cdxj.Path(path))
		if err != nil {
			t.Fatal(err)
		}
		var listed strings.Builder
		for _, m := range regexp.MustCompile(`http://a\.test/(\d)`).FindAllStringSubmatch(string(index), -1) {
			listed.WriteString(m[1])
		}
		if listed.String() != c.listed {
			t.Errorf("%s: %q listed, want %q", sentence, listed.String(), c.listed)
		}
	}
}
