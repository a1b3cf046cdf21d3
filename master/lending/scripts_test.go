package lending

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"henro/actors/protocol"
	"henro/messages"
	"henro/messages/scripttest"
	"henro/store"
)

// The commands of the scripts. A slave speaks from the address of its name, or as another; moments are counted from the
// start of the script.
//
//	new [maxpages=9] [leasepages=2] [requisites] [partitions=2] [domains] [names]
//	at 5s                   later 10s
//	register SLAVE BOOT [held=1,2] [as=ADDRESS] [crawl=c] [term=3]
//	asks SLAVE BOOT [slots=2] [held=1,2] [busy=1s] [waits=WORD] [as=ADDRESS]
//	facts SLAVE BOOT LEASE HOST SEQ… [as=ADDRESS] [links=URL,URL depth=1]
//	declines SLAVE BOOT LEASE [as=ADDRESS]                  drawn SLAVE HOST…  lacking
//	lost SLAVE BOOT         refused SLAVE BOOT [gone]       drain SLAVE        resume SLAVE
//	ready HOST [in=5s]      named HOST KEY…
//	lent LEASE SLAVE BOOT HOST [pages=5] [parallel=4]       nothing LEASE [in=5s]
//	stored LEASE SEQ [visits=1] [closed] [in=5s] [others=1s]
//	found [LEASE HOST SLAVE BOOT]                           lies LEASE         unwanted HOST
//	halt    go    deposed TERM    tick [unstored]    ticks 60s: one a second
//	slaves                  stalled
func TestScripts(t *testing.T) {
	scripttest.Play(t, func(said *strings.Builder) (func([]string) error, func()) {
		p := player{said: said}
		return p.play, nil
	})
}

// begun is the moment 0 of every script.
var begun = time.Unix(1_000_000_000, 0).UTC()

// place is the address of an actor.
type place string

func (p place) GetAddress() string { return "here" }
func (p place) GetId() string      { return string(p) }

// player plays one script.
type player struct {
	now  time.Time
	desk *Desk
	said *strings.Builder
	// serials of the slaves
	serial uint64
}

// words are those of a command: names with values, and the others.
type words struct {
	named map[string]string
	plain []string
}

func (w *words) number(key string) uint64 {
	n, _ := strconv.ParseUint(w.named[key], 10, 64)
	return n
}

func (w *words) span(key string) time.Duration {
	d, _ := time.ParseDuration(w.named[key])
	return d
}

func (w *words) id(i int) uint64 {
	n, _ := strconv.ParseUint(w.plain[i], 10, 64)
	return n
}

