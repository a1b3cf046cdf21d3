// Package politeness decides when a host may be asked again, and whether its pages' timetable can be kept at that pace.
//
// The idea is the host schedule of Tamura and Kitsuregawa [1]. In their letters, for host i,
//
//	L_i = Σ_j 1/T_ij              load index: visits per second that its pages' timetable asks for     (6)
//	I_ik ≥ (S/C)·e_ik             the k-th visit took e_ik: C connections then suffice for S hosts       (9)
//	1/L_i ≥ I_ik ≥ (S/C)·e_ik     so the interval between two starts of requests lies in between         (10)
//	R_i = (1/L_i) / max_k e_ik ≥ S/C      and such an interval exists iff this holds                     (11)
//
// To the lower bound come what is owed to the host: a floor, its Crawl-delay, and rest after failures:
//
//	max(floor, (S/C − 1)·e, crawl-delay, back-off)
//
// In henro that runs from the end of a request, so a host is feasible if 1/L ≥ that + e. If it is not, what binds is
// its answers, our connections or the interval that it is owed (Verdict), and its pages must be visited less often: see
// Relief.
//
// A host whose operator consents (SetParallel) may be asked n requests at once (§6.3), each as a host of its own under
// (9), so that (11) is R ≥ (S/C)/n. From one start to the next are then max(floor, (S/C)·e/n, crawl-delay). While it is
// not well it is asked one at a time.
//
// The unit of politeness is whatever one State is kept for: a host; or one address or registrable domain, when the
// crawl lets all their names share a clock.
//
// Invariants:
//   - NextAllowed never moves back but with the clock (SetBack), and after a visit is at least one Interval after its
//     end.
//   - With L ≤ 1/I nothing but the page timetable, the floor, the fetch time, the host's wishes and back-off slow a
//     host down.
//   - L equals the sum recomputed from scratch, exactly, after any number of changes.
//   - Time is an argument: the same calls give the same state on every machine.
//
// [1] Design and implementation of an incremental crawler for large scale web archives, §4.
package politeness

import (
	"math"
	"time"
)

// Outcome says how a visit ended, as far as the host's health is concerned.
type Outcome uint8

const (
	OK          Outcome = iota // an answer below 400, 304 included
	ClientError                // 4xx but 429: the page is the problem, the host is well
	ServerError                // 5xx but 503: perhaps the page, perhaps the host
	Throttled                  // 429 or 503: too fast
	TimedOut                   // accepted the connection or not, but never answered
	Refused                    // connection refused or reset
	Unreachable                // no route, no name, no TLS
	Broken                     // an answer that breaks the protocol or off in the middle

	outcomes
)

// String returns the outcome in words.
func (c Outcome) String() string {
	return [...]string{"ok", "client error", "server error", "throttled", "timed out", "refused", "unreachable",
		"broken", "unknown"}[min(c, outcomes)]
}

// well reports whether the host answered and did not complain.
func (c Outcome) well() bool { return c == OK || c == ClientError }

// absent reports whether it looks as if there were no host.
func (c Outcome) absent() bool { return c == TimedOut || c == Refused || c == Unreachable }

// Visit is one request to a host, for a page or for robots.txt.
type Visit struct {
	Took       time.Duration // e: how long it held a connection
	Outcome    Outcome
	RetryAfter time.Duration // what the host asked to wait, from the end of the visit; 0: nothing
	// a failure does not raise the back-off if the host answered: the caller has a rule of its own for when to ask
	// again (robots.Retry)
	OwnRetry bool
}

// State is what is kept of one host. The zero value is a host never asked.
type State struct {
	Timetable Timetable // what its pages ask for

	took time.Duration // e of the latest visit that was answered
	mean time.Duration // their mean, over some 16
	// max_k e_ik, drawn to the mean by 1/64 a visit, so that one slow hour is forgotten in a hundred visits
	worst time.Duration

	crawlDelay time.Duration // as robots.txt wishes, 0 without a wish
	visits     uint64
	failures   uint32 // level of back-off: up by one with each failure, halved by each success
	absences   uint32 // visits in a row that found no host
	dead       bool   // they reached Options.DeadAfter
	parallel   uint8  // requests that may be under way at once; 0: one
	lastOK     int64  // unix milliseconds of the latest visit that found the host well, 0: none
	next       int64  // unix milliseconds from which it may be asked
	rest       int64  // unix milliseconds until which it rests after failures
}

// Took returns e of the latest answered visit, the mean of late, and the largest of late.
func (s *State) Took() (latest, mean, worst time.Duration) { return s.took, s.mean, s.worst }

// Failures returns the level of back-off: how many failures are not yet forgiven.
func (s *State) Failures() int { return int(s.failures) }

// SetCrawlDelay notes what robots.txt asks for; 0 when it asks for nothing.
func (s *State) SetCrawlDelay(d time.Duration) { s.crawlDelay = max(d, 0) }

// MaxParallel bounds the requests that are under way at once to a host.
const MaxParallel = 16

