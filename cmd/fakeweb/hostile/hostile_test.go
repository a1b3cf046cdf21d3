package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"henro/cmd/fakeweb"
)

func newWeb(t *testing.T, o fakeweb.Options) *fakeweb.Web {
	t.Helper()
	w, err := fakeweb.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// seed is the URL to begin from, under the scheme's own port.
func seed(k Kind) string {
	if k.Secure() {
		return "https://" + k.Host() + "/"
	}
	return "http://" + k.Host() + "/"
}

func insecure() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

// visit is what a careful client comes to: net/http with 60 s in all, 10 s for a handshake, a head of 10 MB and a body
// of 2 MB.
type visit struct {
	status int
	size   int // of the body that came, cut at the cap
	took   time.Duration
	err    error
}

const bodyCap = 2 << 20

func careful(t *testing.T, w *fakeweb.Web, url string) (v visit, body []byte) {
	tr := &http.Transport{DialContext: w.DialContext, DisableCompression: true, TLSClientConfig: insecure(),
		TLSHandshakeTimeout: 10 * time.Second}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	began := time.Now()
	res, err := c.Get(url)
	if err == nil {
		defer res.Body.Close()
		body, err = io.ReadAll(io.LimitReader(res.Body, bodyCap))
		v.status, v.size = res.StatusCode, len(body)
	}
	v.err, v.took = err, time.Since(began)
	return v, body
}

func TestEveryMisdeedIsDone(t *testing.T) {
	failed := errors.New("any error")
	late, early := context.DeadlineExceeded, io.ErrUnexpectedEOF
	whole := len(smallPage)
	want := map[Kind]visit{
		"silent":            {err: late, took: time.Minute},
		"drip":              {err: late, took: time.Minute},
		"stall":             {status: 200, size: whole - whole/2, err: late, took: time.Minute},
		"endless-body":      {status: 200, size: bodyCap},
		"endless-chunks":    {status: 200, size: bodyCap},
		"endless-headers":   {err: failed},
		"endless-header":    {err: failed},
		"endless-continue":  {err: failed},
		"gzip-bomb":         {status: 200, size: bodyCap},
		"zstd-bomb":         {status: 200, size: 327_686},
		"million-links":     {status: 200, size: bodyCap},
		"long-links":        {status: 200, size: bodyCap},
		"nul-header":        {err: failed},
		"length-long":       {status: 200, size: whole, err: early},
		"length-short":      {status: 200, size: 50},
		"length-twice":      {err: failed},
		"length-nonsense":   {err: failed},
		"length-huge":       {status: 200, size: whole, err: early},
		"chunk-nonsense":    {status: 200, size: 8, err: failed},
		"chunk-huge":        {status: 200, err: failed},
		"chunk-cut":         {status: 200, size: 8, err: early},
		"chunk-length":      {status: 200, size: whole},
		"http09":            {err: failed},
		"status-nonsense":   {err: failed},
		"status-999":        {status: 999, size: whole},
		"garbage":           {err: failed},
		"empty":             {err: io.EOF},
		"reset-head":        {err: syscall.ECONNRESET},
		"reset-body":        {status: 200, size: whole, err: syscall.ECONNRESET},
		"unsolicited":       {status: 200, size: whole},
		"retry-after":       {status: 503},
		"open-comment":      {status: 200, size: bodyCap},
		"redirect-nonsense": {err: failed}, // net/http's opinion
		"redirect-loop":     {status: 302},
		"redirect-self":     {status: 302},
		"redirect-endless":  {status: 302},
		"redirect-private":  {status: 302},
		tlsStall:            {err: failed, took: 10 * time.Second},
		tlsGarbage:          {err: failed},
	}
	for _, kind := range All() {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t, fakeweb.Options{Guests: Guests(All()...)})
				got, _ := careful(t, w, seed(kind))
				expected, listed := want[kind]
				if !listed {
					expected = visit{status: 200}
				}
				if got.status != expected.status || expected.size > 0 && got.size != expected.size ||
					expected.took > 0 && got.took != expected.took {
					t.Errorf("got %+v, want %+v", got, expected)
				}
				if expected.err == failed && got.err == nil || expected.err != failed &&
					!errors.Is(got.err, expected.err) {
					t.Errorf("got %v, want %v", got.err, expected.err)
				}
			})
		})
	}
}

func TestRobotsOfHostileHosts(t *testing.T) {
	for kind, want := range map[Kind]visit{
		"silent": {status: 404}, "garbage": {status: 404}, "calendar": {status: 404},
		"robots-endless": {status: 200, size: bodyCap}, "robots-loop": {status: 302}, "robots-private": {status: 302},
		"robots-html":   {status: 200},
		"robots-silent": {err: context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWeb(t, fakeweb.Options{Guests: Guests(kind)})
			got, _ := careful(t, w, "http://"+kind.Host()+"/robots.txt")
			if got.status != want.status || want.size > 0 && got.size != want.size || !errors.Is(got.err, want.err) {
				t.Errorf("%s: got %+v, want %+v", kind, got, want)
			}
		})
	}
}

