// Package hostile breaks every rule of HTTP, HTML, robots.txt and TLS, by hosts that are guests of a fakeweb: to test a
// crawler against them, and to measure it beside them.
package hostile

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
	"golang.org/x/text/encoding/japanese"

	"henro/cmd/fakeweb"
)

// Kind is one way to misbehave. The host that does so is called <kind>.hostile.test, and does so on every path but
// /robots.txt, which is 404 there (the robots-… ones misbehave on it only).
type Kind string

const suffix = ".hostile.test"

// Misdeed is what a hostile host does and what a crawler is expected to make of it.
type Misdeed struct {
	Kind   Kind
	Does   string
	Expect string
}

// act is how a misdeed is done: by an ordinary answer, by an ordinary host of a certain shape, or with the bare
// connection.
type act struct {
	Misdeed
	shape  func(h *fakeweb.Host)
	answer func(r *fakeweb.Reply)
	raw    func(s *fakeweb.Stage) error
}

// All names every kind.
func All() []Kind {
	kinds := make([]Kind, len(acts))
	for i := range acts {
		kinds[i] = acts[i].Kind
	}
	return kinds
}

// Host gives the name of the host that misbehaves in this way.
func (k Kind) Host() string { return string(k) + suffix }

// Secure reports whether the misdeed is in TLS.
func (k Kind) Secure() bool { return strings.HasPrefix(string(k), "tls-") }

// Guests are hosts of these kinds, for a fakeweb.
func Guests(kinds ...Kind) []fakeweb.Guest {
	var guests []fakeweb.Guest
	for _, kind := range kinds {
		i := slices.IndexFunc(acts[:], func(a act) bool { return a.Kind == kind })
		if i < 0 {
			panic("hostile: no kind is called " + string(kind))
		}
		guests = append(guests, acts[i].guest())
	}
	return guests
}

func (a *act) guest() fakeweb.Guest {
	g := fakeweb.Guest{Name: a.Kind.Host(), Secure: a.Kind.Secure(), Below: a.Kind == subdomains,
		Loopback: a.Kind == rebinding, Shape: a.shape, Answer: a.do}
	switch a.Kind {
	case tlsStall:
		g.Greet = func(c net.Conn) error {
			io.Copy(io.Discard, c) // until the client gives up or the web is closed
			return fakeweb.ErrClosed
		}
	case tlsGarbage:
		g.Greet = func(c net.Conn) error {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			return fakeweb.ErrClosed
		}
	}
	return g
}

// do misbehaves; false when an ordinary answer is due.
func (a *act) do(r *fakeweb.Reply) bool {
	onRobots := strings.HasPrefix(string(a.Kind), "robots-")
	if atRobots := r.Target() == "/robots.txt"; atRobots != onRobots {
		return false
	}
	switch {
	case a.raw != nil:
		r.Raw(a.raw)
	case a.answer != nil:
		a.answer(r)
	default:
		return false
	}
	return true
}

// endlessly writes a piece again and again until the client has had enough: 64 kB a millisecond at most, so that time
// passes in a bubble and a time limit can end it.
func endlessly(s *fakeweb.Stage, piece string) error {
	block := []byte(strings.Repeat(piece, max(1, 64<<10/len(piece))))
	for {
		if _, err := s.Write(block); err != nil {
			return err
		}
		if err := s.Pause(time.Millisecond); err != nil {
			return err
		}
	}
}

// smallPage is a page with a link on it.
const smallPage = "<!DOCTYPE html>\n<html><head><title>small</title></head><body><p>A small page.</p><a " +
	"href=\"/next.html\">next</a></body></html>\n"

const htmlHead = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"

