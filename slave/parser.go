package slave

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/floor"
	"henro/actors/living"
	"henro/actors/robots"
	"henro/actors/topic"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/slave/charset"
	"henro/slave/fetch"
	"henro/slave/links"
	"henro/slave/mediatype"
	"henro/slave/owed"
	"henro/slave/walk"
	"henro/slave/walls"
	"henro/slave/walls/alike"
	"henro/store/archive/warc"
	"henro/store/fingerprint"
)

// parse asks a Parser to make a fact, a capture and links out of a response.
type parse struct {
	*assignment
	order uint64 // of the fact
	*fetched
	started time.Time // of the request
	visit   *walk.Visit

	visited *messages.PageVisited // to be completed; nil: the visit is of the host's rules
	follow  bool                  // the Fetcher wants links of its host
	usage   []string              // what is said of the use of the page: by the rules, then also by itself
}

// Parser is the actor that does what costs time: scanning, hashing, compressing. There is one for each processor, and
// the pages of a lease are dealt to them in turn, so that a single host keeps all processors busy. Large pages have a
// Parser of their own. The Slave puts the facts in order.
//
// What waits is parsed in the order of the leases' service tags (account), and of arrival within a lease.
//
// It owns its scanner, its resolver and its builder, which keep their buffers from page to page.
type Parser struct {
	o         Options
	archivist *actor.PID
	slave     *actor.PID
	log       *logrus.Entry
	alike     *alike.Hosts // shared by all Parsers of the slave

	document links.Document
	nearer   fingerprint.Nearer
	reading  *topic.Reading // of document, while its links are resolved; nil: the crawl has no topic
	resolver *weburl.Resolver
	builder  *warc.Builder
	unique   once             // of found, by URL and kind
	written  once             // of the references at hand, as they are written
	found    messages.LinkSet // as it grows; its arrays are kept for the next page, and copied when it is whole
	bytes    int              // of the URLs and texts of found
	urls     []weburl.URL     // found.Urls, parsed
	follow   []walk.Visit     // of these, what the Fetcher is sent; its array is kept likewise
	waiting  []*parse         // in order of arrival; at most walk.MaxAhead of each lease
	chosen   bool             // a choose is in the mailbox
	parsing  *parse           // the one at hand, until it is answered
	begun    time.Time        // parsing was chosen
	timer    floor.Timer
}

func parserProps(o Options, archivist, slave *actor.PID, log *logrus.Entry, hosts *alike.Hosts) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		builder, err := warc.NewBuilder(o.Archive.Writer.Records)
		floor.Need(err, "build records") // Options.Validate has looked
		return &Parser{o: o, archivist: archivist, slave: slave, log: log.WithField("actor", "parser"),
			builder: builder, alike: hosts}
	})
}

// Receive is the table of contents.
func (p *Parser) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Stopping, *actor.Restarting:
		p.timer.Stop()
	case *parse:
		p.waiting = append(p.waiting, m)
		p.chooseSoon(ctx)
	case *gateOpens:
		p.chooseSoon(ctx)
	case *choose:
		p.chosen = false
		p.choose(ctx)
	default:
		floor.Unhandled(ctx, p.log)
	}
}

// Failed implements floor.Restartable. A page that no Parser gets through counts as a visit that failed, so that it is
// tried again a few times and then given up, and its lease goes on.
func (p *Parser) Failed(ctx actor.Context, message any) {
	for _, waiting := range p.waiting {
		ctx.Send(ctx.Self(), waiting)
	}
	m := p.parsing
	if lost, ok := message.(*parse); ok && !slices.Contains(p.waiting, lost) {
		m, p.begun = lost, time.Now()
	}
	if m == nil {
		return
	}
	made := m.made()
	found := &parsed{}
	if m.visit.File != nil {
		found.file = &walk.File{Rules: robots.Unreached()}
		rules, _ := found.file.Rules.MarshalBinary()
		made.Message.Rules = &messages.RulesVisited{Reason: messages.Reason_NOT_PARSED,
			Says: parserFailed, TookNs: int64(m.response.Took), Rules: rules}
	} else {
		v := m.visit.Visited(messages.Reason_NOT_PARSED)
		v.Says, v.TookNs, v.Cookies = parserFailed, int64(m.response.Took), m.visited.Cookies
		made.Message.Visited = v
	}
	ctx.Send(p.slave, made)
	p.answer(ctx, m, found, 0)
}

