package store

// recent remembers candidates that the seen set was found to hold, each with at least a reach: a table with one
// place per hash, in which the newcomer wins. What it says is true, since the seen set never forgets and never takes
// reach back; what it does not say means nothing. Links to a host's front page and menus, most of what a crawl finds,
// are answered here in some 10 ns.
type recent struct {
	keys  []uint64
	reach []uint8 // plus one; 0: empty
	mask  uint64
}

func newRecent(bytes int) *recent {
	n := 1
	for n*2*9 <= bytes {
		n *= 2
	}
	if bytes < 9 {
		return &recent{}
	}
	return &recent{make([]uint64, n), make([]uint8, n), uint64(n - 1)}
}

// recentKey mixes host and URL: two URLs are taken for each other about once in 2⁶⁴ pairs.
func recentKey(host HostID, fp uint64) uint64 { return fp ^ uint64(host)*0x9e3779b97f4a7c15 }

func (r *recent) has(host HostID, fp uint64, reach uint8) bool {
	if len(r.keys) == 0 {
		return false
	}
	k := recentKey(host, fp)
	i := k & r.mask
	return r.keys[i] == k && r.reach[i] > reach
}

func (r *recent) put(host HostID, fp uint64, reach uint8) {
	if len(r.keys) == 0 {
		return
	}
	k := recentKey(host, fp)
	i := k & r.mask
	r.keys[i], r.reach[i] = k, reach+1
}