func sized(head string, body string) string {
	return head + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// number is that of a path like /7; 0 of any other.
func number(r *fakeweb.Reply) int {
	n, _ := strconv.Atoi(r.Target()[1:])
	return max(0, n)
}

// say gives an act that writes one text and closes.
func say(text string) func(*fakeweb.Stage) error {
	return func(s *fakeweb.Stage) error { return s.Say(text) }
}

// after gives an act that writes a text and then a piece without end.
func after(text, piece string) func(*fakeweb.Stage) error {
	return func(s *fakeweb.Stage) error {
		if err := s.Say(text); err != nil {
			return err
		}
		return endlessly(s, piece)
	}
}

func redirect(to func(r *fakeweb.Reply) string) func(*fakeweb.Reply) {
	return func(r *fakeweb.Reply) {
		r.Header("Location", to(r))
		r.HTML(302)
	}
}

func markup(body func(r *fakeweb.Reply) string) func(*fakeweb.Reply) {
	return func(r *fakeweb.Reply) {
		r.HTML(200)
		io.WriteString(r, body(r))
	}
}

const (
	subdomains Kind = "subdomains"
	rebinding  Kind = "rebinding"
	tlsStall   Kind = "tls-stall"
	tlsGarbage Kind = "tls-garbage"
)

const (
	bombBytes   = 10 << 30 // what a bomb unpacks to
	manyLinks   = 1_000_000
	longURL     = 1 << 20
	privateName = "169.254.169.254" // where clouds keep their secrets
)

var acts = [...]act{
	{Misdeed: Misdeed{"silent", "accepts, reads the request, never answers",
		"timeout after the hard total time; one slot used for no longer"},
		raw: func(s *fakeweb.Stage) error { return s.Pause(-1) }},
	{Misdeed: Misdeed{"drip", "sends its answer at one byte a second, the head too",
		"timeout after the hard total time, whatever the idle time allows"},
		raw: func(s *fakeweb.Stage) error {
			for _, b := range []byte(sized(htmlHead, smallPage)) {
				if _, err := s.Write([]byte{b}); err != nil {
					return err
				}
				if err := s.Pause(time.Second); err != nil {
					return err
				}
			}
			return nil
		}},
	{Misdeed: Misdeed{"stall", "sends the head and half of the body, then nothing",
		"timeout after the idle time; what came is kept as truncated"},
		raw: func(s *fakeweb.Stage) error {
			text := sized(htmlHead, smallPage)
			if err := s.Say(text[:len(text)-len(smallPage)/2]); err != nil {
				return err
			}
			return s.Pause(-1)
		}},
	{Misdeed: Misdeed{"endless-body", "a body without length and without end",
		"cut at the size cap, WARC-Truncated: length"},
		raw: after(htmlHead+"\r\n"+smallPage, "<p>and so on</p>\n")},
	{Misdeed: Misdeed{"endless-chunks", "chunks without end", "cut at the size cap, WARC-Truncated: length"},
		raw: after(htmlHead+"Transfer-Encoding: chunked\r\n\r\n", "10\r\n<p>and so on</p>\r\n")},
	{Misdeed: Misdeed{"endless-headers", "header lines without end", "failed at the bound of the head"},
		raw: after(htmlHead, "X-More: and so on and so on and so on\r\n")},
	{Misdeed: Misdeed{"endless-header", "one header line without end", "failed at the bound of the head"},
		raw: after(htmlHead+"X-Long: ", "and so on ")},
	{Misdeed: Misdeed{"endless-continue", "100 Continue without end",
		"failed at a bound of interim answers or by time"},
		raw: after("", "HTTP/1.1 100 Continue\r\n\r\n")},
	{Misdeed: Misdeed{"gzip-bomb", "10 MB of gzip that unpack to 10 GB",
		"archived as it came or cut; unpacked no further than the size cap"},
		raw: func(s *fakeweb.Stage) error { return gzipBomb(s, bombBytes) }},
	{Misdeed: Misdeed{"zstd-bomb", "320 kB of zstd that unpack to 10 GB",
		"archived as it came; unpacked no further than the size cap"},
		raw: func(s *fakeweb.Stage) error { return zstdBomb(s, bombBytes) }},
	{Misdeed: Misdeed{"brotli-bomb", "200 kB of brotli that unpack to 10 GB",
		"archived as it came; unpacked no further than the size cap"},
		raw: func(s *fakeweb.Stage) error { return brotliBomb(s, bombBytes) }},
	{Misdeed: Misdeed{"gzip-broken", "Content-Encoding: gzip, then gzip cut in the middle and nonsense",
		"archived as it came; the readable beginning is used or none"},
		raw: func(s *fakeweb.Stage) error {
			body := gzipped(strings.Repeat(smallPage, 50))
			copy(body[len(body)/2:], "\xff\xff\xff\xffnonsense")
			return s.Say(sized(htmlHead+"Content-Encoding: gzip\r\n", string(body)))
		}},
	{Misdeed: Misdeed{"gzip-false", "Content-Encoding: gzip on a plain page",
		"archived as it came; read as plain or not at all"},
		raw: say(sized(htmlHead+"Content-Encoding: gzip\r\n", smallPage))},
	{Misdeed: Misdeed{"gzip-twice", "gzip within gzip, said so", "unpacked twice, or archived only"},
		raw: func(s *fakeweb.Stage) error {
			return s.Say(sized(htmlHead+"Content-Encoding: gzip, gzip\r\n",
				string(gzipped(string(gzipped(smallPage))))))
		}},
	{Misdeed: Misdeed{"redirect-loop", "/ leads to /a, /a to /", "redirect loop, no more than the allowed hops"},
		answer: redirect(func(r *fakeweb.Reply) string {
			if r.Target() == "/a" {
				return "/"
			}
			return "/a"
		})},
	{Misdeed: Misdeed{"redirect-self", "/ leads to /", "redirect loop; not asked again"},
		answer: redirect(func(*fakeweb.Reply) string { return "/" })},
	{Misdeed: Misdeed{"redirect-endless", "/ leads to /1, /1 to /2 and so on", "redirect loop after the allowed hops"},
		answer: redirect(func(r *fakeweb.Reply) string { return "/" + strconv.Itoa(number(r)+1) })},
	{Misdeed: Misdeed{"redirect-private", "leads over two hops to " + privateName,
		"the last hop refused by the address guard, never dialled"},
		answer: redirect(func(r *fakeweb.Reply) string {
			return map[string]string{"/": "/1", "/1": "/2"}[r.Target()] +
				map[string]string{"/2": "http://" + privateName + "/latest/meta-data/"}[r.Target()]
		})},
	{Misdeed: Misdeed{"redirect-nonsense", "a Location that is no URL", "archived, nothing followed; or failed"},
		answer: redirect(func(r *fakeweb.Reply) string { return "gopher://[::bad" })},
	{Misdeed: Misdeed{"private-links", "links to private addresses in every spelling",
		"each refused by the address guard, never dialled"},
		answer: markup(func(*fakeweb.Reply) string {
			var b strings.Builder
			for _, host := range []string{"127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0.0.0.0",
				"10.0.0.1", "172.16.0.1", "192.168.0.1",
				"100.64.0.1", privateName, "224.0.0.1", "255.255.255.255", "[::1]", "[::]", "[::ffff:127.0.0.1]",
				"[fe80::1]", "[fc00::1]", "[64:ff9b::7f00:1]", "localhost"} {
				fmt.Fprintf(&b, "<a href=\"http://%s:9/\">%s</a>\n", host, host)
			}
			return b.String()
		})},
	{Misdeed: Misdeed{rebinding,
		"its name resolves to a public address the first time and to 127.0.0.1 from then on (LookupNetIP only)",
		"refused at connect time, after the resolver"},
		answer: markup(func(*fakeweb.Reply) string { return smallPage })},
	{Misdeed: Misdeed{subdomains, "every page links to two hosts that did not exist before, below the same domain",
		"bounded by a cap of the domain or by the scope"},
		answer: func(r *fakeweb.Reply) {
			r.HTML(200)
			rnd := rand.New(rand.NewPCG(1, uint64(crc32.ChecksumIEEE([]byte(r.Host())))))
			for range 2 {
				name := fmt.Sprintf("%08x.%s", rnd.Uint32(), subdomains.Host())
				fmt.Fprintf(r, "<a href=\"%s\">more</a>\n", r.Root(name))
			}
		}},
	{Misdeed: Misdeed{"million-links", "a page of a million links",
		"taken as far as the bounds of page size and links allow; memory bounded"},
		raw: func(s *fakeweb.Stage) error {
			out := bufio.NewWriterSize(s, 64<<10)
			out.WriteString(htmlHead + "\r\n<!DOCTYPE html>\n<title>many</title>\n")
			for i := range manyLinks {
				// the client has seen enough
				if _, err := fmt.Fprintf(out, "<a href=\"/l/%d\">%d</a>\n", i, i); err != nil {
					return err
				}
			}
			return out.Flush()
		}},
	{Misdeed: Misdeed{"long-links", "links whose URLs are 1 MB long",
		"dropped as too long, before any memory is spent on them"},
		answer: markup(func(*fakeweb.Reply) string {
			path, query := strings.Repeat("long/", longURL/5), strings.Repeat("k=v&amp;", longURL/8)
			return "<a href=\"/" + path + "\">a</a>\n<a href=\"/?" + query + "\">b</a>\n<a href=\"http://" +
				strings.Repeat("a.", longURL/2) + "test/\">c</a>\n<a href=\"/short\">d</a>\n"
		})},
	{Misdeed: Misdeed{"nuls", "NULs in text, tags and addresses", "read through; the links around them are found"},
		answer: markup(func(*fakeweb.Reply) string {
			return "\x00\x00<a href=\"/one\x00\">o\x00ne</a><a\x00href=/two>two</a>\x00<a href=\"/three\">three</a>" +
				strings.Repeat("\x00", 4096) + "<a href=/four>four</a>"
		})},
	{Misdeed: Misdeed{"nul-header", "a NUL in a header line", "failed as not HTTP, or the line dropped"},
		raw: say(sized(htmlHead+"X-Nul: a\x00b\r\n", smallPage))},
	{Misdeed: Misdeed{"bare-newlines", "a head with LF only", "read as any other page"},
		raw: say(strings.ReplaceAll(sized(htmlHead, smallPage), "\r\n", "\n"))},
	{Misdeed: Misdeed{"length-long", "Content-Length beyond what it sends, then the end",
		"kept as truncated: disconnect"},
		raw: say(htmlHead + "Content-Length: 100000\r\n\r\n" + smallPage)},
	{Misdeed: Misdeed{"length-short", "Content-Length of 50, then the whole page",
		"50 bytes; the rest is not taken for the next answer"},
		raw: say(htmlHead + "Content-Length: 50\r\n\r\n" + smallPage)},
	{Misdeed: Misdeed{"length-twice", "two Content-Lengths that differ", "failed as not HTTP"},
		raw: say(sized(htmlHead+"Content-Length: 7\r\n", smallPage))},
	{Misdeed: Misdeed{"length-nonsense", "Content-Length: -5", "failed as not HTTP"},
		raw: say(htmlHead + "Content-Length: -5\r\n\r\n" + smallPage)},
	{Misdeed: Misdeed{"length-huge", "Content-Length: 9223372036854775807 and a small page",
		"nothing allocated for it; kept as truncated"},
		raw: say(htmlHead + "Content-Length: 9223372036854775807\r\n\r\n" + smallPage)},
	{Misdeed: Misdeed{"chunk-nonsense", "a chunk whose size is no number", "failed or truncated: disconnect"},
		raw: say(htmlHead + "Transfer-Encoding: chunked\r\n\r\n8\r\n<p>one</\r\nxyz\r\n" + smallPage)},
	{Misdeed: Misdeed{"chunk-huge", "a chunk size beyond 64 bits", "failed; nothing allocated for it"},
		raw: say(htmlHead + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + smallPage)},
	{Misdeed: Misdeed{"chunk-cut", "chunks without the last one, then the end", "kept as truncated: disconnect"},
		raw: say(htmlHead + "Transfer-Encoding: chunked\r\n\r\n8\r\n<p>one</\r\n")},
	{Misdeed: Misdeed{"chunk-length", "chunked and with a Content-Length",
		"chunks go before, as RFC 9112 says, or failed"},
		raw: say(htmlHead + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" +
			strconv.FormatInt(int64(len(smallPage)), 16) + "\r\n" + smallPage + "\r\n0\r\n\r\n")},
	{Misdeed: Misdeed{"http09", "a page without status line and head", "failed as not HTTP"}, raw: say(smallPage)},
	{Misdeed: Misdeed{"status-nonsense", "a status that is no number", "failed as not HTTP"},
		raw: say("HTTP/1.1 fine OK\r\n\r\n" + smallPage)},
	{Misdeed: Misdeed{"status-999", "status 999", "archived, links not followed"},
		answer: func(r *fakeweb.Reply) {
			r.HTML(999)
			io.WriteString(r, smallPage)
		}},
	{Misdeed: Misdeed{"garbage", "random bytes instead of HTTP", "failed as not HTTP"},
		raw: func(s *fakeweb.Stage) error {
			rnd, b := rand.New(rand.NewPCG(1, 2)), make([]byte, 4096)
			for i := range b {
				b[i] = byte(rnd.Uint32())
			}
			_, err := s.Write(b)
			return err
		}},
	{Misdeed: Misdeed{"empty", "closes without a byte", "failed: disconnect, tried again a few times"},
		raw: func(*fakeweb.Stage) error { return nil }},
	{Misdeed: Misdeed{"reset-head", "resets the connection before a byte", "failed: reset, tried again a few times"},
		raw: func(s *fakeweb.Stage) error { s.Reset(); return nil }},
	{Misdeed: Misdeed{"reset-body", "resets the connection in the middle of the body",
		"kept as truncated: disconnect, or failed: reset"},
		raw: func(s *fakeweb.Stage) error {
			if err := s.Say(htmlHead + "Content-Length: 100000\r\n\r\n" + smallPage); err != nil {
				return err
			}
			// A reset overtakes what was sent before it; the client is given time to read that.
			if err := s.Pause(20 * time.Millisecond); err != nil {
				return err
			}
			s.Reset()
			return nil
		}},
	{Misdeed: Misdeed{"unsolicited", "a second answer after the one asked for",
		"the second is never taken for the answer to a later request"},
		raw: func(s *fakeweb.Stage) error {
			if err := s.Say(sized(htmlHead, smallPage) + sized(htmlHead,
				"<a href=\"/poison\">poison</a>")); err != nil {
				return err
			}
			return s.Pause(-1)
		}},
	{Misdeed: Misdeed{"retry-after", "503 with Retry-After of ten years",
		"held back no longer than the cap of the back-off"},
		answer: func(r *fakeweb.Reply) {
			r.Header("Retry-After", "315360000")
			r.Error(503)
		}},
	{Misdeed: Misdeed{"header-flood", "ten thousand cookies",
		"failed at the bound of the head, or archived; memory bounded"},
		answer: func(r *fakeweb.Reply) {
			for i := range 10_000 {
				r.Header("Set-Cookie", fmt.Sprintf("c%d=%d; Path=/", i, i))
			}
			r.HTML(200)
			io.WriteString(r, smallPage)
		}},
	{Misdeed: Misdeed{"charset-lie", "says UTF-8 and writes Shift_JIS", "archived as it came; the links are found"},
		answer: markup(func(*fakeweb.Reply) string {
			text, err := japanese.ShiftJIS.NewEncoder().String(strings.Repeat("これは文字コードを偽るページである。", 400))
			if err != nil {
				panic(err)
			}
			return text + "<a href=\"/next.html\">next</a>"
		})},
	{Misdeed: Misdeed{"type-lie", "says text/html and sends a picture of 1 MB", "archived; no links, no time lost"},
		answer: markup(func(*fakeweb.Reply) string {
			return "GIF89a\x01\x00\x01\x00\x80\x00\x00" + strings.Repeat("\x00\xff\x3c\x61", 256<<10)
		})},
	{Misdeed: Misdeed{"deep-html", "a hundred thousand elements within each other",
		"read without recursion; the link at the bottom is found"},
		answer: markup(func(*fakeweb.Reply) string {
			return strings.Repeat("<div>", 100_000) +
				"<a href=\"/bottom\">bottom</a>"
		})},
	{Misdeed: Misdeed{"open-comment", "a comment that never ends, of 2 MB, and 100,000 open quotes",
		"read in linear time"},
		answer: markup(func(*fakeweb.Reply) string {
			return "<a href=\"/first\">first</a>" + strings.Repeat("<a href=\"", 100_000) + "\"><!--" +
				strings.Repeat("-- > <!-", 256<<10)
		})},
	{Misdeed: Misdeed{"growing-path", "links deeper/ from every page, for ever",
		"stopped by the rule against repeated segments"},
		answer: markup(func(*fakeweb.Reply) string { return "<a href=\"deeper/\">deeper</a>" })},
	{Misdeed: Misdeed{"growing-query", "links to itself with one parameter more, for ever",
		"stopped by the rule against repeated pairs"},
		answer: markup(func(r *fakeweb.Reply) string {
			sep := "?"
			if strings.Contains(r.Target(), "?") {
				sep = "&amp;"
			}
			return "<a href=\"" + strings.ReplaceAll(r.Target(), "&", "&amp;") + sep + "more=1\">more</a>"
		})},
	{Misdeed: Misdeed{"calendar", "a calendar without end", "stopped by the page cap or the growth rule"},
		shape: func(h *fakeweb.Host) { h.Pages, h.Calendar = 10, true }},
	{Misdeed: Misdeed{"maze", "a new session id in every link", "stopped by the page cap or the growth rule"},
		shape: func(h *fakeweb.Host) { h.Pages, h.Sessions = 10, true }},
	{Misdeed: Misdeed{"soft-404", "200 and the words \"not found\" for what does not exist",
		"found out and not archived time and again"},
		shape: func(h *fakeweb.Host) { h.Pages, h.Soft = 20, true }},
	{Misdeed: Misdeed{"robots-endless", "a robots.txt without end", "read to 512 KiB; what was read counts"},
		raw: after("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /secret\n",
			"Disallow: /and/so/on\n")},
	{Misdeed: Misdeed{"robots-loop", "a robots.txt that leads to itself",
		"five hops, then as if there were none or unreachable"},
		answer: redirect(func(*fakeweb.Reply) string { return "/robots.txt" })},
	{Misdeed: Misdeed{"robots-silent", "a robots.txt that never comes", "nothing of the host is fetched"},
		raw: func(s *fakeweb.Stage) error { return s.Pause(-1) }},
	{Misdeed: Misdeed{"robots-private", "a robots.txt that leads to " + privateName,
		"refused by the address guard; nothing of the host is fetched"},
		answer: redirect(func(*fakeweb.Reply) string { return "http://" + privateName + "/robots.txt" })},
	{Misdeed: Misdeed{"robots-html", "200 and a page of HTML for robots.txt", "no rule in it: everything is allowed"},
		answer: markup(func(*fakeweb.Reply) string { return smallPage })},
	{Misdeed: Misdeed{tlsStall, "a TLS handshake that never goes on", "timeout after the connect time"},
		answer: markup(func(*fakeweb.Reply) string { return smallPage })},
	{Misdeed: Misdeed{tlsGarbage, "plain HTTP in answer to a TLS handshake", "failed: TLS"},
		answer: markup(func(*fakeweb.Reply) string { return smallPage })},
}

// gzipHead begins a gzip member without name and time.
const gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

func gzipped(text string) []byte {
	b := bytes.NewBufferString(gzipHead)
	z, _ := flate.NewWriter(b, flate.DefaultCompression) // the level is a good one
	io.WriteString(z, text)
	z.Close()
	tail := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text)))
	b.Write(binary.LittleEndian.AppendUint32(tail, uint32(len(text))))
	return b.Bytes()
}