// made begins the fact.
func (m *parse) made() *factMade {
	return &factMade{lease: m.task.Lease,
		Fact: owed.Fact{Order: m.order, Started: m.started, Message: &messages.Fact{}}}
}

type (
	choose    struct{} // says to choose the next page, once all that has come so far is among those that wait
	gateOpens struct{} // says to look whether a page that waits at the gate may be parsed
)

// gateEvery is how often a Parser looks at the gate: the master stores facts several times a second.
const gateEvery = 20 * time.Millisecond

func (p *Parser) chooseSoon(ctx actor.Context) {
	if !p.chosen {
		p.chosen = true
		ctx.Send(ctx.Self(), &choose{})
	}
}

// choose parses the page that is next, if one may be parsed now.
func (p *Parser) choose(ctx actor.Context) {
	now, next := time.Now(), -1
	for i, m := range p.waiting {
		if len(m.response.Body) >= gatedBody && m.kept.gated(now) {
			m.kept.arrive()
		} else if next < 0 || m.kept.served.Load() < p.waiting[next].kept.served.Load() {
			next = i
		}
	}
	if next >= 0 {
		m := p.waiting[next]
		p.waiting = slices.Delete(p.waiting, next, next+1)
		p.parsing, p.begun = m, now
		m.kept.serve()
		p.parse(ctx, m)
	}
	switch {
	case len(p.waiting) == 0:
	case next >= 0:
		p.chooseSoon(ctx)
	default:
		p.timer.After(ctx, gateEvery, &gateOpens{})
	}
}

// parserFailed is the reason of a visit on whose response a Parser panicked.
const parserFailed = "a parser panicked on the response: its stack is in the log of the slave"

// saysOf is the error of a response that failed or is not whole.
func saysOf(r *fetch.Response) string {
	if r.Err == nil {
		return ""
	}
	return messages.Says(r.Err.Error())
}

// answer lets the Fetcher go on, and the response go.
func (p *Parser) answer(ctx actor.Context, m *parse, found *parsed, links int) {
	m.kept.parsed(m.response.Held(), time.Since(p.begun)+time.Duration(links)*linkCost)
	m.response.Release()
	p.parsing = nil // its links may be megabytes
	ctx.Send(m.fetcher, found)
}

func (p *Parser) parse(ctx actor.Context, m *parse) {
	made := m.made()
	made.kept = m.kept
	found := &parsed{}
	if m.visit.File != nil {
		made.Message.Rules = p.robots(m, found)
	} else {
		p.page(m, found)
		p.wall(m, found)
		made.Message.Visited = m.visited
	}
	leftOut := admission.None
	if m.visited != nil && m.response.Reason == messages.Reason_NONE {
		leftOut = leaveOut(m)
		if leftOut != admission.None {
			m.visited.Skipped = leftOut.String()
			m.visited.Etag, m.visited.LastModified = "", "" // a 304 would point back at nothing
			m.visited.RenderAfterNs, found.render = 0, nil  // nor is there anything to be shown
		} else if m.response.Truncated == "length" {
			m.visited.Skipped = admission.Size.String()
		}
	}
	links := p.countLinks(made)
	switch {
	case m.page != nil:
		p.archiveShown(ctx, m, made)
	case m.response.Reason == messages.Reason_NONE && leftOut == admission.None && m.recalled == nil:
		p.archive(ctx, m, made)
	default:
		m.recalled.Tell(m.visited, m.response, m.scripts)
		ctx.Send(p.slave, made)
	}
	p.answer(ctx, m, found, links)
}

