// Package course knows how far a crawl has come, and when it ends: the commands it was given, its hours and limits, the
// surveys that prove that nothing is left, and what keeps it from going on.
//
// A Course is a value. Updated takes a fact at a moment and returns what is to be done then; nothing here knows of
// actors, clocks or disks. So whole crawls are scripts: testdata/*.script.
//
// Invariant: a crawl ends as Finished only when two surveys, between which nothing was committed anywhere, found no URL
// waiting, no write unsettled, no lease open and no seed on its way.
package course

import (
	"maps"
	"time"

	"henro/actors/protocol"
	"henro/master/lending"
	"henro/master/window"
	"henro/messages/speech"
)

// State is what a crawl is doing.
type State string

// The states of a crawl.
const (
	Running State = "running"
	Paused  State = "paused"
	Deposed State = "deposed" // another master leads: nothing is lent, and no fact taken
	Closed  State = "closed"  // outside of Options.Hours: leases are back, or being taken back
	Ending  State = "ending"  // leases are being taken back, and then the crawl ends
	Ended   State = "ended"
)

// End says why a crawl ended.
type End string

// The ends of a crawl.
const (
	Finished   End = "finished" // nothing left to do
	PageLimit  End = "page limit"
	TimeLimit  End = "time limit"
	SizeLimit  End = "size limit"
	Stopped    End = "stopped"
	DiskFull   End = "disk full"
	StoreFault End = "store fault"
	Damaged    End = "state damaged"
)

// Options of a Course.
type Options struct {
	Begun      time.Time     // when the run began, perhaps under another master
	Paused     bool          // that master had it paused
	End        End           // it was ending for this reason; empty: it was not
	For        time.Duration // end after so long; 0: no limit
	Hours      window.Hours  // when hosts may be asked
	MaxBytes   uint64        // end after so much payload; 0: no limit
	StallAfter time.Duration // report it when nothing is fetched for so long; 0: never
	StallLimit time.Duration // end when nothing could be stored for so long; 0: never
	Continuous bool          // it does not end by itself
	RoundEvery time.Duration // 0: one round
	Series     *Series       // its rounds; nil: it does not go in rounds
	Tasks      bool          // what is to be visited is drawn, under the policy thesis
	Partitions int           // how many there are to be asked
}

// Course is how far a crawl has come in this run, and what ends it.
type Course struct {
	o    Options
	desk Lending
	now  time.Time
	out  []any

	phase    State
	end      End
	endingAt time.Time // since when it is Ending
	opensAt  time.Time // in Closed: when its hours begin
	begun    bool      // the seeds it was started with are added
	seeding  int       // writes of seeds that are not on disk yet, and tasks that are being drawn
	surveys  surveys
	stalls   stalls
}

// Lending is what a Course asks of the lending.
type Lending interface {
	OpenCount() int
	Restored() bool
	Closing() bool
	Stalled(now time.Time, quiet time.Duration, waiting uint64) (map[string]int, speech.Sentence)
}

// What a Course is told, beside answers of Partitions. The first four are commands to the Master.
type (
	// Begin lets the crawl come to an end: the seeds it was started with are added.
	Begin struct{}
	// Pause takes all leases back and lends nothing until Resume.
	Pause struct{}
	// Resume ends Pause.
	Resume struct{}
	// Stop takes all leases back and ends the crawl; its state stays.
	Stop struct{ Why End }
	// Opened says that the state is open and nothing of this run is written yet.
	Opened struct{}
	// Tick is told again and again.
	Tick struct{}
	// LastClosed says that no lease is open any more: perhaps the crawl has come to its end.
	LastClosed struct{}
	// SeedsSent and SeedsStored count writes of seeds, and tasks that are being drawn.
	SeedsSent   struct{ Writes int }
	SeedsStored struct{}
	// RivalLeads says that another master leads.
	RivalLeads struct{}
	// DrawnOut answers DrawnOutAsked. All: nothing can be drawn any more.
	DrawnOut struct{ All bool }
)

// What a Course says, beside facts for the lending (lending.Halted, lending.Resumed), lines for the log (lending.Said),
// and questions and orders of package protocol for all Partitions.
type (
	// RunChanged says that the other masters are to know how the run stands.
	RunChanged struct{}
	// RoundsChanged says that Series.All has changed.
	RoundsChanged struct{}
	// DrawnOutAsked asks whether nothing can be drawn any more.
	DrawnOutAsked struct{}
	// CrawlEnded says that the crawl has ended. Nothing comes after it.
	CrawlEnded struct{}
)

