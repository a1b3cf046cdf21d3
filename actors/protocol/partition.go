package protocol

import (
	"time"

	"henro/actors/admission"
	"henro/actors/alias"
	"henro/actors/revisit"
	"henro/actors/urlrules"
	"henro/messages/outlink"
	"henro/store"
)

// What a Partition receives. Writes are answered by Written once they are on disk; questions are answered from
// what is on disk, so an actor that asks waits for its own Written first.
type (
	// Write is a set of changes that are stored whole or not at all.
	Write struct {
		Visits     []store.Visited
		Moves      []store.Entry      // records written again without a visit
		Drops      []store.Entry      // records of pages that are given up
		Candidates []store.Candidate  // of any host: those of other partitions go through the outbox
		Ghosts     []store.Position   // waiting records of pages that were visited meanwhile: they are removed
		Relaxed    []store.Relaxation // whose links were judged again
		Host       *store.HostRecord
		Lease      *store.Lease // one that is opened, or has advanced; Facts end the one that they close
		Notes      []Note
		Sweeps     []Sweep
		Totals     Totals       // added to the crawl's totals
		Urgent     bool         // somebody waits for the answer
		Facts      *FactsStored // reported to the Master once this is on disk
		Tag        any          // sent back
	}
	// PlantSeeds has URLs admitted that no frontier turns away; known ones are visited again, now. Written answers it.
	PlantSeeds struct {
		Candidates []store.Candidate
		Tag        any // sent back
	}
	// Note is what a feature keeps of a host beside its record, in a form that the feature alone reads. Beside the note
	// of its name it may keep small ones under keys.
	Note struct {
		Host, Name, Key string
		Bytes           []byte // nil: the note is removed
	}
	// Sweep has all pages looked through that were visited or given up, while other messages are taken: its functions
	// are called then.
	Sweep struct {
		// pages of Host that were given up with the word Says wait again, and those that rest with it are due, also
		// after a restart; the Host gets PagesRevived. Empty: Moves decides, and the Master gets OrderDone
		Host, Says string
		// Spares reports that a page stays as it is, given the notes of the host under a name and a key; nil: none
		// does. After a restart it is forgotten.
		Spares func(url string, note func(name, key string) []byte) bool
		Moves  func(*store.Page) bool // reports whether it has changed when the page is due
		Reply  any                    // that of OrderDone
	}
	// Written answers a Write once it is on disk. A Write of Facts without a Tag is not answered.
	Written struct{ Tag any }

	// HostAsked asks for what is known of a host, and for its notes by these names.
	HostAsked struct {
		Host  string
		Notes []string
	}
	// HostRestored answers HostAsked.
	HostRestored struct {
		Record store.HostRecord
		Lease  *store.Lease      // the open one, of the last run or from before the Host failed; nil: none is open
		Due    int               // pages of it that are due
		Notes  map[string][]byte // by their names
	}
	// PagesAsked asks for waiting URLs of a host, and with Known for the fingerprints of all its seen URLs.
	PagesAsked struct {
		Host  string
		Limit int
		Due   int // known pages that are due, at most
		Known int // fingerprints at most
		// only requisites of pages are asked for
		Requisites bool
		Notes      *PageNotes // a note is wanted of each page; nil: none is
	}
	// PageNotes names the note of a page: its key; empty: it has none.
	PageNotes struct {
		Name  string
		KeyOf func(*store.Page) string
	}
	// PagesLoaded answers PagesAsked.
	PagesLoaded struct {
		store.Waiting
		Due      []store.Entry // the due pages that have waited longest
		DueCount int           // how many there are
		Known    []uint64
		Whole    bool              // Known holds all of the host
		Notes    map[string][]byte // of pages that have one, by their position
	}
	// RecordsAsked asks for records of visited pages of a host, which come some time later. The Partition of the Host
	// that asks passes it on to that of the other, which answers RecordsFound.
	RecordsAsked struct {
		Host, Of string   // who gets the answer, and whose pages are asked for
		URLs     []string // of its pages
	}
	// RecordsFound answers RecordsAsked; URLs that were not visited are left out.
	RecordsFound struct {
		Of    string
		Pages []store.Page
	}
	// EntriesAsked asks for the records at some positions.
	EntriesAsked struct{ Positions []store.Position }
	// EntriesLoaded answers EntriesAsked; what is not there any more is left out.
	EntriesLoaded struct{ Entries []store.Entry }
	// CandidatesSent hands URLs to the partition that owns their hosts; it is repeated until answered.
	CandidatesSent struct{ Parcels []store.Parcel }
	// CandidatesStored answers CandidatesSent.
	CandidatesStored struct{ Parcels []store.Parcel }
	// RelaxationsFound asks a Host to judge the links of its pages that turned out to have more depth left.
	RelaxationsFound struct{ Relaxations []store.Relaxation }
	// WaitingHostsAsked asks for hosts that have something to do, in the order of ids.
	WaitingHostsAsked struct{ After store.HostID }
	// WaitingHostsReported answers WaitingHostsAsked.
	WaitingHostsReported struct {
		Partition int
		Hosts     []string
		Next      store.HostID // 0: that was all
	}
	// WaitingDoubted has a Partition look for the pages that wait by its counts, since no Host says that it may be
	// asked. A Partition that does not find them fails.
	WaitingDoubted struct{}
	// QuietAsked asks whether anything is left to do; the answers of two surveys prove the end of a crawl.
	QuietAsked struct {
		Survey     uint64
		Requisites bool // whether requisites wait is asked too
	}
	// QuietReported answers QuietAsked.
	QuietReported struct {
		Partition int
		Survey    uint64
		Stats     store.Stats
		// writes not on disk, candidates not with their owner, relaxations not judged, open leases, sweeps under way,
		// and a slot that opens within minutes
		Unsettled int
		Commits   uint64 // so far: equal in two surveys means that nothing happened in between
		Totals    Totals // of this partition, since the crawl began
		Due       int    // known pages that wait in line for their hosts, or that failed and are tried again
		// a requisite of a page waits for its first visit, if that was asked
		Requisites bool
	}
	// HostsGrew tells the Hosts which hosts have got URLs to visit.
	HostsGrew struct{ Hosts []string }
	// LeasesFound tells the Master which leases were open on disk when the Partition started.
	LeasesFound struct{ Leases []store.Lease }
	// StoreStalled tells the Master that nothing can be stored; what is unwritten is kept and tried again.
	StoreStalled struct {
		Partition int
		Err       error
	}
	// StoreResumed tells that it can be again.
	StoreResumed struct{ Partition int }
)

