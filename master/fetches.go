package master

import (
	"bytes"
	"cmp"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
	"henro/actors/host"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/ring"
	"henro/store/journal"
)

// Fetch is one visit as its slave reported it: a line of logs/fetch.jsonl. Fields that Heritrix' crawl log has, in the
// JSON of its contrib module, have the same names and meanings; slave, cause and says are henro's own.
// docs/output.md describes each.
type Fetch struct {
	Timestamp string `json:"timestamp"` // when the report arrived, UTC with milliseconds
	Status    int    `json:"status_code"`
	Size      uint64 `json:"size"` // bytes of the payload as it came
	URL       string `json:"url"`
	Hops      string `json:"hop_path"`
	Mime      string `json:"mimetype,omitempty"`
	// 17 digits, UTC, and milliseconds until the last byte; nothing: no request was made
	Start       string         `json:"start_time_plus_duration,omitempty"`
	Digest      string         `json:"content_digest,omitempty"`
	Host        string         `json:"host"`
	Annotations string         `json:"annotations,omitempty"`
	File        string         `json:"warc_filename,omitempty"`
	Offset      uint64         `json:"warc_offset,omitempty"`
	Slave       string         `json:"slave"`
	Cause       messages.Cause `json:"cause,omitzero"`
	Took        time.Duration  `json:"-"`
}

// At is when the report arrived.
func (f *Fetch) At() time.Time {
	at, _ := time.Parse(fetchTime, f.Timestamp) // it was written here
	return at
}

// The forms of moments in Heritrix' crawl log.
const (
	fetchTime    = "2006-01-02T15:04:05.000Z"
	fetch17Digit = "20060102150405.000"
)

// heritrixStatus are the codes by which Heritrix says why there is no response.
var heritrixStatus = map[messages.Reason]int{
	messages.Reason_DNS_NOT_FOUND:      -1, // DNS lookup failed
	messages.Reason_DNS_FAILED:         -1,
	messages.Reason_CONNECT_REFUSED:    -2, // HTTP connect failed
	messages.Reason_CONNECT_TIMEOUT:    -2,
	messages.Reason_CONNECT_FAILED:     -2,
	messages.Reason_TLS_FAILED:         -2,
	messages.Reason_CONNECTION_LOST:    -3, // HTTP connect broken
	messages.Reason_HEADERS_TOO_LARGE:  -3,
	messages.Reason_TIMEOUT:            -4, // HTTP timeout
	messages.Reason_NOT_PARSED:         -5, // unexpected exception
	messages.Reason_NOT_ARCHIVED:       -5,
	messages.Reason_ROBOTS_UNREACHABLE: -61, // prerequisite robots.txt failed
	messages.Reason_MALFORMED:          -404,
	messages.Reason_ADDRESS_FORBIDDEN:  -5001, // blocked by a setting
	messages.Reason_WALL:               -5002, // blocked by a processor
	messages.Reason_CANCELED:           -5004, // the run ended
	messages.Reason_ROBOTS_DENIED:      -9998,
}

// fetchOf is what a fact says of a visit; without a URL: the fact is of something else.
func fetchOf(at time.Time, slave string, fact *messages.Fact) Fetch {
	f := Fetch{Timestamp: at.UTC().Format(fetchTime), Host: fact.Host, Slave: slave}
	var ago int64
	var reason messages.Reason
	switch {
	case fact.GetVisited() != nil:
		v := fact.Visited
		ago, reason = v.AgoNs, v.Reason
		f.URL, f.Status, f.Size, f.Mime, f.Took = v.Url, int(v.Status), v.BodyBytes, v.Mime, time.Duration(v.TookNs)
		f.Hops, f.Annotations, f.Cause = hopPath(v), annotations(v), causeOf(v)
		f.File, f.Offset = v.WarcFile, v.WarcOffset
		if len(v.Digest) > 0 {
			f.Digest = "sha1:" + base32.StdEncoding.EncodeToString(v.Digest)
		}
	case fact.GetRules() != nil:
		v := fact.Rules
		failure := host.RobotsFailure(v, at)
		ago, reason = v.AgoNs, v.Reason
		f.URL, f.Hops = fact.Host+cmp.Or(v.Path, "/robots.txt"), "P"
		f.Status, f.Took = int(v.Status), time.Duration(v.TookNs)
		f.Cause = failure.Cause()
	}
	if reason != messages.Reason_NONE {
		f.Status = heritrixStatus[reason]
	}
	if reason != messages.Reason_ROBOTS_DENIED && reason != messages.Reason_ROBOTS_UNREACHABLE {
		start := at.Add(-time.Duration(ago)).UTC().Format(fetch17Digit)
		f.Start = fmt.Sprintf("%s+%d", strings.Replace(start, ".", "", 1), f.Took.Milliseconds())
	}
	return f
}

