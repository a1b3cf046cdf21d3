package slave

import (
	"slices"
	"testing"
	"time"

	"henro/actors/actortest"
	"henro/cmd/fakeweb"
	"henro/messages"
)

// rival is a master that says what it claims.
type rival struct {
	*school
	*actortest.Probe
	claim messages.Claim
}

func (s *school) rival(name string, c messages.Claim) *rival {
	return &rival{s, s.newLeader(name, c), c}
}

// appear has the gossip show a master.
func (r *rival) appear() {
	r.system.Root.Send(r.slave, &MasterSeen{PID: r.Probe.PID, Claim: r.claim})
	actortest.Pass(0)
}

// vanish has the gossip lose a master.
func (r *rival) vanish() {
	r.system.Root.Send(r.slave, &MasterLost{Boot: r.claim.Boot})
	actortest.Pass(0)
}

// welcome is how it takes a slave in.
func (r *rival) welcome() *messages.SlaveWelcomed { return welcome(r.claim) }

// registered is how often the slave registered since the last call.
func (r *rival) registered() int { return len(actortest.TakeOf[*messages.SlaveRegistered](r.Probe)) }

// stored acknowledges all facts of a lease.
func (r *rival) stored(lease uint64) {
	r.Probe.Tell(r.slave, &messages.Stored{Leases: []uint64{lease}, Seqs: []uint64{1000}, Term: r.claim.Term})
	actortest.Pass(0)
}

func (s *school) counts() *Counts {
	answer, err := s.system.Root.RequestFuture(s.slave, &CountsAsked{}, time.Second).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.(*Counts)
}

// TestASlaveGoesOverToTheGreaterTerm with what it holds and owes, and takes nothing more of the smaller: an older
// master that goes on after having been frozen has stored, and would lend, what the newer knows nothing of.
func TestASlaveGoesOverToTheGreaterTerm(t *testing.T) {
	inSchool(t, fakeweb.Options{Seed: 1, Hosts: 2, Pages: 5}, func(*Options) {}, func(s *school) {
		a := s.rival("a", messages.Claim{Crawl: "c1", Term: 5, Boot: "z"})
		a.appear() // beside m1, a master of an older version
		s.master = a.Probe
		task := s.lend(7, 0, 3)
		if refused := actortest.TakeOf[*messages.TaskRefused](a.Probe); len(refused) != 1 {
			t.Fatalf("a batch without a term is answered by %v", refused)
		}
		actortest.Pass(time.Second)
		asked := actortest.TakeOf[*messages.WorkRequested](a.Probe)
		latest := asked[len(asked)-1]
		a.Probe.Tell(s.slave, &messages.TaskBatch{Serial: latest.Serial, Term: 5, Tasks: []*messages.HostTask{task}})
		actortest.Pass(10 * time.Second)
		owed := s.counts().Unstored
		if owed < 3 || latest.Term != 5 {
			t.Fatalf("%d facts are owed; it asked in term %d", owed, latest.Term)
		}
		a.Take()

		b := s.rival("b", messages.Claim{Crawl: "c1", Term: 6, Boot: "zz"})
		b.appear()
		registered := actortest.TakeOf[*messages.SlaveRegistered](b.Probe)
		if len(registered) != 1 || !slices.Equal(registered[0].Held, []uint64{7}) || registered[0].Term != 6 {
			t.Fatalf("the slave registered with %v", registered)
		}
		reported := actortest.TakeOf[*messages.Report](b.Probe)
		if len(reported) != 1 || len(reported[0].Facts) != owed || reported[0].Term != 6 {
			t.Errorf("the slave reported %v, want %d facts", reported, owed)
		}
		a.stored(7)
		if is := s.counts().Unstored; is != owed {
			t.Errorf("%d facts are kept after the master of the smaller term stored them, want %d", is, owed)
		}
		requests := len(s.web.Log())
		late := &messages.HostTask{Lease: 8, Host: "http://" + s.web.Host(1).Name, PageBudget: 1,
			Tasks: []*messages.Task{{Url: s.web.PageURL(1, 0, 80)}}}
		asked = actortest.TakeOf[*messages.WorkRequested](b.Probe)
		a.Probe.Tell(s.slave, &messages.TaskBatch{Serial: asked[len(asked)-1].Serial, Term: 5,
			Tasks: []*messages.HostTask{late}})
		a.Probe.Tell(s.slave, a.welcome())
		actortest.Pass(0)
		if is := s.counts().Master; is != "zz" {
			t.Errorf("welcomed by %s, which does not lead any more", is)
		}
		a.appear()
		actortest.Pass(10 * time.Second)
		if refused := actortest.TakeOf[*messages.TaskRefused](a.Probe); len(refused) != 1 || refused[0].Lease != 8 ||
			len(s.web.Log()) != requests {
			t.Errorf("a batch of the smaller term: refused %v, %d requests", refused, len(s.web.Log())-requests)
		}
		if n := a.registered(); n > 0 || s.counts().Master != "zz" {
			t.Errorf("registered %d times with the smaller term; welcomed by %s", n, s.counts().Master)
		}
		b.stored(7)
		if is := s.counts().Unstored; is != 0 {
			t.Errorf("%d facts are kept that are stored", is)
		}
	})
}

