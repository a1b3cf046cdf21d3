package embedded_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"henro/actors/floor"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages"
	"henro/slave"
)

// FuzzSlave lets a slave that has the key send the master of a crawl whatever the bytes say, in virtual time: messages
// of its own that are changed in any field of wire.proto, dropped, repeated, delayed, and messages that are made up.
// Each rule is six bytes: when, what, which field (2), which value (2). An honest slave works beside it. Whatever is
// sent, the crawl ends, no host is asked before its interval by whoever was lent it, and the pages are exactly those
// that are reachable; where the slave lied about what is in a page, those that are reachable without that host.
func FuzzSlave(f *testing.F) {
	f.Add([]byte{})
	seeds := rand.New(rand.NewPCG(20, 15))
	for range 24 {
		script := make([]byte, ruleBytes*(1+seeds.IntN(3)))
		for i := range script {
			script[i] = byte(seeds.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		synctest.Test(t, func(t *testing.T) { sendScript(t, script) })
	})
}

const (
	ruleBytes = 6
	rulesMost = 6
)

// forgeRule is what happens to some of the messages of the lying slave.
type forgeRule struct {
	from, every  int // applies to message number from, and every so many behind it; 0: once
	what         byte
	field, value int
}

func forgeRules(script []byte) (rules []forgeRule) {
	for ; len(script) >= ruleBytes && len(rules) < rulesMost; script = script[ruleBytes:] {
		rules = append(rules, forgeRule{from: int(script[0] & 63), every: []int{0, 1, 3, 10}[script[0]>>6],
			what:  script[1],
			field: int(script[2])<<8 | int(script[3]), value: int(script[4])<<8 | int(script[5])})
	}
	return rules
}

// overhearing is what both carriers saw pass.
type overhearing struct {
	mu     sync.Mutex
	grants map[string][]forgeGrant // of a host, in order
	hosts  map[uint64]string       // of leases
	ids    []uint64                // leases, numbers of facts, serials
	texts  []string                // hosts, URLs, names
	blobs  [][]byte                // positions, rules
	sent   []proto.Message         // by the lying slave
	stale  map[string]bool         // hosts of whose pages something untrue was said
	told   []string                // what was done, for people
}

// forgeGrant says who may ask a host from a moment on; nobody when the lying slave gave it back.
type forgeGrant struct {
	at    time.Time
	slave string
}

// givenBack notes which hosts the lying slave says that it does not ask any more.
func (o *overhearing) givenBack(message proto.Message) {
	var leases []uint64
	switch m := message.(type) {
	case *messages.TaskRefused:
		leases = append(leases, m.Lease)
	case *messages.Report:
		for _, f := range m.Facts {
			if f.Finished != nil {
				leases = append(leases, f.Lease)
			}
		}
	case *messages.SlaveRegistered:
		if m.Boot != "1" { // it says that it was started anew
			leases = slices.Collect(maps.Keys(o.hosts))
		}
	}
	for _, id := range leases {
		host := o.hosts[id]
		if of := o.grants[host]; len(of) > 0 && of[len(of)-1].slave == "cheat" {
			o.grants[host] = append(of, forgeGrant{at: time.Now()})
		}
	}
}

// forger carries the messages of one slave; with rules, it changes them.
type forger struct {
	*overhearing
	name          string
	master, slave *actor.PID
	rules         []forgeRule
	count         int
}

func (l *forger) Receive(ctx actor.Context) {
	root, self := ctx.ActorSystem().Root, ctx.Self()
	switch m := ctx.Message().(type) {
	case actor.SystemMessage, actor.AutoReceiveMessage, *actor.DeadLetterResponse:
	case *messages.SlaveRegistered, *messages.WorkRequested, *messages.Report, *messages.TaskRefused:
		l.mu.Lock()
		out := l.forge(proto.Clone(m.(proto.Message)))
		l.mu.Unlock()
		for _, o := range out {
			if o.after == 0 {
				root.RequestWithCustomSender(l.master, o.message, self)
				continue
			}
			time.AfterFunc(o.after, func() { root.RequestWithCustomSender(l.master, o.message, self) })
		}
	case *messages.TaskBatch:
		l.mu.Lock()
		for _, task := range m.Tasks {
			l.grants[task.Host] = append(l.grants[task.Host], forgeGrant{time.Now(), l.name})
			l.hosts[task.Lease] = task.Host
			l.ids, l.texts = append(l.ids, task.Lease), append(l.texts, task.Host)
			for _, page := range task.Tasks {
				l.texts, l.blobs = append(l.texts, page.Url), append(l.blobs, page.Position)
			}
		}
		l.mu.Unlock()
		root.RequestWithCustomSender(l.slave, m, self)
	case *messages.SlaveWelcomed: // the web tells slaves apart by what they call themselves
		m = proto.Clone(m).(*messages.SlaveWelcomed)
		m.Fetch.UserAgent = l.name
		root.RequestWithCustomSender(l.slave, m, self)
	default:
		root.RequestWithCustomSender(l.slave, m, self)
	}
}

type forged struct {
	message proto.Message
	after   time.Duration
}

// forge applies the rules to one message.
func (l *forger) forge(message proto.Message) []forged {
	if l.rules == nil {
		return []forged{{message, 0}}
	}
	n := l.count
	l.count++
	if len(l.sent) < 256 {
		l.sent = append(l.sent, proto.Clone(message))
	}
	out := []forged{{message, 0}}
	for _, r := range l.rules {
		if n != r.from && (r.every == 0 || n < r.from || (n-r.from)%r.every != 0) {
			continue
		}
		delay := time.Duration(r.value%120_000) * time.Millisecond
		switch r.what % 10 {
		case 0:
			l.say("message %d dropped", n)
			out = nil
		case 1:
			l.say("message %d repeated %v later", n, delay)
			out = append(out, forged{proto.Clone(message), delay})
		case 2:
			l.say("message %d delayed by %v", n, delay)
			for i := range out {
				out[i].after += delay
			}
		case 3: // whole, so that nothing untrue is said of a page
			old := l.sent[r.field%len(l.sent)]
			l.say("message %d again: %T", r.field%len(l.sent), old)
			out = append(out, forged{proto.Clone(old), delay})
		case 4:
			l.shuffle(message, r)
		case 5:
			made := l.made(r)
			for i := range 4 {
				l.change(made, forgeRule{field: r.field*31 + i*7, value: r.value*17 + i*11})
			}
			out = append(out, forged{made, 0})
		default:
			l.change(message, r)
		}
	}
	for _, o := range out {
		l.givenBack(o.message)
	}
	return out
}

func (l *forger) say(format string, args ...any) {
	if len(l.told) < 20 && !slices.Contains(l.told, fmt.Sprintf(format, args...)) {
		l.told = append(l.told, fmt.Sprintf(format, args...))
	}
}

// made is a new message of one of the kinds that a slave sends.
func (l *forger) made(r forgeRule) proto.Message {
	id := uint64(r.value)
	if len(l.ids) > 0 {
		id = l.ids[r.value%len(l.ids)]
	}
	host := l.name
	if len(l.texts) > 0 {
		host = l.texts[r.value%len(l.texts)]
	}
	switch r.field % 7 {
	case 0:
		return &messages.SlaveRegistered{Slave: l.name, Boot: "1"}
	case 1:
		return &messages.WorkRequested{Slave: l.name, Boot: "1", Serial: id, HostSlots: 64, PageSlots: 4096}
	case 2:
		return &messages.TaskRefused{Slave: l.name, Boot: "1", Lease: id, Host: host}
	case 3:
		return l.report(&messages.Fact{Lease: id, Seq: 1, Host: host, Finished: &messages.LeaseFinished{Why: "done"}})
	case 4:
		l.lieAbout(host)
		return l.report(&messages.Fact{Lease: id, Seq: 1, Host: host, Rules: &messages.RulesVisited{Status: 404}})
	case 5:
		l.lieAbout(host)
		return l.report(&messages.Fact{Lease: id, Seq: 1, Host: host,
			Visited: &messages.PageVisited{Url: host, Status: 200}})
	default:
		return &messages.Greeting{Node: l.name}
	}
}

func (l *forger) report(facts ...*messages.Fact) *messages.Report {
	return &messages.Report{Slave: l.name, Boot: "1", Facts: facts}
}

// shuffle changes the order of the facts of a report, or of anything that is listed.
func (l *forger) shuffle(message proto.Message, r forgeRule) {
	report, ok := message.(*messages.Report)
	if !ok || len(report.Facts) == 0 {
		return
	}
	rnd := rand.New(rand.NewPCG(uint64(r.value), uint64(r.field)))
	switch r.field % 3 {
	case 0:
		rnd.Shuffle(len(report.Facts), func(i, j int) {
			report.Facts[i], report.Facts[j] = report.Facts[j], report.Facts[i]
		})
	case 1:
		report.Facts = append(report.Facts, report.Facts[rnd.IntN(len(report.Facts))])
	case 2:
		report.Facts = slices.Delete(report.Facts, 0, 1+rnd.IntN(len(report.Facts)))
	}
	l.say("facts in another order")
}

// claims are the fields by which a slave says what is in a page, or in a robots.txt: no master can know better.
var claims = map[protoreflect.FullName]bool{}

func init() {
	for message, fields := range map[protoreflect.Name]string{
		"Fact": "visited rules more",
		"PageVisited": "url status reason etag last_modified retry_after_ns digest main_digest simhash body_bytes " +
			"warc_bytes mime charset language warc_file warc_offset links unchanged truncated noindex nofollow " +
			"redirects title skipped requisite modified_before_ns attempts",
		"LinkSet": "urls kinds flags anchors", "RulesVisited": "status reason rules retry_after_ns location",
	} {
		for _, field := range strings.Fields(fields) {
			claims[protoreflect.FullName("henro").Append(message).Append(protoreflect.Name(field))] = true
		}
	}
}

// fieldAt is a field of a message, or of a message within it.
type fieldAt struct {
	in    protoreflect.Message
	field protoreflect.FieldDescriptor
	host  string // of the fact that it belongs to
}

func placesIn(m protoreflect.Message, host string, all []fieldAt) []fieldAt {
	if f, ok := m.Interface().(*messages.Fact); ok {
		host = f.Host
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		all = append(all, fieldAt{m, field, host})
		if field.Message() == nil || !m.Has(field) || len(all) > 1000 {
			continue
		}
		if !field.IsList() {
			all = placesIn(m.Get(field).Message(), host, all)
			continue
		}
		for list, j := m.Get(field).List(), 0; j < list.Len(); j++ {
			all = placesIn(list.Get(j).Message(), host, all)
		}
	}
	return all
}

// change sets one field to another value.
func (l *forger) change(message proto.Message, r forgeRule) {
	all := placesIn(message.ProtoReflect(), "", nil)
	s := all[r.field%len(all)]
	if s.field.FullName() == "henro.SlaveRegistered.slave" {
		return // whose a name is, keys and the gossip say
	}
	if claims[s.field.FullName()] {
		l.lieAbout(s.host)
	}
	if s.field.IsList() {
		list := s.in.Mutable(s.field).List()
		switch r.value % 4 {
		case 0:
			list.Truncate(0)
		case 1, 2:
			if s.field.Message() != nil {
				if list.Len() > 0 {
					list.Append(protoreflect.ValueOfMessage(proto.Clone(list.Get(r.value / 4 % list.Len()).Message().
						Interface()).ProtoReflect()))
				} else {
					list.AppendMutable()
				}
				break
			}
			list.Append(l.another(s.field, list.NewElement(), r.value/4))
		default:
			if list.Len() > 0 && s.field.Message() == nil {
				i := r.value / 4 % list.Len()
				list.Set(i, l.another(s.field, list.Get(i), r.value/4))
			}
		}
	} else if s.field.Message() != nil {
		if s.in.Has(s.field) {
			s.in.Clear(s.field)
		} else {
			s.in.Mutable(s.field)
		}
	} else {
		s.in.Set(s.field, l.another(s.field, s.in.Get(s.field), r.value))
	}
	l.say("%s of %s: %v", s.field.FullName(), s.host, s.in.Get(s.field))
}

func (l *forger) lieAbout(host string) { l.stale[host] = true }

// another is a value that a field might have.
func (l *forger) another(field protoreflect.FieldDescriptor, old protoreflect.Value, pick int) protoreflect.Value {
	steps := []int64{1, -1, 0, math.MaxInt64, math.MinInt64, 2, 255, 256, 1 << 20, 1 << 31, 1 << 32,
		int64(time.Millisecond), int64(time.Second), int64(5 * time.Second), int64(20 * time.Second),
		-int64(time.Second), int64(time.Hour), int64(24 * time.Hour), -1 << 31, 1<<32 - 1}
	step, add := steps[pick/2%len(steps)], pick%2 == 0
	id := func(v uint64) uint64 {
		switch {
		case pick%3 == 0 && len(l.ids) > 0:
			return l.ids[pick/3%len(l.ids)]
		case add:
			return v + uint64(step)
		}
		return uint64(step)
	}
	number := func(v int64) int64 {
		if add {
			return v + step
		}
		return step
	}
	switch field.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(!old.Bool())
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(number(int64(old.Enum()))))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(number(old.Int())))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(number(old.Int()))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(number(int64(old.Uint()))))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(id(old.Uint()))
	case protoreflect.StringKind:
		texts := append([]string{"", old.String() + "x", "honest", "cheat", "1", "2", "\xff\x00",
			strings.Repeat("a", 10_000)}, l.texts...)
		return protoreflect.ValueOfString(strings.ToValidUTF8(texts[pick%len(texts)], ""))
	case protoreflect.BytesKind:
		blobs := [][]byte{nil, []byte("x"), append(slices.Clone(old.Bytes()), 0), make([]byte, 10_000)}
		blobs = append(blobs, l.blobs...)
		return protoreflect.ValueOfBytes(blobs[pick%len(blobs)])
	}
	return old
}