// causeOf is the cause of a visit that failed, or whose body is not whole.
func causeOf(v *messages.PageVisited) messages.Cause {
	cause := messages.CauseOf(int(v.Status), v.Reason, messages.Says(v.Says))
	if cause.IsZero() && v.Truncated {
		cause = messages.Cause{Word: messages.Truncated, Says: messages.Says(v.Says)}
	}
	return cause
}

// maxHops bounds what a slave can have written for a depth.
const maxHops = 255

// hopPath is how a page was reached: L for a link, E for a requisite, R for a redirect. Only the redirects right before
// the page are known.
func hopPath(v *messages.PageVisited) string {
	embedded := v.Requisite
	if embedded == outlink.PageToo {
		embedded = 0
	}
	return strings.Repeat("L", int(min(max(v.Depth, 0), maxHops))) + strings.Repeat("E", int(min(embedded, maxHops))) +
		strings.Repeat("R", int(min(v.Redirects, maxHops)))
}

// annotations are those of Heritrix' annotations that apply, separated by commas.
func annotations(v *messages.PageVisited) string {
	var all []string
	if v.Attempts > 0 {
		all = append(all, fmt.Sprintf("%dt", v.Attempts+1))
	}
	switch {
	case v.Unchanged && v.Status == 304:
		all = append(all, "warcRevisit:notModified")
	case v.Unchanged:
		all = append(all, "warcRevisit:digest")
	}
	if v.Truncated {
		all = append(all, "lenTrunc")
	}
	return strings.Join(all, ",")
}

// fetchLogName is where the fetch log lies below the directory of a crawl.
var fetchLogName = filepath.Join("logs", "fetch.jsonl")

// fetchJournal keeps 10 files of 64 MB: some 1.5 million visits.
var fetchJournal = journal.Options{Bytes: 64 << 20, Older: 9}

const (
	flushFetches = time.Second // a line waits in memory for so long at most
	// latestFetches are kept in memory: some 300 kB with URLs of ordinary length, 2 MB with the longest
	latestFetches = 1000
)

type (
	// fetchesReported are facts that a slave has reported, each once.
	fetchesReported struct {
		slave string
		at    time.Time
		facts []*messages.Fact
	}
	// FetchesAsked asks for the latest visits. It is answered by FetchesReported.
	FetchesAsked struct {
		Most   int
		Failed bool // only those that failed
	}
	// FetchesReported are visits, the latest first.
	FetchesReported struct {
		Fetches []Fetch `json:"fetches"`
	}
	fetchesDue struct{}
)

// fetchLog is the actor that writes logs/fetch.jsonl and keeps the latest lines. A line that cannot be written is lost,
// and the log says so once: the crawl is worth more.
type fetchLog struct {
	dir     string
	log     *logrus.Entry
	file    *journal.Journal // nil: it could not be opened
	latest  ring.Ring[Fetch]
	timer   floor.Timer
	waiting bool // lines are in memory
	failing bool // the last write failed
}

func fetchLogProps(dir string, log *logrus.Entry) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &fetchLog{dir: dir, latest: ring.Of[Fetch](latestFetches), log: log.WithField("actor", "fetches")}
	})
}

// Receive is the table of contents.
func (l *fetchLog) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		file, err := journal.Open(filepath.Join(l.dir, fetchLogName), fetchJournal)
		if err == nil {
			l.file = file
		}
		l.report(err)
	case *actor.Stopped:
		l.timer.Stop()
		if l.file != nil {
			l.report(l.file.Close())
		}
	case *fetchesReported:
		l.take(ctx, m)
	case *FetchesAsked:
		ctx.Respond(&FetchesReported{l.newest(m)})
	case *fetchesDue:
		l.waiting = false
		l.report(l.file.Flush())
	default:
		floor.Unhandled(ctx, l.log)
	}
}

func (l *fetchLog) take(ctx actor.Context, m *fetchesReported) {
	for _, fact := range m.facts {
		if fetch := fetchOf(m.at, m.slave, fact); fetch.URL != "" {
			l.keep(&fetch)
		}
	}
	if l.file != nil && !l.waiting {
		l.waiting = true
		l.timer.After(ctx, flushFetches, &fetchesDue{})
	}
}

func (l *fetchLog) keep(fetch *Fetch) {
	l.latest.Add(*fetch)
	if l.file != nil {
		l.report(l.file.Append(fetch.encode))
	}
}

// encode writes the fetch as a line of JSON, with & and < in URLs as they are.
func (f *Fetch) encode(b *bytes.Buffer) error {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(f)
}

// newest are the latest visits, the latest first.
func (l *fetchLog) newest(m *FetchesAsked) []Fetch {
	fetches := []Fetch{}
	for fetch := range l.latest.Backward() {
		if len(fetches) < m.Most && (!m.Failed || !fetch.Cause.IsZero()) {
			fetches = append(fetches, *fetch)
		}
	}
	return fetches
}

func (l *fetchLog) report(err error) {
	if err != nil && !l.failing {
		l.log.WithField("err", err).Error("the fetch log cannot be written")
	}
	l.failing = err != nil
}
