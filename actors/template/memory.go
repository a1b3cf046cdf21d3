package template

// Memory remembers some thousands of fingerprints, in two Bloom filters of 8 kB: when one is full, the older begins
// anew. What was not among the last 8,000 may count as new again; of new ones some 3 in 100 count as known. The zero
// value remembers nothing.
type Memory struct {
	newer, older []uint64
	count        int // in newer
}

const (
	memoryWords = 1 << 10 // of 64 bits
	memoryMost  = 8000    // fingerprints in one filter: 8 bits each
	memoryTries = 4       // bits of a fingerprint
)

// Add remembers a fingerprint and reports whether it is new.
func (m *Memory) Add(fingerprint uint64) bool {
	if m.count == memoryMost || m.newer == nil {
		m.newer, m.older, m.count = make([]uint64, memoryWords), m.newer, 0
	}
	now := has(m.newer, fingerprint)
	known := now || m.older != nil && has(m.older, fingerprint)
	if !now { // also what the older filter has: it is forgotten last
		for i := range memoryTries {
			word, bit := place(fingerprint, i)
			m.newer[word] |= bit
		}
		m.count++
	}
	return !known
}

func has(filter []uint64, fingerprint uint64) bool {
	for i := range memoryTries {
		word, bit := place(fingerprint, i)
		if filter[word]&bit == 0 {
			return false
		}
	}
	return true
}

// place returns the i-th bit of a fingerprint: 16 bits of it say which.
func place(fingerprint uint64, i int) (word int, bit uint64) {
	n := fingerprint >> (16 * i)
	return int(n >> 6 & (memoryWords - 1)), 1 << (n & 63)
}