func sendScript(t *testing.T, script []byte) {
	web, err := fakeweb.New(fakeweb.Options{Seed: 5, Hosts: 4, Domains: 3, Pages: 6, CrossShare: 0.3,
		RedirectShare: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	const depth = 6
	dir := t.TempDir()
	e := crawltest.Of(t, dir, web, depth, nil)
	e.Options.Name, e.Options.Boot = "m", "1"
	system := floor.NewSystem("henro", e.Log, floor.SystemOptions{})
	node, err := master.Start(system, e.Options, e.Log)
	if err != nil {
		t.Fatal(err)
	}
	heard := &overhearing{grants: map[string][]forgeGrant{}, hosts: map[uint64]string{},
		stale: map[string]bool{}}
	var pids []*actor.PID
	for _, name := range []string{"cheat", "honest"} {
		o, err := e.Work.Options(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		o.Name, o.Boot, o.Dial, o.Archive.Payloads = name, "1", e.Dial, nil
		props, err := slave.Props(o, e.Log)
		if err != nil {
			t.Fatal(err)
		}
		l := &forger{overhearing: heard, name: name, master: node.PID(), slave: system.Root.Spawn(props)}
		if name == "cheat" {
			l.rules = forgeRules(script)
		}
		carrier := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return l }))
		system.Root.Send(l.slave, &slave.MasterSeen{PID: carrier, Claim: node.Claim()})
		pids = append(pids, l.slave, carrier)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour)
	defer cancel()
	status, err := node.Run(ctx, ctx, e.Seeds)
	if err != nil || status.End != master.Finished {
		t.Errorf("ended with %q, %v", status.End, err)
	}
	for _, pid := range pids {
		if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
			t.Error(err)
		}
	}
	if err := node.Close(); err != nil {
		t.Error(err)
	}
	time.Sleep(10 * time.Minute) // what is delayed, at most five times two minutes
	checkEntitled(t, web.Log(), heard.grants, e.Options.Hosts.Politeness.Floor)
	truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: depth})
	if err != nil {
		t.Fatal(err)
	}
	got := crawltest.Visited(t, dir)
	if len(heard.stale) == 0 {
		crawltest.Compare(t, got, slices.Collect(maps.Keys(truth.Fetched)))
		if pages := int(status.Totals.Pages); pages != len(got) {
			t.Errorf("the totals say %d pages, the state has %d", pages, len(got))
		}
	} else {
		for url := range truth.Fetched {
			if got[url] == 0 && reachableWithout(t, web, heard.stale, depth)[url] {
				t.Errorf("missing: %s", url)
			}
		}
	}
	for _, request := range web.Log() {
		if len(heard.stale) == 0 && request.Path != "/robots.txt" && truth.Fetched[request.URL()] == 0 &&
			!slices.Contains(web.Seeds(), request.URL()) {
			t.Errorf("asked for: %s", request.URL())
		}
	}
	if t.Failed() {
		t.Logf("with %d rules, untrue of %v: %s", len(forgeRules(script)), slices.Collect(maps.Keys(heard.stale)),
			strings.Join(heard.told, "; "))
	}
}