// packer is a compressor that can end a block at any byte.
type packer interface {
	io.WriteCloser
	Flush() error
}

var megabyte [1 << 20]byte

// packedZeros packs two megabytes of zeros apart. The second refers back to the first, as every later one would to the
// one before it: so it may be repeated without end.
func packedZeros(z packer, out *bytes.Buffer) (first, next []byte, err error) {
	for range 2 {
		first = bytes.Clone(out.Bytes())
		out.Reset()
		if _, err := z.Write(megabyte[:]); err != nil {
			return nil, nil, err
		}
		if err := z.Flush(); err != nil {
			return nil, nil, err
		}
	}
	return first, out.Bytes(), nil
}

// bombSum is the checksum of so many zeros, of which there are 10 GB: to read them for every bomb would cost the one
// who throws it more than the one it is thrown at. The sum of twice as many zeros follows from that of the half: it is
// the same table of 32 shifts, squared.
func bombSum(size int) uint32 {
	var shift [32]uint32 // what one zero bit makes of each bit of the register
	shift[0] = crc32.IEEE
	for i := 1; i < 32; i++ {
		shift[i] = 1 << (i - 1)
	}
	sum := ^uint32(0)
	for bits := 8 * size; bits > 0; bits >>= 1 {
		if bits&1 == 1 {
			sum = shiftBy(&shift, sum)
		}
		var twice [32]uint32
		for i := range twice {
			twice[i] = shiftBy(&shift, shift[i])
		}
		shift = twice
	}
	return ^sum
}