func (w *words) ids(key string) (ids []uint64) {
	for text := range strings.SplitSeq(w.named[key], ",") {
		if id, err := strconv.ParseUint(text, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func (p *player) play(line []string) error {
	w := &words{named: map[string]string{}}
	for _, word := range line[1:] {
		if key, value, found := strings.Cut(word, "="); found {
			w.named[key] = value
		} else {
			w.plain = append(w.plain, word)
		}
	}
	switch line[0] {
	case "new":
		p.begin(w)
	case "at", "later":
		d, err := time.ParseDuration(w.plain[0])
		if p.now = p.now.Add(d); line[0] == "at" {
			p.now = begun.Add(d)
		}
		return err
	case "ticks":
		d, err := time.ParseDuration(w.plain[0])
		for range d / time.Second {
			p.now = p.now.Add(time.Second)
			if err := p.tell("tick", &words{}); err != nil {
				return err
			}
		}
		return err
	case "slaves":
		for _, s := range p.desk.Slaves(p.now) {
			fmt.Fprintf(p.said, "%s: %s, %d of %d hosts, impossible %d, declined %d\n", s.Name,
				strings.TrimSpace(string(s.State)+" "+s.Why), s.Leases, s.Slots, s.Impossible, s.Declined)
		}
	case "lacking":
		fmt.Fprintf(p.said, "%q\n", p.desk.Lacking(p.now.Add(time.Second)))
	case "stalled":
		reasons, says := p.desk.Stalled(p.now, time.Minute, 7)
		fmt.Fprintf(p.said, "%v: %s\n", reasons, says)
	default:
		return p.tell(line[0], w)
	}
	return nil
}

func (p *player) begin(w *words) {
	o := &Options{Claim: messages.Claim{Crawl: "c", Boot: "m"}, LeaseFor: time.Minute, LeaseMargin: 2 * time.Second,
		TickEvery: 250 * time.Millisecond, LookAhead: time.Second, LeasePages: 9, MaxPages: w.number("maxpages"),
		Requisites: slices.Contains(w.plain, "requisites"), Partitions: int(w.number("partitions")),
		Names: slices.Contains(w.plain, "names"), Debug: true}
	if n := w.number("leasepages"); n > 0 {
		o.LeasePages = int(n)
	}
	if o.Names || slices.Contains(w.plain, "domains") {
		o.Clocks = NewClocks(store.DomainOf)
	}
	p.now = begun
	p.desk = New(o, p.now)
	p.desk.lastID = 0
}

// tell tells the desk what a command stands for.
func (p *player) tell(command string, w *words) error {
	var fact any
	from := place(w.named["as"])
	switch command {
	case "register", "asks", "facts", "declines":
		if from == "" {
			from = place(w.plain[0])
		}
	}
	in := p.now.Add(w.span("in"))
	switch command {
	case "register":
		fact = &messages.SlaveRegistered{Slave: w.plain[0], Boot: w.plain[1], Held: w.ids("held"), Connections: 4,
			Crawl: w.named["crawl"], Term: w.number("term")}
	case "asks":
		p.serial++
		fact = &messages.WorkRequested{Slave: w.plain[0], Boot: w.plain[1], Serial: p.serial, Held: w.ids("held"),
			HostSlots: uint32(w.number("slots")), Waits: w.named["waits"]}
	case "facts":
		report := &messages.Report{Slave: w.plain[0], Boot: w.plain[1]}
		for i := range w.plain[4:] {
			report.Facts = append(report.Facts, &messages.Fact{Lease: w.id(2), Host: w.plain[3], Seq: w.id(4 + i)})
		}
		if links := w.named["links"]; links != "" {
			report.Facts[0].Visited = &messages.PageVisited{DepthLeft: int32(w.number("depth")),
				Links: &messages.LinkSet{Urls: strings.Split(links, ",")}}
		}
		fact = report
	case "declines":
		fact = &messages.TaskRefused{Slave: w.plain[0], Boot: w.plain[1], Lease: w.id(2)}
	case "drawn":
		fact = &TaskDrawn{w.plain[0], w.plain[1:]}
	case "lost":
		fact = &SlaveLost{w.plain[0], w.plain[1]}
	case "refused":
		fact = &SlaveRefused{Slave: w.plain[0], Boot: w.plain[1], Gone: len(w.plain) > 2}
	case "drain":
		fact, from = &DrainSlave{w.plain[0]}, "asker"
	case "resume":
		fact, from = &ResumeSlave{w.plain[0]}, "asker"
	case "ready":
		fact = &protocol.HostReady{Host: w.plain[0], At: in}
	case "named":
		fact = &Named{w.plain[0], w.plain[1:]}
	case "lent":
		from = place(w.plain[3])
		fact = &protocol.Lent{Lease: w.id(0), Slave: w.plain[1], Boot: w.plain[2], Task: &messages.HostTask{
			Lease: w.id(0), Host: w.plain[3], PageLimit: int32(w.number("pages")), PageBudget: 100,
			Parallel: uint32(w.number("parallel"))}}
	case "nothing":
		fact = &protocol.LendRefused{Lease: w.id(0), NextAt: in}
	case "stored":
		fact = &protocol.FactsStored{Lease: w.id(0), Seq: w.id(1), Visits: int(w.number("visits")),
			Closed: slices.Contains(w.plain, "closed"), NextAt: in, OthersAt: p.now.Add(w.span("others"))}
	case "found":
		found := &protocol.LeasesFound{}
		if len(w.plain) > 0 {
			found.Leases = []store.Lease{{ID: w.id(0), HostName: w.plain[1], Slave: w.plain[2], Boot: w.plain[3]}}
		}
		fact = found
	case "lies":
		fact = &protocol.FactsRefused{Lease: w.id(0), Why: "a page that was not lent"}
	case "unwanted":
		fact = &protocol.LeaseUnwanted{Lease: w.id(0)}
	case "halt":
		fact = &Halted{}
	case "go":
		fact = &Resumed{}
	case "deposed":
		fact = &Deposed{messages.Claim{Crawl: "c", Term: w.id(0), Boot: "other"}}
	case "tick":
		fact = &Tick{Storing: len(w.plain) == 0}
	default:
		return fmt.Errorf("no command")
	}
	var at Address
	if from != "" {
		at = from
	}
	effects, known := p.desk.Updated(p.now, at, fact)
	if !known {
		return fmt.Errorf("the desk does not know %T", fact)
	}
	for i := range effects {
		p.report(&effects[i])
	}
	return nil
}

// since is a moment as the scripts have it.
func since(at time.Time) string {
	if at.IsZero() {
		return "at once"
	}
	return at.Sub(begun).String()
}

// report says what an effect is, and for whom.
func (p *player) report(e *Effect) {
	to := map[Recipient]string{Hosts: "hosts", Names: "names", Master: "master", Log: "log"}[e.To]
	if e.To == Actor {
		to = e.Address.GetId()
	}
	say := func(format string, args ...any) { fmt.Fprintf(p.said, to+": "+format+"\n", args...) }
	message := e.Message
	if of, ok := message.(*protocol.ToHost); ok {
		to, message = "wake "+of.Host, of.Message
	}
	switch m := message.(type) {
	case *messages.SlaveWelcomed:
		say("welcome, unknown leases %v", m.Unknown)
	case *messages.NotLeading:
		say("another master leads, in term %d", m.Term)
	case *messages.TaskBatch:
		say("batch:%s%s%s", taskText(m.Tasks), idsText(" renewed", m.Renewed), idsText(" revoked", m.Revoked))
	case *messages.Stored:
		for i, id := range m.Leases {
			say("stored of lease %d up to %d", id, m.Seqs[i])
		}
	case *protocol.Lend:
		say("lend %d to %s until %s, pages %d, few %v, not before %s", m.Lease, m.Slave, since(m.Until), m.PageLimit,
			m.Few, since(m.NotBefore))
	case *protocol.LeaseVoid:
		say("lease %d has ended", m.Lease)
	case *protocol.HostFacts:
		say("%d facts of lease %d", len(m.Facts), m.Lease)
	case *protocol.ResourcesChanged:
		say("%d hosts, %d connections", m.Servers, m.Connections)
	case *Sought:
		say("%s?", m.Host)
	case *Reported:
		say("%d new facts of %s", len(m.Facts), m.Host)
	case *Heard:
		say("heard")
	case *SlaveAnswered:
		if m.Slave == nil {
			say("no such slave")
			return
		}
		say("%s is %s", m.Slave.Name, m.Slave.State)
	case *Said:
		say("%s: %s", m.Level, m.Phrase)
	default:
		say("%T", m)
	}
}

func taskText(tasks []*messages.HostTask) (text string) {
	for _, task := range tasks {
		text += fmt.Sprintf(" lease %d of %s", task.Lease, task.Host)
	}
	return text
}

func idsText(what string, ids []uint64) string {
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprint(what, " ", ids)
}
