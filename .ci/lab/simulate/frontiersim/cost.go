package frontiersim

import (
	"math/rand/v2"
	"time"

	"henro/.ci/lab/simulate/orders"
	"henro/master/frontier"
)

// Cost is what one URL costs when so many were discovered.
type Cost struct {
	URLs    int
	Enqueue time.Duration // Add
	Next    time.Duration // a share of Next, and Done
	Waiting int           // URLs in the frontier at the end
}

// Queue is what is measured: URLs go in, and come out in steps.
type Queue interface {
	Enqueue(url, host uint64)
	Step() (handed int)
	Len() int
}

// costHosts is the number of hosts that the URLs are spread over.
const costHosts = 100_000

// MeasureCost feeds a queue with generated URLs of hosts drawn at random, four for each that it hands out, as a web
// does whose pages have more links than there is time to follow, and times the last tenth.
func MeasureCost(q Queue, urls int, clock func() time.Duration) Cost {
	const block = 1 << 12
	rnd := rand.New(rand.NewPCG(1, 0))
	hosts := make([]uint64, block)
	cost := Cost{URLs: urls}
	var adding, stepping time.Duration
	added, handed, owed, measured, out := 0, 0, 0, 0, 0
	for added < urls {
		for i := range hosts {
			hosts[i] = rnd.Uint64N(costHosts) * 0x9e3779b97f4a7c15 // scattered, as fingerprints are
		}
		last := added >= urls-urls/10-block
		start := clock()
		for _, host := range hosts {
			q.Enqueue(uint64(added), host)
			added++
		}
		between := clock()
		owed += block
		for owed >= 4 {
			n := q.Step()
			owed -= 4 * max(n, 1)
			handed += n
			if last {
				out += n
			}
		}
		end := clock()
		if last {
			adding, stepping, measured = adding+between-start, stepping+end-between, measured+block
		}
	}
	cost.Enqueue = adding / time.Duration(max(1, measured))
	cost.Next = stepping / time.Duration(max(1, out))
	cost.Waiting = q.Len()
	return cost
}

// policyQueue is a frontier without pauses, so that only the work is measured.
type policyQueue struct {
	f     frontier.Frontier[uint64]
	limit int
	batch []frontier.Item[uint64]
}

// PolicyQueue makes a queue of a policy.
func PolicyQueue(o orders.Options) (Queue, error) {
	o.Interval = 0
	f, err := orders.New[uint64](o)
	return &policyQueue{f: f, limit: o.SlotsH}, err
}

func (q *policyQueue) Enqueue(url, host uint64) {
	q.f.Add(frontier.Item[uint64]{Key: url, Host: host, Band: uint8(url % frontier.Bands)})
}

func (q *policyQueue) Step() int {
	q.batch = q.f.Next(0, q.limit, q.batch[:0])
	for i := range q.batch {
		q.f.Done(q.batch[i].Host, 0, 0)
	}
	return len(q.batch)
}

func (q *policyQueue) Len() int { return q.f.Len() }

// heapQueue is the frontier that the paper argues against: one binary heap of all URLs by the time at which each may be
// visited. Time is that of its host's turn, here spread at random as over many hosts.
type heapQueue struct {
	urls []heapURL
	now  uint64
}

type heapURL struct{ at, url, host uint64 }

// HeapQueue makes an empty queue.
func HeapQueue() Queue { return &heapQueue{} }

func (q *heapQueue) Enqueue(url, host uint64) {
	x := heapURL{at: q.now + host>>40, url: url, host: host}
	q.urls = append(q.urls, x)
	i := len(q.urls) - 1
	for i > 0 && x.at < q.urls[(i-1)/2].at {
		q.urls[i] = q.urls[(i-1)/2]
		i = (i - 1) / 2
	}
	q.urls[i] = x
}

func (q *heapQueue) Step() int {
	n := len(q.urls) - 1
	if n < 0 {
		return 0
	}
	q.now = q.urls[0].at
	x := q.urls[n]
	q.urls = q.urls[:n]
	i := 0
	for child := 1; child < n; child = 2*i + 1 {
		if child+1 < n && q.urls[child+1].at < q.urls[child].at {
			child++
		}
		if q.urls[child].at >= x.at {
			break
		}
		q.urls[i] = q.urls[child]
		i = child
	}
	if n > 0 {
		q.urls[i] = x
	}
	return 1
}

func (q *heapQueue) Len() int { return len(q.urls) }