// robots reads what came for robots.txt or tdmrep.json.
func (p *Parser) robots(m *parse, found *parsed) *messages.RulesVisited {
	r := m.response
	v := &messages.RulesVisited{Status: uint32(r.Status), Reason: r.Reason, TookNs: int64(r.Took),
		RetryAfterNs: int64(r.RetryAfter), Says: saysOf(r)}
	file := m.visit.File.Answered(answer(r), m.settings.sent.RobotsAgent, slices.Contains(m.settings.sent.Obey, "tdm"))
	found.file = &file
	if m.visit.File.TDM() {
		v.Path = robots.TDMFile
	}
	switch {
	case file.Elsewhere:
		v.Location = file.Ask.String()
	case file.Rules != nil: // else the last answer will bring them
		v.Rules, _ = file.Rules.MarshalBinary()
	}
	return v
}

// page completes the fact of a page.
func (p *Parser) page(m *parse, found *parsed) {
	r, v := m.response, m.visited
	v.Status, v.Reason, v.TookNs, v.RetryAfterNs = uint32(r.Status), r.Reason, int64(r.Took), int64(r.RetryAfter)
	v.Says = saysOf(r)
	if r.Reason != messages.Reason_NONE {
		return
	}
	v.Etag, v.LastModified = bounded(r.Header.Get("ETag")), bounded(r.Header.Get("Last-Modified"))
	v.ModifiedBeforeNs = modifiedBefore(r)
	v.BodyBytes = uint64(len(r.Payload))
	v.Truncated = r.Truncated != ""
	// without validators in the request a 304 is no answer to it
	if t := m.visit.Task; r.Status == http.StatusNotModified && (t.GetEtag() != "" || t.GetLastModified() != "") {
		v.Unchanged = true
		return
	}
	digest := warc.Sum(r.Payload)
	v.Digest = digest[:]
	v.Unchanged = m.visit.Task != nil && r.Status == http.StatusOK && string(m.visit.Task.Digest) == string(v.Digest)
	v.Mime = mimeOf(r)
	directives := robots.ParseTag(r.Header.Values("X-Robots-Tag"), m.settings.sent.RobotsAgent)

	set := &p.found
	set.Urls, set.Kinds, set.Flags, set.Anchors = set.Urls[:0], set.Kinds[:0], set.Flags[:0], set.Anchors[:0]
	set.Around = set.Around[:0]
	p.urls, p.bytes = p.urls[:0], 0
	p.unique.reset()
	p.redirect(m, set)
	switch {
	case isHTML(v.Mime):
		base := p.html(m, &directives)
		p.resolve(base, p.document.Links, set, v.Charset)
		if m.scripts != nil && r.Status == http.StatusOK {
			p.scripts(m, base, set, found)
		}
		p.reading = nil
	case r.Status == http.StatusOK && p.document.ScanRequisites(v.Mime, r.URL.String(), r.Body, p.options()):
		p.resolve(r.URL, p.document.Links, set, "")
	case m.settings.sent.Sitemaps && r.Status == http.StatusOK && mayName(v.Mime):
		p.entries(m, set)
	}
	p.resolve(r.URL, links.Header(r.Header.Values("Link")), set, "")
	v.Noindex, v.Nofollow = directives.NoIndex, directives.NoFollow
	p.usage(m, &directives)
	var all outlink.Flags
	if directives.NoFollow {
		all |= outlink.NoFollow
	}
	if foreign(m) {
		all |= outlink.Foreign
	}
	for i := range set.Flags {
		set.Flags[i] |= byte(all)
	}
	v.Links = &messages.LinkSet{
		Urls: slices.Clone(set.Urls), Kinds: slices.Clone(set.Kinds), Flags: slices.Clone(set.Flags),
		Anchors: together(set.Anchors), Around: slices.Clone(set.Around),
	}
	if m.follow {
		p.pick(m, set, found)
	}
	if p.bytes > maxRoom || len(p.document.Links) > maxRoomLinks { // the arrays of a link farm are not kept
		p.found, p.urls, p.follow, p.document, p.resolver = messages.LinkSet{}, nil, nil, links.Document{}, nil
		p.unique, p.written = once{}, once{}
	}
}

