package host

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"henro/actors/admission"
	"henro/actors/alias"
	"henro/actors/politeness"
	"henro/actors/protocol"
	"henro/actors/robots"
	"henro/actors/scope"
	"henro/actors/stoplist"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/scripttest"
	"henro/messages/weburl"
	"henro/store"
)

// The commands of the scripts. Pages are paths of the host, and moments are counted from the start of the script.
//
//	new [continuous] [sitemaps] [fast] [retries=3] [patience=2h] [maxpages=9] [budget=2] [broken=4] [every=1m]
//	restore [waiting=2] [known=1] [lease=7] [seq=3] [row]      row: as last written
//	at 5s              later 10s          slaves SERVERS CONNECTIONS
//	grew               due COUNT          overflow [/a…]       rest            restdue
//	lend ID [budget=2] [notbefore=5s] [few]                    void ID              written         idle
//	pages [/fresh…] [/retried@5m…] [due:/known…] [ghost:/gone] [waiting=COUNT] [partly]
//	entries [/a…]      found /page changed=5m                  relax /page /link…
//	written: all that is to be written, and what follows     written first
//	exclude | admit    sitemap URL /entry…
//	alias [of=HOST]: what an operator decided    records [/a…]: of the host last asked for    revived COUNT
//	robots-asked HOST [hops=1]            robots-reported allow|closed|unreachable    robots-late
//	fact ID SEQ visit /page [status=404] [reason=TIMEOUT] [took=2s] [ago=1s] [retry=1h] [follow] [links=/a,/b@daily]
//	fact ID SEQ robots [status=503] [reason=…] [retry=1h] [disallow=/x] [delay=9s] [sitemap=URL]
//	fact ID SEQ robots to=URL             fact ID SEQ more links=/a,/b     fact ID SEQ finished
//
// A link with a hint is the entry of a sitemap. Facts that stand on several lines of a block without another command
// between them come in one message.
func TestScripts(t *testing.T) {
	scripttest.Play(t, func(said *strings.Builder) (func([]string) error, func()) {
		p := player{said: said}
		return p.play, p.report
	})
}

const name = "http://a.test"

// begun is the moment 0 of every script.
var begun = time.Unix(1_000_000_020, 0).UTC()

// player plays one script.
type player struct {
	o       Options
	now     time.Time
	book    *Book
	writes  []*protocol.Write // not answered yet
	facts   *protocol.HostFacts
	asked   *protocol.RecordsAsked
	row     *store.HostRecord
	notes   map[string][]byte     // of the host
	records map[string]store.Page // as last written
	said    *strings.Builder
}

// arguments are the words of a command: names with values, and the others.
type arguments struct {
	named map[string]string
	plain []string
}

func read(words []string) arguments {
	a := arguments{named: map[string]string{}}
	for _, word := range words {
		if key, value, found := strings.Cut(word, "="); found && !strings.Contains(key, "/") {
			a.named[key] = value
		} else {
			a.plain = append(a.plain, word)
		}
	}
	return a
}

func (a *arguments) number(key string, otherwise int) int {
	if n, err := strconv.Atoi(a.named[key]); err == nil {
		return n
	}
	return otherwise
}

func (a *arguments) span(key string) time.Duration {
	d, _ := time.ParseDuration(a.named[key])
	return d
}

