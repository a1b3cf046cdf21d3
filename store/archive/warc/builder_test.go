package warc_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nlnwa/gowarc/v2"

	"henro/store/archive/warc"
)

var (
	noon    = time.Date(2026, 3, 14, 12, 0, 0, 123456789, time.UTC)
	lab     = netip.MustParseAddr("127.0.0.7")
	request = []byte("GET /a HTTP/1.1\r\nHost: docs.test\r\nUser-Agent: henro/0.1 (+mailto:lab@docs.test)\r\n\r\n")
	plain   = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n")
	chunked = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\ntransfer-encoding: chunked\r\nVary: *\r\n\r\n")
)

func builder(t testing.TB, o warc.Options) *warc.Builder {
	t.Helper()
	b, err := warc.NewBuilder(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// record is what is read back of one.
type record struct {
	entry *warc.Entry
	block []byte
}

func readAll(t testing.TB, data []byte) []record {
	t.Helper()
	var all []record
	r := warc.NewReader(bytes.NewReader(data))
	for {
		e, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil || e.Shared || e.Unended {
			t.Fatalf("record at %d, shared %v, unended %v: %v", e.Offset, e.Shared, e.Unended, err)
		}
		all = append(all, record{e, block})
	}
}

func exchanges() map[string]*warc.Exchange {
	body := bytes.Repeat([]byte("henro "), 300)
	earlier := noon.Add(-24 * time.Hour)
	base := warc.Exchange{URI: "http://docs.test/a", IP: lab, At: noon, Request: request}
	with := func(change func(*warc.Exchange)) *warc.Exchange {
		x := base
		change(&x)
		return &x
	}
	return map[string]*warc.Exchange{
		"an answer": with(func(x *warc.Exchange) { x.Head, x.Body = plain, []byte("Hello") }),
		"an answer in chunks": with(func(x *warc.Exchange) {
			x.Head, x.Body, x.Payload = chunked, []byte("3\r\nHel\r\n2\r\nlo\r\n0\r\n\r\n"), []byte("Hello")
		}),
		"an answer that is compressed already": with(func(x *warc.Exchange) {
			x.Head, x.Body, x.Packed = plain, []byte("Hello"), true
		}),
		"an empty answer": with(func(x *warc.Exchange) { x.Head = plain }),
		"an answer cut off": with(func(x *warc.Exchange) {
			x.Head, x.Body, x.Truncated = plain, []byte("Hel"),
				"length"
		}),
		"an answer over IP6": with(func(x *warc.Exchange) { x.Head, x.IP = plain, netip.MustParseAddr("2001:db8::1") }),
		"an answer with metadata": with(func(x *warc.Exchange) {
			x.Head, x.Body = plain, []byte("Hello")
			x.About = []warc.Field{{"fetchTimeMs", "12"}, {"outlink", "http://docs.test/b L a/@href"}}
		}),
		"the same payload again": with(func(x *warc.Exchange) {
			x.Head, x.Body, x.Earlier = plain, body, &warc.Earlier{URI: "http://docs.test/b", At: earlier,
				ID: warc.NewID()}
		}),
		"not modified": with(func(x *warc.Exchange) {
			x.Head = []byte("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n")
			x.Earlier = &warc.Earlier{URI: x.URI, At: earlier, Digest: warc.Sum(body), NotModified: true}
		}),
	}
}

func TestExchangesReadBackAsTheyWere(t *testing.T) {
	for _, o := range []warc.Options{warc.DefaultOptions(), {Compression: warc.None},
		{Compression: warc.Zstd, Level: 3}, {Level: 9}} {
		for sentence, x := range exchanges() {
			data, m := builder(t, o).AppendExchange([]byte("before"), x)
			data = bytes.TrimPrefix(data, []byte("before"))
			if m.Capture+m.Request+m.Metadata != len(data) {
				t.Fatalf("%s: members %+v are not %d bytes", sentence, m, len(data))
			}
			all := readAll(t, data)
			capture := all[0]
			head, body, digest := string(x.Head), string(x.Body), warc.Sum(x.Body)
			if x.Payload != nil {
				digest = warc.Sum(x.Payload)
				head = strings.ReplaceAll(head, "transfer-encoding", "X-Archive-Orig-transfer-encoding")
				body = string(x.Payload)
			}
			want := map[string]string{
				"WARC-Type": "response", "WARC-Date": "2026-03-14T12:00:00Z", "WARC-Target-URI": x.URI,
				"WARC-Record-ID":  m.ID.String(),
				"WARC-IP-Address": x.IP.String(), "WARC-Truncated": x.Truncated, "WARC-Payload-Digest": digest.String(),
				"WARC-Concurrent-To": all[1].entry.Header.Get("WARC-Record-ID"),
				"Content-Type":       "application/http; msgtype=response",
			}
			if e := x.Earlier; e != nil {
				want["WARC-Type"] = "revisit"
				want["WARC-Refers-To-Target-URI"], want["WARC-Refers-To-Date"] = e.URI, "2026-03-13T12:00:00Z"
				if e.NotModified {
					want["WARC-Profile"], want["WARC-Payload-Digest"] = warc.ProfileNotModified, e.Digest.String()
				} else {
					want["WARC-Profile"], want["WARC-Truncated"], want["WARC-Refers-To"] = warc.ProfileIdentical,
						"length", e.ID.String()
					body = ""
				}
			}
			want["Content-Length"] = strconv.Itoa(len(head) + len(body))
			want["WARC-Block-Digest"] = warc.Sum([]byte(head + body)).String()
			for name, value := range want {
				if got := capture.entry.Header.Get(name); got != value {
					t.Errorf("%s: %s is %q, want %q", sentence, name, got, value)
				}
			}
			if string(capture.block) != head+body {
				t.Errorf("%s: block is %q", sentence, capture.block)
			}
			req := all[1]
			if string(req.block) != string(request) || req.entry.Type() != warc.Request ||
				req.entry.TargetURI() != x.URI ||
				req.entry.Header.Get("WARC-Concurrent-To") != m.ID.String() || req.entry.Offset != int64(m.Capture) {
				t.Errorf("%s: request is %v %q", sentence, req.entry.Header, req.block)
			}
			if len(x.About) > 0 {
				if about := all[2]; string(about.block) != "fetchTimeMs: 12\r\noutlink: http://docs.test/b L "+
					"a/@href\r\n" ||
					about.entry.Length != int64(m.Metadata) ||
					about.entry.Header.Get("Content-Type") != warc.TypeFields {
					t.Errorf("%s: metadata is %v %q", sentence, about.entry.Header, about.block)
				}
			}
		}
	}
}

// The names of the records of an exchange differ, from those of any other too, and are UUIDs of version 4.
func TestNoTwoRecordsHaveTheSameName(t *testing.T) {
	b, names, version4 := builder(t, warc.DefaultOptions()), map[string]bool{},
		regexp.MustCompile("^<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>$")
	for range 1000 {
		data, _ := b.AppendExchange(nil, exchanges()["an answer with metadata"])
		for _, r := range readAll(t, data) {
			name := r.entry.Header.Get("WARC-Record-ID")
			if names[name] || !version4.MatchString(name) {
				t.Fatalf("%s is the name of another record, or no UUID", name)
			}
			names[name] = true
		}
	}
}

func TestNoValueEndsItsOwnLine(t *testing.T) {
	r := warc.Record{Type: warc.Resource, Date: noon, TargetURI: "http://docs.test/\r\nWARC-Type: response",
		ContentType: "text/plain\n\nx"}
	e := readAll(t, builder(t, warc.DefaultOptions()).Append(nil, &r))[0].entry
	if e.Type() != warc.Resource || e.TargetURI() != "http://docs.test/  WARC-Type: response" || len(e.Header) != 7 {
		t.Errorf("header is %v", e.Header)
	}
}

// TestAnotherLibraryFindsNoFault reads every kind of exchange with nlnwa/gowarc at its strictest, which checks the
// fields that WARC 1.1 requires and both digests, over the stored bytes.
func TestAnotherLibraryFindsNoFault(t *testing.T) {
	b := builder(t, warc.DefaultOptions())
	info := warc.Info{Software: "henro/0.1", Operator: "lab <lab@docs.test>", Hostname: "lab", IP: lab,
		UserAgent: "henro/0.1", Robots: "obey"}
	data := b.AppendInfo(nil, &info, "HENRO-1.warc.gz", noon)
	n := 1
	for _, x := range exchanges() {
		var m warc.Members
		data, m = b.AppendExchange(data, x)
		n += 2
		if m.Metadata > 0 {
			n++
		}
	}
	path := filepath.Join(t.TempDir(), "HENRO-1.warc.gz")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := gowarc.NewWarcFileReader(path, 0, gowarc.WithStrictValidation(), gowarc.WithAddMissingDigest(false))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := 0
	for {
		record, _, faults, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("record %d: %v", read, err)
		}
		if err := record.ValidateDigest(faults); err != nil || !faults.Valid() {
			t.Errorf("record %d, %s: %v %v", read, record.Type(), err, faults)
		}
		record.Close()
		read++
	}
	if read != n {
		t.Errorf("%d records, want %d", read, n)
	}
}

// TestEveryRequiredFieldIsThere compares with the table of fields of the standard, part of HENRO_DATA.
func TestEveryRequiredFieldIsThere(t *testing.T) {
	dir := os.Getenv("HENRO_DATA")
	if dir == "" {
		return
	}
	text, err := os.ReadFile(filepath.Join(dir, "warc", "required_headers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		All    []string `json:"mandatory_all"`
		ByType map[warc.Type]struct {
			Required, Forbidden, Profiles []string
			ContentType                   string `json:"content_type"`
		} `json:"by_type"`
	}
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	b := builder(t, warc.DefaultOptions())
	data := b.AppendInfo(nil, &warc.Info{Software: "henro/0.1"}, "HENRO-1.warc.gz", noon)
	for _, x := range exchanges() {
		data, _ = b.AppendExchange(data, x)
	}
	for _, r := range readAll(t, data) {
		h := r.entry.Header
		rules := table.ByType[r.entry.Type()]
		for _, name := range append(slices.Clone(table.All), rules.Required...) {
			if h.Get(name) == "" {
				t.Errorf("%s has no %s", r.entry.Type(), name)
			}
		}
		for _, name := range rules.Forbidden {
			if h.Get(name) != "" {
				t.Errorf("%s has a %s", r.entry.Type(), name)
			}
		}
		if got := strings.ReplaceAll(h.Get("Content-Type"), " ", ""); rules.ContentType != "" &&
			got != rules.ContentType {
			t.Errorf("%s has Content-Type %s", r.entry.Type(), got)
		}
		if p := h.Get("WARC-Profile"); len(rules.Profiles) > 0 && !slices.Contains(rules.Profiles, p) {
			t.Errorf("%s has profile %s", r.entry.Type(), p)
		}
	}
}

// A payload that is compressed already stands in its member as it is: the standard library, gowarc and our reader read
// the same, also where it needs several blocks, and it grows by little.
func TestPackedPayloadsAreStored(t *testing.T) {
	for _, size := range []int{0, 1, 3000, 65535, 65536, 200_000} {
		body := make([]byte, size)
		draw := rand.NewChaCha8([32]byte{byte(size)})
		_, _ = draw.Read(body)
		x := &warc.Exchange{URI: "http://docs.test/a.png", IP: lab, At: noon, Request: request, Head: plain, Body: body,
			Packed: true}
		data, members := builder(t, warc.DefaultOptions()).AppendExchange(nil, x)
		all := readAll(t, data)
		if len(all) != 2 || !bytes.Equal(all[0].block, slices.Concat(plain, body)) {
			t.Fatalf("%d bytes: %d records are read back", size, len(all))
		}
		zip, err := gzip.NewReader(bytes.NewReader(data[:members.Capture]))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := io.ReadAll(zip)
		if err != nil || !bytes.HasSuffix(whole, slices.Concat(plain, body, []byte("\r\n\r\n"))) {
			t.Errorf("%d bytes: the standard library reads %d, %v", size, len(whole), err)
		}
		if most := size + 600; members.Capture > most {
			t.Errorf("%d bytes take %d, want at most %d", size, members.Capture, most)
		}
		if size >= 3000 && !bytes.Contains(data, body[:3000]) {
			t.Errorf("%d bytes are compressed once more", size)
		}
	}
}

// losesPooled: the race detector has a sync.Pool, as that of StatelessDeflate, lose some of what it is given.
var losesPooled bool

func TestBuildingAllocatesNothing(t *testing.T) {
	b := builder(t, warc.DefaultOptions())
	for _, name := range []string{"an answer in chunks", "an answer that is compressed already"} {
		x := exchanges()[name]
		x.About = []warc.Field{{"fetchTimeMs", "12"}}
		dst, _ := b.AppendExchange(nil, x)
		if n := testing.AllocsPerRun(100, func() { dst, _ = b.AppendExchange(dst[:0], x) }); n > 0 && !losesPooled {
			t.Errorf("%s: %v allocations for each exchange", name, n)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for sentence, o := range map[string]warc.Options{
		"no level":            {Compression: warc.Gzip},
		"too high a level":    {Compression: warc.Gzip, Level: 10},
		"unknown compression": {Compression: 7, Level: 3},
	} {
		if _, err := warc.NewBuilder(o); err == nil {
			t.Errorf("%s is taken", sentence)
		}
	}
}