// wall makes a failure of a visit that came before a wall: nothing that was read is told but what belongs into the
// archive. A page that is as it was when it was content is none, and its text may not have been read.
func (p *Parser) wall(m *parse, found *parsed) {
	r, v := m.response, m.visited
	if v.Reason != messages.Reason_NONE || v.Unchanged && m.visit.Task.GetRequisite()%7 != 0 {
		return
	}
	page := walls.Page{URL: v.Url, Redirected: m.visit.Hops > 0, Known: len(m.visit.Task.GetDigest()) > 0,
		Status: r.Status, Header: r.Header}
	if isHTML(v.Mime) {
		page.Body, page.Document = r.Body, &p.document
	}
	if kind := p.alike.Look(m.assignment.task.Host, &page, v.Unchanged, p.begun); kind != walls.None {
		m.visited = kind.Failed(m.visit.Visited(messages.Reason_WALL), v, walls.Gave(r.RequestBytes))
		found.follow, found.wall, found.render = nil, m.visited.Status == http.StatusServiceUnavailable, nil
	}
}

// usage adds what the response says of the use of the page.
func (p *Parser) usage(m *parse, directives *robots.Directives) {
	for _, name := range []string{"Content-Usage", "Content-Signal", "Tdm-Reservation"} {
		for _, value := range m.response.Header[name] {
			m.usage = append(m.usage, strings.ToLower(name)+": "+bounded(value))
		}
	}
	if directives.NoArchive {
		m.usage = append(m.usage, "robots: noarchive")
	}
	m.usage = m.usage[:min(len(m.usage), maxUsage)]
}

// maxUsage bounds the statements about the use of one page: there are six kinds.
const maxUsage = 20

// maxLinkBytes bounds the URLs and texts that are kept of one page, as MaxLinks bounds their count: 50,000 links of 84
// bytes. A page of 1.6 MB below a long base names 16 MB, and until they are stored a slave holds them for each lease.
const maxLinkBytes = 4 << 20

// countLinks counts the links that a fact holds.
func (p *Parser) countLinks(made *factMade) int {
	links := len(made.Message.GetVisited().GetLinks().GetUrls())
	if links > 0 {
		made.count(p.bytes + linkRoom*links)
	}
	return links
}

// linkRoom is what a link takes beside its texts: two headers of strings, kind and flags.
const linkRoom = 34

// maxRoom is how many bytes the links of a page may have for their arrays to be kept for the next page, maxRoomLinks
// how many links: some 200 bytes of arrays each, also those that lead to the same page.
const (
	maxRoom      = 256 << 10
	maxRoomLinks = 4096
)

// together returns copies of texts in one string that holds nothing else. The anchor texts of a Document lie in one
// string with all its references, which would stay in memory with them until they are stored.
func together(texts []string) []string {
	all, copies := strings.Join(append(texts, ""), ""), make([]string, len(texts)) // of one text alone it is no copy
	for i, text := range texts {
		copies[i], all = all[:len(text)], all[len(text):]
	}
	return copies
}

// html scans a page and returns the base of its links.
func (p *Parser) html(m *parse, directives *robots.Directives) weburl.URL {
	r, v := m.response, m.visited
	v.Charset, _ = charset.Detect(strings.Join(r.Header.Values("Content-Type"), ", "), r.Body)
	text, err := charset.Decode(r.Body, v.Charset)
	if err != nil {
		text = r.Body
	}
	options := p.options()
	options.XML = v.Mime == "application/xhtml+xml"
	if p.wordsUnasked(m) {
		options.MaxText = 0
	}
	p.document.Scan(text, options)
	d := &p.document
	v.Title, v.Scripted = d.Title, d.Scripted
	v.Noise = p.o.Noise != nil && m.settings.sent.News && len(m.visit.Task.GetDigest()) > 0 && !v.Unchanged &&
		p.o.Noise(v.Url, r.Status, text)
	if r.Status == http.StatusOK && !v.Truncated {
		v.Says = living.Tried{Sockets: d.Sockets, Streams: d.Streams}.String()
	}
	if options.MaxText > 0 {
		p.words(m)
	}
	directives.NoIndex = directives.NoIndex || d.NoIndex
	directives.NoFollow = directives.NoFollow || d.NoFollow
	directives.NoArchive = directives.NoArchive || d.NoArchive
	if d.TDM != "" {
		m.usage = append(m.usage, "meta tdm-reservation: "+d.TDM)
	}
	if base, err := r.URL.Resolve(d.Base); d.Base != "" && err == nil {
		return base
	}
	return r.URL
}