// zeros counts what a reader gives, all of one letter.
func zeros(t *testing.T, r io.Reader, letter byte) (n int) {
	t.Helper()
	page := bytes.Repeat([]byte{letter}, 64<<10)
	buf := make([]byte, len(page))
	for {
		k, err := io.ReadFull(r, buf)
		if !bytes.Equal(buf[:k], page[:k]) {
			t.Fatal("not of one letter")
		}
		n += k
		if err != nil {
			if err != io.EOF && err != io.ErrUnexpectedEOF {
				t.Fatalf("after %d bytes: %v", n, err)
			}
			return n
		}
	}
}

func TestBombsAreValid(t *testing.T) {
	const size = 16 << 20
	packed := func(bomb func(io.Writer, int) error) *bytes.Reader {
		client, server := net.Pipe()
		go func() {
			if err := bomb(server, size); err != nil {
				t.Error(err)
			}
			server.Close()
		}()
		all, err := io.ReadAll(client)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := bytes.Cut(all, []byte("\r\n\r\n"))
		if len(body) > size/900 {
			t.Errorf("packed into %d bytes", len(body))
		}
		return bytes.NewReader(body)
	}
	z, err := gzip.NewReader(packed(gzipBomb))
	if err != nil {
		t.Fatal(err)
	}
	if n := zeros(t, z, 0); n != size {
		t.Errorf("gzip: %d bytes", n)
	}
	if n := zeros(t, brotli.NewReader(packed(brotliBomb)), 0); n != size {
		t.Errorf("brotli: %d bytes", n)
	}
	d, err := zstd.NewReader(packed(zstdBomb), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if n := zeros(t, d, 'a'); n != size {
		t.Errorf("zstd: %d bytes", n)
	}
}

func TestMisdeedsHoldUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, fakeweb.Options{Pages: 100, Guests: Guests(All()...),
			Latency: fakeweb.Latency{Mean: 100 * time.Millisecond}})
		done := make(chan struct{})
		for _, kind := range All() {
			go func() {
				careful(t, w, seed(kind))
				done <- struct{}{}
			}()
		}
		tr := &http.Transport{DialContext: w.DialContext, DisableCompression: true}
		defer tr.CloseIdleConnections()
		c := &http.Client{Transport: tr,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		began := time.Now()
		for n := range 100 {
			res, err := c.Get(w.PageURL(0, n, 0))
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("100 pages at 100 ms took %v", took)
		}
		for range All() {
			<-done
		}
	})
}

func TestSubdomainsAndRebinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, fakeweb.Options{Guests: Guests(All()...)})
		url := seed(subdomains)
		for range 5 {
			v, body := careful(t, w, url)
			at := bytes.LastIndex(body, []byte("http://"))
			if v.err != nil || at < 0 {
				t.Fatalf("%s: %+v, %s", url, v, body)
			}
			next, _, _ := strings.Cut(string(body[at:]), "\"")
			if next == url {
				t.Fatalf("%s links to itself", url)
			}
			url = next
		}
		var got []string
		for range 3 {
			ips, err := w.LookupNetIP(t.Context(), "ip", rebinding.Host())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ips[0].String())
		}
		if !slices.Equal(got[1:], []string{"127.0.0.1", "127.0.0.1"}) || !strings.HasPrefix(got[0], "11.") {
			t.Error(got)
		}
	})
}

func TestHostileHostsOverSockets(t *testing.T) {
	w := newWeb(t, fakeweb.Options{Guests: Guests(All()...)})
	l, err := w.Listen(t.Context(), fakeweb.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DialContext: l.DialContext, TLSClientConfig: insecure(), DisableKeepAlives: true}
	c := &http.Client{Transport: tr}
	get := func(kind Kind) error {
		res, err := c.Get(seed(kind))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	for kind, want := range map[Kind]error{"reset-body": syscall.ECONNRESET, "length-long": io.ErrUnexpectedEOF,
		"empty": io.EOF, "nuls": nil, "million-links": nil} {
		if err := get(kind); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", kind, err, want)
		}
	}
	for _, root := range l.GuestSeeds() {
		if !strings.Contains(root, ".hostile.test:") {
			t.Error(root)
		}
	}
}

func TestTheBombsSumIsThatOfItsZeros(t *testing.T) {
	for _, size := range []int{0, 1, 7, 1 << 20, 3<<20 + 1} {
		if got, want := bombSum(size), crc32.ChecksumIEEE(make([]byte, size)); got != want {
			t.Errorf("%d zeros: %08x, want %08x", size, got, want)
		}
	}
}