// Answered reports whether Written answers it.
func (w *Write) Answered() bool { return w.Facts == nil || w.Tag != nil }

// Hosts that are others under a second name.
type (
	// TextsCompared brings a host comparisons of its pages with those of hosts that it may be.
	TextsCompared struct{ Comparisons []alias.Comparison }
	// PagesRevived tells a Host how many pages wait again that were given up.
	PagesRevived struct{ Count int }
)

// What a person orders of a host.
type (
	// Ordered gives a Host an order: Retime, SetURLRule, SetExcluded or alias.Order. The Master gets OrderDone.
	Ordered struct {
		Host  string
		Order any
		Reply any // comes back
	}
	// OrderDone says that an order is carried out and on disk, or why it is not.
	OrderDone struct {
		Count int // pages whose next visit was moved
		Err   error
		Reply any
	}
	// Retime has the next visits of known pages moved: one of Now, Every and Auto.
	Retime struct {
		Pages revisit.Pattern
		Now   bool          // they are due
		Every time.Duration // they are visited every so often from now on
		Auto  bool          // they are visited by their timetable again
	}
	// SetExcluded keeps a host from being asked, or lets it in again: after the request under way, no other begins.
	SetExcluded struct{ On bool }
	// SetURLRule says of a URL rule whether it holds, whatever the pages show.
	SetURLRule struct {
		Rule urlrules.Rule
		Word urlrules.Word
	}
)

// Known pages that are due, and those that a sitemap says to have changed.
type (
	// DueOpened tells a Host how many of its known pages stand in line, after more have come.
	DueOpened struct{ Count int }
	// OverflowAsked asks for due pages of a host behind the first Keep of its line, at most Limit.
	OverflowAsked struct {
		Host        string
		Keep, Limit int
	}
	// OverflowLoaded answers OverflowAsked.
	OverflowLoaded struct{ Entries []store.Entry }
	// HostDue tells the Hosts how many known pages of a host are due.
	HostDue struct {
		Host  string
		Count int
	}
	// RoundBegun has all known pages visited once that were not visited since a moment. OrderDone answers it when they
	// are due.
	RoundBegun struct{ At time.Time }
	// PagesSought asks for the records of known pages that a sitemap or a feed says to have changed. It must come
	// before the Write of that document's visit: the earlier document is compared with this one.
	PagesSought struct {
		URL   string            // of the document
		Again bool              // it was read before
		Pages []outlink.Outlink // of one host; at least one
		Most  int               // pages wanted at most
	}
	// PagesFound brings the Host what was sought, some time later; pages that are not known, or of which nothing new
	// was said, are left out.
	PagesFound struct {
		Entries []store.Entry
		Hints   []outlink.Hint // of each entry
		Notice  *Notice        // whose pages these are, beside the root page of the host; nil: a document named them
	}
	// Notice says which pages of a host have changed or are new, by what the crawl was told from outside. The Partition
	// of the host answers NoticeTaken, has the pages looked for, and gives the Host PagesFound.
	Notice struct {
		Host  string
		Pages []string // visited pages of the host
		New   []string // URLs of the host that the crawl does not know
		At    time.Time
	}
	// NoticeTaken answers Notice.
	NoticeTaken struct{}
)

// URLsSkipped tells Skips which URLs were not taken.
type URLsSkipped struct{ URLs []admission.Skipped }