// wordsUnasked reports that the words of a page need not be read: its bytes are those of the last visit, so the state
// has what follows from them, and no rule looks at the words at each visit. Its links are judged again all the same:
// what is admitted changes with the rules, the stop list and the room of the crawl.
func (p *Parser) wordsUnasked(m *parse) bool {
	return m.visited.Unchanged && !m.settings.sent.Near && len(m.settings.sent.Languages) == 0 &&
		m.settings.admission.Topic == nil
}

// words fills in what follows from the words of a page: the language, the topic, the sketch.
func (p *Parser) words(m *parse) {
	d, v := &p.document, m.visited
	v.Language = charset.Language(d.Lang, v.Charset, d.Text)
	if about := m.settings.admission.Topic; about != nil {
		p.reading = about.Read(d.Title, d.Text)
		v.Topic = 1 + uint32(1000*p.reading.Score)
	}
	v.MainDigest = fingerprint.Main(d.Text)
	if m.settings.sent.Near {
		var near fingerprint.Near
		if v.Simhash, near = p.nearer.Sketch(d.Text); near.Count > 0 {
			v.Near = near.Append(nil)
		}
	} else {
		v.Simhash = fingerprint.Sim(d.Text)
	}
}

// pick sends the Fetcher the links of its host that the crawl's rules take.
func (p *Parser) pick(m *parse, set *messages.LinkSet, found *parsed) {
	v := m.visited
	page := admission.Page{URL: v.Url, Host: m.task.Host, Depth: uint8(min(v.Depth, outlink.MaxDepth)),
		DepthLeft: admission.DepthLeft(v.DepthLeft), Redirects: uint8(min(v.Redirects, math.MaxUint8)),
		Failed: v.Status >= 400}
	page.Embed(v.Requisite)
	p.follow = p.follow[:0]
	for i, url := range set.Urls {
		if !strings.HasPrefix(url, m.task.Host) {
			continue
		}
		link := outlink.Outlink{URL: url, Kind: outlink.Kind(set.Kinds[i]), Flags: outlink.Flags(set.Flags[i])}
		place, reason := m.links.Link(m.regions, &page, &link)
		if reason != admission.None {
			continue
		}
		to := walk.Visit{URL: p.urls[i], Left: admission.WireDepthLeft(place.DepthLeft), Depth: int32(place.Depth),
			Hops: uint32(place.Redirects), Requisite: place.Requisite}
		if to.Requisite > 0 {
			to.Via = v.Url
		}
		p.follow = append(p.follow, to)
	}
	found.follow = slices.Clone(p.follow)
}

// maxValidator bounds a header kept: honest validators are shorter.
const maxValidator = 512

// bounded leaves out validators that are too long to be kept.
func bounded(value string) string {
	if len(value) > maxValidator {
		return ""
	}
	return value
}

// mimeOf is the media type of a response, found out from its bytes where the host says nothing.
func mimeOf(r *fetch.Response) string {
	noSniff := strings.EqualFold(strings.TrimSpace(r.Header.Get("X-Content-Type-Options")), "nosniff")
	return mediatype.Computed(r.Header.Values("Content-Type"), noSniff, r.Body)
}

// foreign reports whether a page is known to be in a language that is not kept.
func foreign(m *parse) bool {
	return len(m.settings.sent.Languages) > 0 && m.visited.Language != "" &&
		!slices.Contains(m.settings.sent.Languages, m.visited.Language)
}

func isHTML(mime string) bool { return mime == "text/html" || mime == "application/xhtml+xml" }