const (
	// cutAfter is how long requests under way are waited for at the end: most are answered by then, and a page that is
	// not is fetched when the crawl goes on. A limit of time is kept within 2 s by it.
	cutAfter = time.Second
	// endWait bounds the wait for leases to come back at the end: a slave may be gone.
	endWait = 15 * time.Second
)

// closeEarly is how long before their end the hours count as over: a slave learns of it when it asks for work, once a
// second, and stops after the request under way.
const closeEarly = 3 * time.Second

// New makes the course of a crawl whose hosts are lent at a desk.
func New(o Options, desk Lending) *Course {
	return &Course{o: o, desk: desk, phase: Running, surveys: surveys{partitions: o.Partitions},
		stalls: stalls{unstored: map[int]error{}}}
}

// Updated takes a fact at a moment, and returns what is to be done then.
func (c *Course) Updated(now time.Time, fact any) []any {
	c.now = now
	switch m := fact.(type) {
	case *Opened:
		c.open()
	case *Begin:
		c.begun = true
		c.stalls.reportedAt = now
	case *Pause:
		if c.phase == Running || c.phase == Closed {
			c.phase = Paused
			c.say(&RunChanged{}, &lending.Halted{})
		}
	case *Resume:
		if c.phase == Paused {
			c.phase, c.stalls.reportedAt = Running, now
			c.say(&RunChanged{})
			if c.keepHours(); c.phase == Running {
				c.say(&lending.Resumed{})
			}
		}
	case *Stop:
		c.wind(m.Why)
	case *RivalLeads:
		if c.phase != Ending && c.phase != Ended {
			c.phase = Deposed
		}
	case *lending.Heard:
		if c.stalls.fetched(now) {
			c.log("info", "pages are fetched again", nil)
		}
	case *SeedsSent:
		c.seeding += m.Writes
	case *SeedsStored:
		c.seeding--
	case *protocol.StoreStalled:
		c.stalls.fail(now, m)
	case *protocol.StoreResumed:
		delete(c.stalls.unstored, m.Partition)
	case *protocol.OrderDone:
		c.o.Series.marking--
	case *protocol.QuietReported:
		if c.surveys.take(m) {
			c.judge(nil)
		}
	case *DrawnOut:
		c.judge(m)
	case *LastClosed:
		c.ask()
	case *Tick:
		c.tick()
	}
	out := c.out
	c.out = nil
	return out
}

// open goes on where the master before this one was.
func (c *Course) open() {
	c.keepHours()
	c.ask()
	if c.o.Paused {
		c.phase = Paused
		c.say(&lending.Halted{})
	}
	if c.o.End != "" {
		c.wind(c.o.End)
	}
}

func (c *Course) say(effects ...any) { c.out = append(c.out, effects...) }

func (c *Course) log(level, phrase string, fields map[string]any) {
	c.say(&lending.Said{Level: level, Phrase: phrase, Fields: fields})
}

// tick ends the crawl if a limit is reached or nothing goes on any more, and looks whether anything is left to do.
func (c *Course) tick() {
	c.keepHours()
	var waiting uint64
	var due int
	if c.phase == Running && c.begun {
		waiting, due = c.surveys.last.Waiting, c.surveys.last.Due
	}
	c.lookForStall(waiting, due)
	if c.o.For > 0 && c.now.Sub(c.o.Begun) >= c.o.For {
		c.wind(TimeLimit)
	}
	switch {
	case c.stalls.lasting(c.now, c.o.StallLimit):
		c.end = c.stalls.end()
		c.finish()
	case c.phase == Ending && c.now.Sub(c.endingAt) >= endWait:
		c.log("warning", "not all leases came back; they stay on disk and are honoured at the next start",
			map[string]any{"leases": c.desk.OpenCount()})
		c.finish()
	default:
		if c.phase == Ending && c.now.Sub(c.endingAt) >= cutAfter && c.desk.OpenCount() > 0 {
			c.say(&lending.Halted{Cut: true})
		}
		c.ask()
	}
}

// keepHours takes the leases back when the hours of the crawl end, and lends again when they begin.
func (c *Course) keepHours() {
	open := c.o.Hours.Open(c.now) && c.o.Hours.Open(c.now.Add(closeEarly))
	switch {
	case c.phase == Running && !open:
		c.phase, c.opensAt = Closed, c.o.Hours.Turn(c.now.Add(closeEarly))
		c.log("info", "outside the hours of the crawl: taking the leases back", map[string]any{"until": c.opensAt})
		c.say(&lending.Halted{})
	case c.phase == Closed && open:
		c.phase, c.opensAt, c.stalls.reportedAt = Running, time.Time{}, c.now
		c.log("info", "within the hours of the crawl again", nil)
		c.say(&lending.Resumed{})
	}
}