func (p *player) play(words []string) error {
	a := read(words[1:])
	if words[0] != "fact" {
		p.report()
	}
	switch words[0] {
	case "new":
		p.begin(&a)
	case "restore":
		p.restore(&a)
	case "at":
		d, err := time.ParseDuration(a.plain[0])
		p.now = begun.Add(d)
		return err
	case "later":
		d, err := time.ParseDuration(a.plain[0])
		p.now = p.now.Add(d)
		return err
	case "slaves":
		servers, _ := strconv.Atoi(a.plain[0])
		connections, err := strconv.Atoi(a.plain[1])
		p.tell(&protocol.ResourcesChanged{Servers: servers, Connections: connections})
		return err
	case "grew":
		p.tell(&Grew{})
	case "due":
		count, err := strconv.Atoi(a.plain[0])
		p.tell(&protocol.DueOpened{Count: count})
		return err
	case "overflow":
		p.tell(&protocol.OverflowLoaded{Entries: p.entries(a.plain)})
	case "rest":
		p.tell(&RestGranted{})
	case "restdue":
		p.tell(&restDue{})
	case "lend":
		id, err := strconv.ParseUint(a.plain[0], 10, 64)
		lend := &protocol.Lend{Lease: id, Slave: "s", Boot: "b", Until: p.now.Add(time.Minute),
			Budget: a.number("budget", 0), Few: slices.Contains(a.plain, "few")}
		if d := a.span("notbefore"); d > 0 {
			lend.NotBefore = begun.Add(d)
		}
		p.tell(lend)
		return err
	case "void":
		id, err := strconv.ParseUint(a.plain[0], 10, 64)
		p.tell(&protocol.LeaseVoid{Lease: id})
		return err
	case "written":
		if len(p.writes) == 0 {
			return fmt.Errorf("nothing is to be written")
		}
		for len(p.writes) > 0 {
			w := p.writes[0]
			p.writes = p.writes[1:]
			if w.Facts != nil {
				p.note(Effect{To: Master, Message: w.Facts})
			}
			if w.Answered() {
				p.tell(&protocol.Written{Tag: w.Tag})
			}
			if len(a.plain) > 0 { // the first alone
				break
			}
		}
	case "pages":
		p.pages(&a)
	case "entries":
		p.tell(&protocol.EntriesLoaded{Entries: p.entries(a.plain)})
	case "found":
		moment := p.now.Add(-a.span("changed"))
		p.tell(&protocol.PagesFound{Entries: p.entries(a.plain), Hints: []outlink.Hint{{From: moment, Until: moment}}})
	case "relax":
		r := store.Relaxation{URL: name + a.plain[0], Depth: 1, DepthLeft: 2}
		for _, path := range a.plain[1:] {
			r.Links = append(r.Links, outlink.Outlink{URL: name + path, Kind: outlink.Anchor})
		}
		p.tell(&protocol.RelaxationsFound{Relaxations: []store.Relaxation{r}})
	case "exclude", "admit":
		p.tell(&protocol.Ordered{Order: &protocol.SetExcluded{On: words[0] == "exclude"}})
	case "sitemap":
		m := &sitemapReported{url: a.plain[0], left: 3, number: 9}
		for _, path := range a.plain[1:] {
			m.entries = append(m.entries, outlink.Outlink{URL: name + path, Kind: outlink.Sitemap})
		}
		p.tell(m)
	case "alias":
		p.tell(&protocol.Ordered{Order: &alias.Decision{Of: a.named["of"], At: p.now}})
	case "records":
		m := &protocol.RecordsFound{Of: p.asked.Of}
		for _, path := range a.plain {
			m.Pages = append(m.Pages, store.Page{URL: p.asked.Of + path, Status: 200})
		}
		p.tell(m)
	case "revived":
		count, err := strconv.Atoi(a.plain[0])
		p.tell(&protocol.PagesRevived{Count: count})
		return err
	case "robots-late":
		p.tell(&robotsLate{})
	case "robots-asked":
		p.tell(&robotsAsked{asker: a.plain[0], hops: a.number("hops", 1)})
	case "robots-reported":
		rules := map[string]*robots.Rules{"allow": robots.AllowAll(), "closed": robots.Parse([]byte(closed), "henro"),
			"unreachable": robots.Unreached()}[a.plain[0]]
		bytes, err := rules.MarshalBinary()
		p.tell(&robotsReported{rules: rules, bytes: bytes})
		return err
	case "fact":
		return p.fact(&a)
	default:
		return fmt.Errorf("no such command")
	}
	return nil
}

const closed = "User-agent: *\nDisallow: /\n"

func (p *player) begin(a *arguments) {
	p.o = DefaultOptions()
	p.o.Politeness.Jitter = 0
	if slices.Contains(a.plain, "fast") {
		p.o.Politeness.Floor = 0
	}
	p.o.Continuous, p.o.Sitemaps = slices.Contains(a.plain, "continuous"), slices.Contains(a.plain, "sitemaps")
	p.o.Retries, p.o.MaxPages = a.number("retries", p.o.Retries), uint64(a.number("maxpages", 0))
	p.o.PageBudget, p.o.Stop.MinBroken = a.number("budget", p.o.PageBudget), a.number("broken", p.o.Stop.MinBroken)
	p.o.Patience = cmp.Or(a.span("patience"), p.o.Patience)
	if every := a.span("every"); every > 0 {
		r := &p.o.Revisit
		r.Min, r.FirstMin, r.FirstMax, r.PriorMean = every, every, every, every
	}
	p.now, p.records, p.row, p.notes = begun, map[string]store.Page{}, nil, map[string][]byte{}
}

