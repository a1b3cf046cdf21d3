package orders

// heap is a binary heap of numbers under keys, the least key first, equal keys in order of arrival. container/heap
// would box every entry in an interface.
type heap struct {
	entries []heapEntry
	pushed  uint64
}

// heapEntry is one number waiting under its key.
type heapEntry struct {
	key   int64
	order uint64 // how many entries were pushed before it
	value uint32
}

func (a heapEntry) before(b heapEntry) bool {
	return a.key < b.key || a.key == b.key && a.order < b.order
}

func (h *heap) empty() bool      { return len(h.entries) == 0 }
func (h *heap) least() heapEntry { return h.entries[0] }

func (h *heap) push(key int64, value uint32) {
	e := heapEntry{key: key, order: h.pushed, value: value}
	h.pushed++
	h.entries = append(h.entries, e)
	i := len(h.entries) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(h.entries[parent]) {
			break
		}
		h.entries[i] = h.entries[parent]
		i = parent
	}
	h.entries[i] = e
}

func (h *heap) pop() uint32 {
	top := h.entries[0].value
	n := len(h.entries) - 1
	e := h.entries[n]
	h.entries = h.entries[:n]
	if n == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && h.entries[child+1].before(h.entries[child]) {
			child++
		}
		if !h.entries[child].before(e) {
			break
		}
		h.entries[i] = h.entries[child]
		i = child
	}
	h.entries[i] = e
	return top
}
