package partition

import (
	"henro/store"
	"henro/store/fingerprint"
)

// bands remember in which band each URL waits, in a crawl where a waiting URL rises when a better link leads to it.
// They are an array in memory, in which newer URLs take the places of older ones; these rise no more.
type bands struct {
	cells []uint64 // fingerprint without its lowest eight bits ‖ band
}

const (
	bandsKept = 1 << 19 // URLs of a partition: 4 MB
	// raiseStep is by how many of 255 bands a URL rises at least. Each rise writes a record: so a URL rises 15 times at
	// most
	raiseStep = 16
)

// restoreBands reads what waits. Pages that are tried again do not rise: they would be tried too soon.
func restoreBands(disk *store.Partition) (*bands, error) {
	b := &bands{make([]uint64, bandsKept)}
	return b, disk.EachWaiting(hostBatch, func(_ *store.HostRecord, page *store.Page) {
		if page.Attempts == 0 {
			b.note(page.URL, page.Band)
		}
	})
}

// note notes the band of a URL.
func (b *bands) note(url string, band uint8) {
	fp := fingerprint.URL(url)
	b.cells[fp>>8%bandsKept] = fp&^0xff | uint64(band)
}

// of returns the band of a URL; ok is false when it is not known.
func (b *bands) of(url string) (band uint8, ok bool) {
	fp := fingerprint.URL(url)
	v := b.cells[fp>>8%bandsKept]
	return uint8(v), v != 0 && v&^0xff == fp&^0xff
}

// rises reports whether a URL whose band is known rises by a link, and notes its new band.
func (b *bands) rises(c *store.Candidate, was uint8) bool {
	if c.Requisite > 0 || int(c.Band)+raiseStep > int(was) {
		return false
	}
	b.note(c.URL, c.Band)
	return true
}

// sends reports whether a link is reported to the partition of its URL, which has that URL already: it may rise there.
func (b *bands) sends(c *store.Candidate, owner *store.Partition) bool {
	if was, known := b.of(c.URL); known {
		return b.rises(c, was)
	}
	b.note(c.URL, c.Band)
	_, visited, _, err := owner.Seen.Get(c.URL)
	return err == nil && !visited
}