func (p *player) restore(a *arguments) {
	rules, err := scope.New(scope.DefaultOptions())
	if err != nil {
		panic(err)
	}
	regions := admission.Remember(rules.With(weburl.MustParse(name + "/")).With(weburl.MustParse("http://b.test/")))
	p.book, p.writes = New(p.o, name, regions), nil
	m := &protocol.HostRestored{Due: a.number("known", 0),
		Record: store.HostRecord{ID: store.IDOf(name), Name: name}}
	if slices.Contains(a.plain, "row") {
		m.Record, m.Notes = *p.row, p.notes
	}
	m.Record.Waiting = uint64(a.number("waiting", 0))
	if id := a.number("lease", 0); id > 0 {
		m.Lease = &store.Lease{ID: uint64(id), Host: m.Record.ID, HostName: name, Slave: "s", Boot: "b",
			Seq: uint64(a.number("seq", 0))}
	}
	p.tell(m)
	p.book.schedule.rnd = rand.New(rand.NewPCG(1, 2))
}

// pages answers what a lease is filled with.
func (p *player) pages(a *arguments) {
	m := &protocol.PagesLoaded{Whole: !slices.Contains(a.plain, "partly"), Known: []uint64{1, 2}}
	for _, word := range a.plain {
		switch kind, path, found := strings.Cut(word, ":"); {
		case word == "partly":
		case found && kind == "due":
			m.Due = append(m.Due, p.entries([]string{path})...)
		case found && kind == "ghost":
			m.Ghosts = append(m.Ghosts, store.Position(path))
		default:
			path, retry, _ := strings.Cut(word, "@")
			entry := p.entries([]string{path})[0]
			if d, err := time.ParseDuration(retry); err == nil {
				entry.Page.Next = begun.Add(d)
			}
			m.Entries = append(m.Entries, entry)
		}
	}
	m.DueCount = a.number("waiting", len(m.Due))
	p.tell(m)
}

// entries are the records of pages, as last written, or new.
func (p *player) entries(paths []string) (entries []store.Entry) {
	for _, path := range paths {
		page, ok := p.records[path]
		if !ok {
			page = store.Page{URL: name + path, DepthLeft: 3}
		}
		entries = append(entries, store.Entry{Page: page, Position: store.Position(path)})
	}
	return entries
}

// fact adds one fact to the message that is being made up.
func (p *player) fact(a *arguments) error {
	lease, err := strconv.ParseUint(a.plain[0], 10, 64)
	if err != nil {
		return err
	}
	seq, err := strconv.ParseUint(a.plain[1], 10, 64)
	if err != nil {
		return err
	}
	fact := &messages.Fact{Lease: lease, Seq: seq, Host: name}
	reason := messages.Reason(messages.Reason_value[a.named["reason"]])
	status := uint32(a.number("status", 200))
	if reason != messages.Reason_NONE {
		status = 0
	}
	took, ago, retry := int64(a.span("took")), int64(a.span("ago")+a.span("took")), int64(a.span("retry"))
	switch a.plain[2] {
	case "visit":
		v := &messages.PageVisited{Url: name + a.plain[3], DepthLeft: 3, Status: status, Reason: reason, TookNs: took,
			AgoNs: ago, RetryAfterNs: retry, Digest: []byte(a.plain[3]), Position: []byte(a.plain[3])}
		if slices.Contains(a.plain, "follow") {
			v.Position = nil
		}
		if a.named["links"] != "" {
			v.Links = linkSet(a.named["links"])
		}
		fact.Visited = v
	case "more":
		fact.More = linkSet(a.named["links"])
	case "robots":
		v := &messages.RulesVisited{Status: status, Reason: reason, TookNs: took, AgoNs: ago, RetryAfterNs: retry,
			Location: a.named["to"]}
		if v.Location == "" {
			body := "User-agent: *\nDisallow: " + a.named["disallow"] + "\n"
			if d := a.span("delay"); d > 0 {
				body += fmt.Sprintf("Crawl-delay: %v\n", d.Seconds())
			}
			if url := a.named["sitemap"]; url != "" {
				body += "Sitemap: " + url + "\n"
			}
			v.Rules, err = robots.Judge(int(status), status == 0, []byte(body), "henro").MarshalBinary()
		}
		fact.Rules = v
	case "finished":
		fact.Finished = &messages.LeaseFinished{}
	default:
		return fmt.Errorf("no such fact")
	}
	if p.facts != nil && p.facts.Lease != lease {
		p.report()
	}
	if p.facts == nil {
		p.facts = &protocol.HostFacts{Lease: lease}
	}
	p.facts.Facts = append(p.facts.Facts, fact)
	return err
}