// wind takes the leases back; the crawl ends when all are back.
func (c *Course) wind(why End) {
	if c.phase == Ending || c.phase == Ended {
		return
	}
	c.phase, c.end, c.endingAt = Ending, why, c.now
	c.log("info", "ending: taking the leases back", map[string]any{"why": why})
	c.say(&RunChanged{}, &lending.Halted{})
}

// finish ends the crawl.
func (c *Course) finish() {
	if c.phase != Ended {
		c.phase = Ended
		c.say(&CrawlEnded{})
	}
}

// ask begins a survey, unless one is under way.
func (c *Course) ask() {
	if c.phase == Ended {
		return
	}
	if question := c.surveys.ask(c.desk.Closing() && c.desk.OpenCount() == 0); question != nil {
		c.say(question)
	}
}

// judge ends the crawl if nothing is left to do, by the survey that is complete. Under the policy thesis the tasks are
// asked, too, when the Partitions have nothing left.
func (c *Course) judge(tasks *DrawnOut) {
	last := &c.surveys.last
	if c.o.MaxBytes > 0 && last.Totals.Bytes >= c.o.MaxBytes {
		c.wind(SizeLimit)
	}
	ending, ready := c.phase == Ending, c.begun && c.desk.Restored() && c.seeding == 0
	idle := ready && c.desk.OpenCount() == 0 && c.surveys.unsettled == 0
	nothing := last.Waiting == 0 && !c.o.Continuous
	if c.o.Series != nil {
		if ready && !ending {
			c.beginRound()
		}
		nothing = nothing && last.Due == 0 && c.o.Series.going && c.o.Series.marking == 0
	}
	closing := c.desk.Closing()
	if closing {
		nothing = c.surveys.whole
	}
	if c.o.Tasks && idle && nothing && !ending {
		if tasks == nil {
			c.surveys.asked = true // no other survey until they answer
			c.say(&DrawnOutAsked{})
			return
		}
		nothing = tasks.All
	}
	c.surveys.asked = false
	proven, again := c.surveys.prove(idle && (ending || nothing))
	switch {
	case again:
		c.ask()
	case proven && !ending && c.o.Series != nil && !closing && c.endRound():
		c.surveys.before = nil
	case proven:
		if !ending && closing {
			c.end = PageLimit
		} else if !ending {
			c.end = Finished
		}
		c.finish()
	}
}

// Draws reports that tasks may be drawn.
func (c *Course) Draws() bool { return c.phase == Running && c.begun && c.seeding == 0 }

// Storing reports that every Partition can store.
func (c *Course) Storing() bool { return len(c.stalls.unstored) == 0 }

// Figures are the figures of a crawl by one survey.
type Figures struct {
	Totals  protocol.Totals
	Hosts   uint64
	Known   uint64 // URLs ever admitted
	Waiting uint64 // URLs in the frontier
	Queued  uint64 // known URLs with a timetable
	Due     int    // of these, in line to be visited now
}

// Status is how a crawl goes.
type Status struct {
	Figures // by the latest survey
	State   State
	End     End
	Opens   time.Time       // when the hours of the crawl begin, outside of them
	Earlier uint64          // visits of earlier runs
	Round   *Round          // the latest round, of a crawl that goes in rounds
	Stalled speech.Sentence // why nothing can be stored, or nothing is fetched though there is work
	Stalls  map[string]int  // how many hosts or slaves wait for what, if nothing is fetched
}

// Status says how the crawl goes.
func (c *Course) Status() Status {
	s := Status{Figures: c.surveys.last, State: c.phase, End: c.end, Earlier: c.surveys.earlier, Stalled: c.stalls.says,
		Stalls: maps.Clone(c.stalls.reasons)}
	s.Totals = s.Totals.Clone()
	if c.phase == Closed {
		s.Opens = c.opensAt
	}
	for _, err := range c.stalls.unstored { // more important than that nothing is fetched
		s.Stalls, s.Stalled = nil, speech.Say("%s", err.Error())
	}
	if c.o.Series != nil && len(c.o.Series.all) > 0 {
		round := *c.o.Series.last()
		if c.o.Series.going {
			round.count(&s.Totals)
		}
		s.Round = &round
	}
	return s
}