// SetParallel notes how many requests may be under way at once to a host that is well; 0 stands for one.
func (s *State) SetParallel(n int) { s.parallel = uint8(min(n, MaxParallel)) }

// Parallel returns how many requests may be under way at once now.
func (s *State) Parallel() int {
	if s.failures > 0 {
		return 1
	}
	return s.atOnce()
}

func (s *State) atOnce() int { return max(1, int(s.parallel)) }

// Interval returns the least time from the end of a request to the start of the next, or from one start to the next if
// several may be under way.
func (s *State) Interval(o *Options) time.Duration {
	return max(s.Pace(o), s.backoff(o))
}

// pace is the interval without back-off, of the floor at least, for visits that take e, n at once. It is 0 where
// nothing is owed.
func (s *State) pace(o *Options, floor, e time.Duration, n int) time.Duration {
	if o.Floor == 0 {
		return 0
	}
	return max(floor, times(e, o.Pace(n)), min(s.crawlDelay, o.MaxCrawlDelay))
}

// Pace returns the interval without back-off: what others who share the host's clock have to wait for after a visit of
// it.
func (s *State) Pace(o *Options) time.Duration {
	return s.pace(o, o.floor(s.Timetable.pages), s.took, s.Parallel())
}

// backoff is BackoffBase·2^(n−1) for n unforgiven failures, the time between probes for a dead host.
func (s *State) backoff(o *Options) time.Duration {
	switch {
	case s.dead:
		return o.ProbeEvery
	case s.failures == 0:
		return 0
	}
	return min(times(o.BackoffBase, math.Exp2(float64(s.failures-1))), o.BackoffCap)
}

// Observe takes a visit that started at the given time into account.
func (s *State) Observe(o *Options, v Visit, started time.Time) {
	s.visits++
	e := max(v.Took, 0)
	ended := started.Add(e)
	// an unanswered visit's time is the crawler's patience, not the host's speed
	if !v.Outcome.absent() && v.Outcome != Broken {
		s.took = e
		if s.mean == 0 {
			s.mean, s.worst = e, e
		}
		s.mean += (e - s.mean) / 16
		s.worst = max(e, s.worst-(s.worst-s.mean)/64)
	}
	if v.Outcome.absent() {
		s.absences = min(s.absences+1, math.MaxInt32)
	} else {
		s.absences = 0
	}
	s.dead = o.DeadAfter > 0 && s.absences >= uint32(o.DeadAfter)
	// what was under way with the failure for which the host rests says nothing new of it
	beside := s.parallel > 1 && started.Before(s.BackoffUntil())
	if v.Outcome.well() {
		if !beside {
			s.failures /= 2
		}
		s.lastOK = max(0, ended.UnixMilli())
	} else {
		rest := min(v.RetryAfter, o.MaxRetryAfter)
		if v.Outcome.absent() || !v.OwnRetry {
			if !beside || s.failures == 0 {
				s.failures = min(s.failures+1, maxLevel)
			}
			rest = max(rest, s.jittered(o, s.backoff(o), started))
		}
		s.rest = max(s.rest, after(ended, rest))
	}
	s.next = max(s.next, after(ended, s.Interval(o)), s.rest)
}

// maxLevel bounds failures: beyond it no back-off grows, and a host that returns is forgiven in six successes.
const maxLevel = 24

// Allow raises NextAllowed to at, if that is later: the host may not be asked before, since a lease was given until
// then, say.
func (s *State) Allow(at time.Time) { s.next = max(s.next, after(at, 0)) }

// SetBack follows a clock that was set back by so much since the state was kept: what is owed is as long as before.
func (s *State) SetBack(by time.Duration) {
	for _, at := range []*int64{&s.next, &s.rest, &s.lastOK} {
		*at = max(0, *at-by.Milliseconds())
	}
}

// AllowAfter raises NextAllowed to a wait from now on, prolonged at random as rests are.
func (s *State) AllowAfter(o *Options, wait time.Duration, now time.Time) {
	s.Allow(now.Add(s.jittered(o, wait, now)))
}

// jittered prolongs a rest that begins at a moment by a share of up to Options.Jitter.
func (s *State) jittered(o *Options, rest time.Duration, at time.Time) time.Duration {
	return times(rest, 1+o.Jitter*chance(uint64(at.UnixNano())^s.visits<<48))
}

// NextAllowed returns the time before which the host must not be asked; the zero time when it may at once.
func (s *State) NextAllowed() time.Time { return clock(s.next) }

// BackoffUntil returns until when the host rests because of failures or its Retry-After; the zero time when never.
func (s *State) BackoffUntil() time.Time { return clock(s.rest) }

// LastOK returns when the host was last found well, the zero time when never.
func (s *State) LastOK() time.Time { return clock(s.lastOK) }

// Dead reports whether so many visits in a row found no host that it is given up but for rare probes.
// The first visit that is answered ends it.
func (s *State) Dead() bool { return s.dead }

