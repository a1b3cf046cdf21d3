package lending

import (
	"maps"
	"slices"
	"time"

	"henro/messages"
	"henro/messages/weburl"
)

// TaskDrawn says that a task that begins from some hosts was drawn for a slave, and is lent whole: its hosts, and those
// that its pages lead to while depth is left, go to this slave as long as it is there. A host that several tasks reach
// is the first one's. This is not on disk: after a restart the hosts that wait go to any slave.
type TaskDrawn struct {
	Slave string
	Hosts []string
}

// task is open while one of its hosts is ready or lent.
type task struct {
	slave  string
	openAt time.Time // when it was seen open last
}

const (
	// taskOverAfter is how long none of an open task's hosts may be ready or lent: a link to a host of another
	// partition takes two commits.
	taskOverAfter = 10 * time.Second
	// maxBound bounds the hosts of open tasks. Those beyond go to any slave.
	maxBound = 1 << 16
)

// tasks are those that are open, by host.
type tasks map[string]*task

// bind has a host belong to a task, unless it belongs to one.
func (ts tasks) bind(host string, t *task) {
	if ts[host] == nil && len(ts) < maxBound {
		ts[host] = t
	}
}

// reach has the hosts that pages of a host lead to belong to its task, if it has one.
func (ts tasks) reach(host string, facts []*messages.Fact) {
	t := ts[host]
	for i := 0; t != nil && i < len(facts); i++ {
		links := facts[i].More
		if facts[i].Visited.GetDepthLeft() > 0 {
			links = facts[i].Visited.Links
		}
		for _, url := range links.GetUrls() {
			ts.bind(weburl.HostOf(url), t)
		}
	}
}

// sweep forgets the tasks that are over.
func (ts tasks) sweep(q *queue) {
	for host, t := range ts {
		if _, lent := q.ledger.OfHost(host); lent || q.index[host] != nil {
			t.openAt = q.now
		}
	}
	maps.DeleteFunc(ts, func(_ string, t *task) bool { return q.now.Sub(t.openAt) > taskOverAfter })
}

// Lacking are the slaves that tasks are to be drawn for, one for each connection for which no host of a task is lent,
// or ready before a moment.
func (d *Desk) Lacking(before time.Time) (slaves []string) {
	ready := map[string]int{}
	for host, t := range d.tasks {
		if h := d.queue.index[host]; h != nil && h.at.Before(before) {
			ready[t.slave]++
		}
	}
	for _, in := range d.base.ledger.Slaves() {
		if d.slaves.lendable(&in) {
			free := d.slaves.known[in.Name].connections - in.Held - ready[in.Name]
			slaves = append(slaves, slices.Repeat([]string{in.Name}, max(0, free))...)
		}
	}
	return slaves
}