func shiftBy(shift *[32]uint32, register uint32) (sum uint32) {
	for i := range shift {
		if register>>i&1 == 1 {
			sum ^= shift[i]
		}
	}
	return sum
}

// gzipBomb writes the same packed megabyte over and over, which is a valid gzip stream with a right checksum.
func gzipBomb(w io.Writer, size int) error {
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return err
	}
	first, next, err := packedZeros(z, &packed)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, htmlHead+"Content-Encoding: gzip\r\n\r\n"+gzipHead); err != nil {
		return err
	}
	for i := range size / len(megabyte) {
		piece := next
		if i == 0 {
			piece = first
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	// an empty last block of fixed codes, then the checksum
	tail := binary.LittleEndian.AppendUint32([]byte{3, 0}, bombSum(size))
	_, err = w.Write(binary.LittleEndian.AppendUint32(tail, uint32(size))) // the size counts modulo 2^32
	return err
}

// zstdBomb writes blocks of four bytes that each stand for 128 kB of one letter (RFC 8878, 3.1.1.2.2).
func zstdBomb(w io.Writer, size int) error {
	const block = 128 << 10
	if _, err := io.WriteString(w, htmlHead+"Content-Encoding: zstd\r\n\r\n\x28\xb5\x2f\xfd\x00\x38"); err != nil {
		return err
	}
	const runLength = 1 << 1
	one := binary.LittleEndian.AppendUint32(nil, block<<3|runLength)
	one[3] = 'a'
	out := bufio.NewWriter(w)
	for range size/block - 1 {
		if _, err := out.Write(one); err != nil {
			return err
		}
	}
	one[0] |= 1 // the last block
	out.Write(one)
	return out.Flush()
}

// brotliZeros are the pieces of every brotli bomb: to pack them takes longer than what a crawler does with them.
var brotliZeros = sync.OnceValues(func() (pieces [2][]byte, err error) {
	var packed bytes.Buffer
	pieces[0], pieces[1], err = packedZeros(brotli.NewWriterLevel(&packed, 5), &packed)
	return pieces, err
})

func brotliBomb(w io.Writer, size int) error {
	pieces, err := brotliZeros()
	if err != nil {
		return err
	}
	first, next := pieces[0], pieces[1]
	if _, err := io.WriteString(w, htmlHead+"Content-Encoding: br\r\n\r\n"); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(first)
	for range size/len(megabyte) - 1 {
		if _, err := out.Write(next); err != nil {
			return err
		}
	}
	out.WriteByte(3) // the last block, empty
	return out.Flush()
}