// checkEntitled looks at the requests that were made by who was lent the host last: they are an interval apart. The
// honest slave makes no others.
func checkEntitled(t *testing.T, log []fakeweb.Entry, grants map[string][]forgeGrant, interval time.Duration) {
	t.Helper()
	slices.SortStableFunc(log, func(a, b fakeweb.Entry) int { return a.Start.Compare(b.Start) })
	last := map[string]fakeweb.Entry{}
	for _, e := range log {
		of := grants[e.Origin()]
		n, _ := slices.BinarySearchFunc(of, e.Start, func(g forgeGrant, at time.Time) int {
			return cmp.Or(g.at.Compare(at), -1)
		})
		if n == 0 || of[n-1].slave != e.Agent {
			if e.Agent != "cheat" {
				t.Errorf("%s was asked for at %v by the %s slave, which was not lent it", e.URL(), e.Start, e.Agent)
			}
			continue
		}
		if before, ok := last[e.Origin()]; ok && e.Start.Sub(before.Start) < interval {
			t.Errorf("%s was asked for by the %s slave %v after the %s slave asked for %s", e.URL(), e.Agent,
				e.Start.Sub(before.Start), before.Agent, before.Path)
		}
		last[e.Origin()] = e
	}
}

// reachableWithout is what can be reached through the pages of other hosts alone.
func reachableWithout(t *testing.T, web *fakeweb.Web, hosts map[string]bool, depth int) map[string]bool {
	t.Helper()
	reached := map[string]bool{}
	level := web.Seeds()
	for left := depth; len(level) > 0; left-- {
		var next []string
		for i := 0; i < len(level); i++ {
			url := level[i]
			page, err := web.Page(url, time.Now())
			if err != nil || reached[url] {
				continue
			}
			if slices.ContainsFunc(slices.Collect(maps.Keys(hosts)), func(host string) bool {
				return host == "" || strings.HasPrefix(url, host)
			}) {
				continue
			}
			reached[url] = true
			if page.Location != "" {
				level = append(level, page.Location)
			}
			if left > 0 {
				for _, link := range page.Links {
					if link.Kind.Navigates() {
						next = append(next, link.URL)
					}
				}
			}
		}
		level = next
	}
	return reached
}