// Verdict says whether a host's timetable is kept, and if not, which of three binds: its answers, our connections, or
// the interval that it is owed.
type Verdict uint8

const (
	// Feasible: the timetable is kept.
	Feasible Verdict = iota
	// NeedsConnections: S/C sets its interval, and a smaller one would help.
	NeedsConnections
	// Overloaded: its answers take too long for it, whatever the resources.
	Overloaded
	// NeedsInterval: its floor or its Crawl-delay sets the interval, and a shorter one would help.
	NeedsInterval
	// Behind: the host bears it, and still more than LateShare of its visits came late.
	Behind

	Verdicts // how many there are
)

// LateShare is the share of visits that come later than one of their page's intervals after their time from which on a
// timetable is not kept.
const LateShare = 0.05

// String returns the verdict in words.
func (v Verdict) String() string {
	return [...]string{"feasible", "needs more connections", "overloaded whatever the resources",
		"needs a shorter interval", "behind its timetable"}[min(v, Behind)]
}

// Judge returns the verdict on a timetable that asks for so many visits per second. While new pages wait they get half
// of the host's time or more (KnownShare), so that 1/L is half as long. With L of that, I from one start to the next
// for max e, and (S/C) of as many connections as one likes being LeastRatio + 1, which stands where the paper has 1,
//
//	1/L ≥ I                         feasible, unless visits come late
//	1/L < (LeastRatio + 1) · max e  overloaded whatever the resources
//	I = (S/C) · max e               needs more connections
//	otherwise                       needs a shorter interval
//
// Back-off passes and does not count.
func (s *State) Judge(o *Options, load float64, newWait bool) Verdict {
	upper := inverse(load)
	if newWait {
		upper /= 2
	}
	ample := *o
	ample.Servers, ample.Connections = 0, 0
	switch {
	case upper >= s.Cycle(o, s.worst):
		// passed over: it might be asked, and has not been for so long that a page of its mean interval 1/(L/pages) is
		// visited later than an interval after its time
		passedOver := s.next > 0 &&
			o.At.Sub(s.NextAllowed()).Seconds()*s.Timetable.Load() > 2*float64(s.Timetable.pages)
		if passedOver || s.Timetable.Late() > LateShare {
			return Behind
		}
		return Feasible
	case upper < times(s.worst, (1+ample.Pace(1))/float64(s.atOnce())): // what the time of the answers alone asks for
		return Overloaded
	case s.Cycle(&ample, s.worst) < s.Cycle(o, s.worst):
		return NeedsConnections
	}
	return NeedsInterval
}

// Cycle returns the time from the start of one request to that of the next for visits that take e, back-off left out.
func (s *State) Cycle(o *Options, e time.Duration) time.Duration {
	pace := s.pace(o, o.floor(s.Timetable.pages), e, s.atOnce())
	if n := s.atOnce(); n > 1 {
		return max(pace, e/time.Duration(n))
	}
	return pace + e
}

// R returns (1/L)/max e, +Inf while one of them is not known.
func (s *State) R() float64 {
	if s.worst <= 0 {
		return math.Inf(1)
	}
	return 1 / (s.Timetable.load.PerSecond() * s.worst.Seconds())
}

// Capacity returns the visits per second that the host bears at its present pace, back-off left out: 1/(I + e). With
// floor 0 it is as many as fit one after the other.
func (s *State) Capacity(o *Options) float64 {
	return 1 / max(s.Cycle(o, s.worst), time.Millisecond).Seconds()
}

// RobotsEvery is how often robots.txt is asked for beside the pages.
const RobotsEvery = 24 * time.Hour

// Spare returns the visits per second that the host has for known pages once no new ones wait: what it bears, less what
// robots.txt takes.
func (s *State) Spare(o *Options) float64 {
	capacity := s.Capacity(o)
	return max(capacity-1/RobotsEvery.Seconds(), capacity/2)
}

// KnownShare returns the share of a host's visits that known pages get while new ones wait too, from the visits per
// second that their timetable asks for and that the host bears: half, as the paper has it, so that new pages take no
// more from a host that bears its timetable. Of one that does not an eighth: a new page brings a version for certain, a
// known one perhaps (docs/measured/revisit.md has splits compared).
func KnownShare(asked, bears float64) float64 {
	if asked <= bears {
		return 1. / 2
	}
	return 1. / 8
}

// after returns t + d in unix milliseconds, rounded up: never too early.
func after(t time.Time, d time.Duration) int64 {
	const most = math.MaxInt64 / int64(time.Millisecond) // year 2262
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return max(0, min(ms+int64((d+time.Millisecond-1)/time.Millisecond), most))
}

func clock(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// chance returns a number from 0 to 1 that is spread evenly over seeds (SplitMix64).
func chance(seed uint64) float64 {
	seed += 0x9e3779b97f4a7c15
	seed = (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
	seed = (seed ^ seed>>27) * 0x94d049bb133111eb
	return float64((seed^seed>>31)>>11) * 0x1p-53
}