func linkSet(paths string) *messages.LinkSet {
	set := &messages.LinkSet{}
	for word := range strings.SplitSeq(paths, ",") {
		path, hint, inSitemap := strings.Cut(word, "@")
		if strings.HasPrefix(path, "/") {
			path = name + path
		}
		kind := outlink.Anchor
		if inSitemap {
			kind = outlink.Sitemap
		}
		set.Urls, set.Kinds = append(set.Urls, path), append(set.Kinds, byte(kind))
		set.Anchors = append(set.Anchors, hint)
	}
	return set
}

// report tells the facts that were made up.
func (p *player) report() {
	if facts := p.facts; facts != nil {
		p.facts = nil
		p.tell(facts)
	}
}

// tell has the book take a fact, and notes what follows.
func (p *player) tell(fact any) {
	effects, known := p.book.Updated(p.now, fact)
	if !known {
		fmt.Fprintf(p.said, "unknown: %T\n", fact)
	}
	for _, e := range effects {
		p.note(e)
	}
}

// when is a moment as scripts have it.
func (p *player) when(at time.Time) string {
	if at.IsZero() {
		return "once"
	}
	return at.Sub(begun).Round(time.Millisecond).String()
}

func (p *player) say(format string, arguments ...any) {
	fmt.Fprintf(p.said, format+"\n", arguments...)
}

func path(url string) string { return strings.TrimPrefix(url, name) }

// note puts an effect into words.
func (p *player) note(e Effect) {
	switch m := e.Message.(type) {
	case *protocol.HostReady:
		p.say("master: ready at %s", p.when(m.At))
	case *protocol.FactsRefused:
		p.say("master: lease %d reported what cannot be: %s", m.Lease, m.Why)
	case *protocol.LendRefused:
		p.say("master: lease %d refused, next at %s", m.Lease, p.when(m.NextAt))
	case *protocol.Lent:
		p.say("master: lease %d: %s", m.Lease, describe(m.Task))
	case *protocol.FactsStored:
		switch {
		case m.Seq > 1<<32:
			p.say("master: lease %d is over, whatever comes", m.Lease)
		case m.Closed:
			p.say("master: lease %d stored to %d, %d visits, closed, next at %s, others at %s", m.Lease, m.Seq,
				m.Visits, p.when(m.NextAt), p.when(m.OthersAt))
		default:
			p.say("master: lease %d stored to %d, %d visits", m.Lease, m.Seq, m.Visits)
		}
	case *protocol.PagesAsked:
		p.say("disk: pages? %d new, %d due, %d known", m.Limit, m.Due, m.Known)
	case *protocol.EntriesAsked:
		p.say("disk: entries? %s", m.Positions)
	case *protocol.OverflowAsked:
		p.say("disk: overflow? behind %d, %d", m.Keep, m.Limit)
	case *protocol.RecordsAsked:
		p.asked = m
		p.say("disk: records of %s? %v", m.Of, m.URLs)
	case *protocol.LeaseUnwanted:
		p.say("master: lease %d is wanted back", m.Lease)
	case *protocol.PagesSought:
		p.say("disk: pages that %s says have changed?", m.URL)
	case *protocol.Write:
		p.writes = append(p.writes, m)
		p.say("disk: write%s", p.describeWrite(m))
	case *protocol.URLsSkipped:
		for _, s := range m.URLs {
			p.say("skipped: %s %v", path(s.URL), s.Reason)
		}
	case *protocol.ToHost:
		switch q := m.Message.(type) {
		case *robotsAsked:
			p.say("%s: robots? hop %d", m.Host, q.hops)
		case *robotsReported:
			p.say("%s: robots: %v", m.Host, q.rules)
		default:
			p.say("%s: %T", m.Host, q)
		}
	case *restDue, *robotsLate:
		p.say("self: %s in %v", strings.TrimPrefix(fmt.Sprintf("%T", m), "*host."), e.After)
	default:
		p.say("%s: %s", [...]string{"", "master", "hosts", "disk", "skips", "self", "log"}[e.To],
			strings.TrimPrefix(fmt.Sprintf("%T", m), "*host."))
	}
}

