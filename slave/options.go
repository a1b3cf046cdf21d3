package slave

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"github.com/gocolly/colly/v2"

	"henro/actors/archivist"
	"henro/actors/floor"
	"henro/messages"
	"henro/slave/browser"
	"henro/slave/render"
)

// Options are those of one slave. How pages are fetched comes from the master that welcomes it.
type Options struct {
	// the same at every start of this slave; leases of an older boot of the name end when a newer registers
	Name    string
	Boot    string // new at every start
	Version string
	Address string // "ip:port" of the actors, as other nodes reach it; empty inside the master's own process

	// Connections is C of equation (9): how many requests are under way at once. 256 keeps 200 ms sites busy at over
	// 1,000 pages/s in some 100 MB.
	Connections int
	// Parsers is how many pages are parsed and compressed at once. Zero means one for each processor.
	Parsers int
	// UnstoredFacts bounds what is kept until the master has stored it; fetching stops at the bound. 4096 facts of
	// ordinary pages are some 20 MB, and a second of work at full speed.
	UnstoredFacts int
	// UnparsedResponses bounds the responses that wait for a Parser, beside one of each lease: ordinary pages take 8 to
	// 32 kB each, large ones as much as they are.
	UnparsedResponses int
	// KeptBytes bounds the bytes of responses that wait for a Parser, of records that wait for their sync, and of facts
	// that wait to be stored; at the bound those leases fetch no more that keep more than an equal share of it. 64 MiB:
	// a second of work at full speed takes half of it, and twenty pages of 50,000 links all.
	KeptBytes int
	// BodyMemory bounds what all fetches together hold of large bodies, until they are parsed (fetch.Options.Memory).
	// Zero is 64 MiB beside one largest body.
	BodyMemory int64
	// ResendAfter is how long an acknowledgement is awaited before facts are sent again.
	ResendAfter time.Duration
	// AskEvery is the time between two requests for work, which also renew the leases.
	AskEvery time.Duration
	// MaxLinks bounds the outlinks kept of one page.
	MaxLinks int

	// Admit is admission.Options.Admit of a slave in the master's own process; nil: there is no such rule.
	Admit func(from, to string) bool
	// Noise reports that a page that is not what it was differs from its last capture in nothing that its reader wants
	// to know; body is HTML in UTF-8. nil: nobody does. Parsers ask it, all at once.
	Noise func(url string, status int, body []byte) bool
	// Colly is fetch.Options.Colly of a slave in the master's own process; nil: there are no callbacks.
	Colly func(*colly.Collector)
	// Fetched gets how long each visit took; nil: it is not wanted.
	Fetched func(took time.Duration)
	// Mailboxes tells how long those of this process are, for the master to show; nil: nothing is reported, as inside
	// the master's own process.
	Mailboxes func() []floor.KindRow

	// Browser says which browser runs the scripts of pages, where a crawl wants it. Its Dir, for scratch, is the one
	// beside the archive if it is empty.
	Browser browser.Options
	// Others are the other slaves of the crawl, whose captures a page may need; nil: it has none.
	Others render.Others

	Archive archivist.Options
	// ArchiveStopped is called with the error when captures cannot be written, and with nil when they can be again;
	// nil: it is not called. It must not wait.
	ArchiveStopped func(error)
	// Waits says why no hosts are to be taken on for now; "" or nil: they are. It must not wait itself.
	Waits func() string
	// Shows replaces the browser, for tests in virtual time.
	Shows render.Browser
	// Dial replaces the network, for tests in virtual time.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// DefaultOptions are those of a lab PC.
func DefaultOptions() Options {
	return Options{
		Connections:       256,
		Parsers:           0,
		UnstoredFacts:     4096,
		UnparsedResponses: 256,
		KeptBytes:         64 << 20,
		ResendAfter:       5 * time.Second,
		AskEvery:          time.Second,
		MaxLinks:          50_000,
		Archive:           archivist.DefaultOptions(),
	}
}

// Validate says what is wrong with the options, and fills in what is left to the machine.
func (o *Options) Validate() error {
	if o.Name == "" || o.Boot == "" {
		return errors.New("a slave needs a name and a boot id")
	}
	if o.Connections < 1 || o.Connections > 100_000 {
		return fmt.Errorf("connections %d: want 1 to 100000", o.Connections)
	}
	o.Parsers = cmp.Or(o.Parsers, runtime.GOMAXPROCS(0))
	for _, bound := range []struct {
		name  string
		value int
	}{{"parsers", o.Parsers}, {"unstored facts", o.UnstoredFacts}, {"unparsed responses", o.UnparsedResponses},
		{"bytes kept", o.KeptBytes}, {"links of a page", o.MaxLinks}} {
		if bound.value < 1 {
			return fmt.Errorf("%s %d: want at least 1", bound.name, bound.value)
		}
	}
	if o.ResendAfter <= 0 || o.AskEvery <= 0 {
		return fmt.Errorf("resend after %v, ask every %v: want more than nothing", o.ResendAfter, o.AskEvery)
	}
	return o.Archive.Writer.Records.Validate()
}

// mostLeases is how many hosts a slave holds, resting ones included: S/C of equation (9) are some eight at the default
// of 256 connections. At the default of 5 s between two requests a lease is some six visits, and 10 kB.
const mostLeases = 2048

// Leases bounds the hosts that are held at once. Each takes memory, an open connection that is kept for its next
// request, and one of Connections only while it is asked.
func (o *Options) Leases() int { return max(mostLeases, o.Connections) }

// kindsReported bounds the kinds of actors in a request for work.
const kindsReported = 16

// mailboxes are how long those of this process are.
func (o *Options) mailboxes() []*messages.Mailboxes {
	if o.Mailboxes == nil {
		return nil
	}
	var reported []*messages.Mailboxes
	for _, k := range o.Mailboxes() {
		if k.Actors > 0 && len(reported) < kindsReported {
			reported = append(reported, &messages.Mailboxes{
				Kind: k.Kind, Actors: uint32(k.Actors), Waiting: uint32(k.Queue), Longest: uint32(k.Longest),
				Taken: k.Taken,
			})
		}
	}
	return reported
}
