package orders

import "henro/master/frontier"

// pool holds the waiting URLs of a policy in one slice, chained into queues by their indexes: a queue costs eight
// bytes, moving a URL from one to another nothing, and cells that became free are used again before the slice grows.
type pool[K any] struct {
	cells []cell[K] // cell 0 is no cell
	free  uint32    // first of the free cells
	used  int       // cells in queues
	added uint64    // URLs ever put in
}

// cell is one URL in a queue.
type cell[K any] struct {
	item    frontier.Item[K]
	arrival uint64 // how many URLs came before it
	next    uint32 // the cell behind it, 0 at the tail
}

// queue is a FIFO of cells; its zero value is empty.
type queue struct{ head, tail uint32 }

func (q queue) empty() bool { return q.head == 0 }

// put makes a cell for a new URL.
func (p *pool[K]) put(item frontier.Item[K]) uint32 {
	if len(p.cells) == 0 {
		p.cells = make([]cell[K], 1, 64)
	}
	c := p.free
	if c != 0 {
		p.free = p.cells[c].next
	} else {
		c = uint32(len(p.cells))
		p.cells = append(p.cells, cell[K]{})
	}
	p.cells[c] = cell[K]{item: item, arrival: p.added}
	p.added++
	p.used++
	return c
}

// take frees a cell that is in no queue any more, and returns its URL.
func (p *pool[K]) take(c uint32) frontier.Item[K] {
	item := p.cells[c].item
	p.cells[c] = cell[K]{next: p.free} // lets go of what the key points to
	p.free = c
	p.used--
	return item
}

// push puts a cell at the end of a queue.
func (p *pool[K]) push(q *queue, c uint32) {
	p.cells[c].next = 0
	if q.head == 0 {
		q.head = c
	} else {
		p.cells[q.tail].next = c
	}
	q.tail = c
}

// pop takes the cell at the front of a queue that is not empty.
func (p *pool[K]) pop(q *queue) uint32 {
	c := q.head
	q.head = p.cells[c].next
	if q.head == 0 {
		q.tail = 0
	}
	return c
}