func describe(t *messages.HostTask) string {
	var words []string
	for _, task := range t.Tasks {
		words = append(words, path(task.Url))
	}
	if len(words) == 0 {
		words = append(words, "no page")
	}
	words = append(words, "every "+time.Duration(t.IntervalNs).String())
	if t.FirstAfterNs > 0 {
		words = append(words, "after "+time.Duration(t.FirstAfterNs).String())
	}
	if len(t.Robots) == 0 {
		words = append(words, "robots.txt first")
	}
	if t.Follow {
		words = append(words, "follow")
	}
	return strings.Join(words, ", ")
}

// describeWrite puts what is written into words, and keeps it.
func (p *player) describeWrite(w *protocol.Write) string {
	var out strings.Builder
	part := func(format string, arguments ...any) { fmt.Fprintf(&out, "\n      "+format, arguments...) }
	for _, v := range w.Visits {
		p.records[path(v.Page.URL)] = v.Page
		word := "visited"
		if v.Retry {
			word = "again"
		}
		part("%s %s, status %d, next at %s", word, path(v.Page.URL), v.Page.Status, p.when(v.Page.Next))
		if v.Page.Reason != 0 {
			fmt.Fprintf(&out, ", %v", messages.Reason(v.Page.Reason))
		}
		if len(v.Links) > 0 {
			fmt.Fprintf(&out, ", %d links", len(v.Links))
		}
	}
	for _, entry := range w.Moves {
		p.records[path(entry.Page.URL)] = entry.Page
		part("moved %s to %s", path(entry.Page.URL), p.when(entry.Page.Next))
	}
	for _, entry := range w.Drops {
		part("given up %s, %v", path(entry.Page.URL), entry.Page.Cause())
	}
	for _, c := range w.Candidates {
		part("candidate %s, depth %d, left %d", path(c.URL), c.Depth, c.DepthLeft)
	}
	for _, r := range w.Relaxed {
		part("judged again %s", path(r.URL))
	}
	if len(w.Ghosts) > 0 {
		part("ghosts %s", w.Ghosts)
	}
	if w.Host != nil {
		row := *w.Host
		p.row = &row
		part("host, next at %s", p.when(row.NextAllowed))
		if len(row.Robots) > 0 {
			rules := new(robots.Rules)
			if err := rules.UnmarshalBinary(row.Robots); err != nil {
				panic(err)
			}
			fmt.Fprintf(&out, "; %v until %s", rules, p.when(row.RobotsUntil))
		}
		var state politeness.State
		if err := state.UnmarshalBinary(row.Politeness); err != nil {
			panic(err)
		}
		if state.Timetable.Pages() > 0 {
			fmt.Fprintf(&out, "; %d pages ask for %.3g visits a day", state.Timetable.Pages(),
				state.Timetable.Load()*86400)
		}
		if judged := state.Timetable.Hints().Judged(); judged > 0 {
			fmt.Fprintf(&out, "; %.3g hints judged", judged)
		}
	}
	switch {
	case w.Facts != nil && w.Facts.Closed:
		part("end of lease %d", w.Facts.Lease)
	case w.Lease != nil:
		part("lease %d to %d", w.Lease.ID, w.Lease.Seq)
	}
	for i, n := range w.Totals.Verdicts {
		if n != 0 {
			part("%+d %v", n, politeness.Verdict(i))
		}
	}
	for _, note := range w.Notes {
		if note.Key == "" {
			p.notes[note.Name] = note.Bytes
		}
		if note.Name != StopListNote {
			continue
		}
		var list stoplist.List
		if err := list.UnmarshalEntries(note.Bytes); err != nil {
			panic(err)
		}
		if note.Bytes == nil {
			part("leave nothing alone")
		}
		for _, e := range list.Entries() {
			until := "for good"
			if !e.Until.IsZero() {
				until = "until " + p.when(e.Until)
			}
			part("leave %s alone %s", path(e.Prefix), until)
		}
	}
	for _, s := range w.Sweeps {
		part("what was given up as %s waits again", s.Says)
	}
	for _, key := range slices.Sorted(maps.Keys(w.Totals.Errors)) {
		part("%d × %s", w.Totals.Errors[key], key)
	}
	return out.String()
}
