package consensus

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// electionTimer has a follower look for a new leader as soon as the one that it has is silent for a timeout, in
// its turn.
//
// Raft by itself has each follower look at a random moment, between one timeout and three after the leader was last
// heard. The first that looks is refused, since the others have not looked yet: there is a leader again when so many
// have looked that they are a majority. In turns, with three members, that is after a timeout and one turn. How long a
// leader may be silent stays as it is, and so do votes and pre-votes.
type electionTimer struct {
	raft    *raft.Raft
	self    raft.ServerID
	timeout time.Duration

	lookedAt time.Time // the last time
}

// Parts of a timeout.
const (
	looks = 40 // looks in one timeout
	turns = 8  // turns in one timeout: each has time for a vote
	still = 4  // a process that has not looked for a quarter of a timeout stood still itself
)

// run watches until done is closed.
func (w *electionTimer) run(done <-chan struct{}) {
	ticking := time.NewTicker(w.timeout / looks)
	defer ticking.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticking.C:
			if w.silent(time.Now()) {
				w.expire()
			}
		}
	}
}

// silent reports whether the leader has been silent until the turn of this member. A process that stood still itself
// must look once more: by then it has read what came meanwhile.
func (w *electionTimer) silent(now time.Time) bool {
	late := now.Sub(w.lookedAt) > w.timeout/still
	w.lookedAt = now
	_, leader := w.raft.LeaderWithID()
	since := now.Sub(w.raft.LastContact())
	if late || since < w.timeout || w.raft.State() != raft.Follower || leader == "" { // no leader: it looks already
		return false
	}
	f := w.raft.GetConfiguration()
	return f.Error() == nil &&
		since >= w.timeout+time.Duration(turn(f.Configuration().Servers, w.self, leader))*w.timeout/turns
}

// turn counts the members between the leader and another one.
func turn(all []raft.Server, self, leader raft.ServerID) int {
	at := func(id raft.ServerID) int { return slices.IndexFunc(all, named(string(id))) }
	n := len(all)
	return max(0, at(self)-at(leader)-1+n) % max(1, n)
}

// expire has Raft look now: it does so at once when its timeout becomes shorter.
func (w *electionTimer) expire() {
	c := w.raft.ReloadableConfig()
	c.HeartbeatTimeout = w.timeout - 1
	if w.raft.ReloadConfig(c) == nil {
		c.HeartbeatTimeout = w.timeout
		_ = w.raft.ReloadConfig(c) // never fails: it was valid before
	}
}