// TestASmallerTermCountsWhenTheGreaterWasAwayForALease: so long leases of it may last, and then the crawl goes on from
// a backup.
func TestASmallerTermCountsWhenTheGreaterWasAwayForALease(t *testing.T) {
	inSchool(t, fakeweb.Options{Seed: 1}, func(*Options) {}, func(s *school) {
		b := s.rival("b", messages.Claim{Crawl: "c1", Term: 6, Boot: "b"})
		b.appear()
		other := s.rival("other", messages.Claim{Crawl: "c2", Term: 60, Boot: "o"})
		other.appear()
		b.vanish()
		a := s.rival("a", messages.Claim{Crawl: "c1", Term: 5, Boot: "a"})
		a.appear()
		actortest.Pass(59 * time.Second)
		if x, y := a.registered(), other.registered(); x+y > 0 {
			t.Errorf("registered %d times with a smaller term, %d times with another crawl", x, y)
		}
		other.vanish()
		actortest.Pass(3 * time.Second)
		if a.registered() == 0 || s.counts().Master != "a" {
			t.Errorf("a minute after the loss the master is %q", s.counts().Master)
		}
		b.appear()
		if s.counts().Master != "b" {
			t.Errorf("when the greater term is back the master is %q", s.counts().Master)
		}
	})
}

// TestOfTwoMastersInOneTermTheFirstLeads, whichever is seen first.
func TestOfTwoMastersInOneTermTheFirstLeads(t *testing.T) {
	for _, order := range [][]string{{"1st", "2nd"}, {"2nd", "1st"}} {
		inSchool(t, fakeweb.Options{Seed: 1}, func(*Options) {}, func(s *school) {
			for _, boot := range order {
				s.rival(boot, messages.Claim{Crawl: "c1", Term: 6, Boot: boot}).appear()
			}
			actortest.Pass(10 * time.Second)
			if is := s.counts().Master; is != "1st" {
				t.Errorf("seen as %v: it works for the %s", order, is)
			}
		})
	}
}

// TestASlaveFollowsToTheMasterThatLeads before the gossip shows that it does.
func TestASlaveFollowsToTheMasterThatLeads(t *testing.T) {
	inSchool(t, fakeweb.Options{Seed: 1}, func(*Options) {}, func(s *school) {
		a := s.rival("a", messages.Claim{Crawl: "c1", Term: 5, Boot: "a"})
		b := s.rival("b", messages.Claim{Crawl: "c1", Term: 6, Boot: "b"})
		standby := messages.Claim{Crawl: "c1", Boot: "b"}
		s.system.Root.Send(s.slave, &MasterLost{Boot: "m1"})
		s.system.Root.Send(s.slave, &MasterSeen{PID: b.Probe.PID, Claim: standby})
		actortest.Pass(5 * time.Second)
		a.appear()
		actortest.Pass(5 * time.Second)
		if n := b.registered(); n > 0 {
			t.Errorf("registered %d times with a master that stands by", n)
		}
		for _, to := range []*messages.NotLeading{
			{Crawl: "c1", Term: 6, Boot: "nobody"}, {Crawl: "c1", Term: 4, Boot: "b"},
			{Crawl: "c2", Term: 6, Boot: "b"},
			{Crawl: "c1", Term: 6},
		} {
			a.Probe.Tell(s.slave, to)
			actortest.Pass(0)
			if n := b.registered(); n > 0 {
				t.Errorf("%v is followed", to)
			}
		}
		a.Probe.Tell(s.slave, &messages.NotLeading{Crawl: "c1", Term: 6, Boot: "b"})
		actortest.Pass(5 * time.Second)
		if n := b.registered(); n != 1 || s.counts().Master != "b" {
			t.Errorf("registered %d times; welcomed by %s", n, s.counts().Master)
		}
		a.claim.Term = 7
		a.appear()
		a.Probe.Tell(s.slave, a.welcome())
		actortest.Pass(0)
		if is := s.counts().Master; is != "a" {
			t.Errorf("led by a again in term 7 the slave works for %q", is)
		}
	})
}
