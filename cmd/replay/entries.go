package replay

import (
	"henro/slave/mediatype"
	"henro/store/archive/cdxj"
)

// Mime is the media type of a capture, also of one that is a revisit; empty if its content is not in the archive.
func (a *Archive) Mime(e cdxj.Entry) string {
	c, err := a.Read(e)
	if err != nil {
		return ""
	}
	defer c.Close()
	t, _ := mediatype.Parse(c.Header.Get("Content-Type"))
	return t.Essence
}

// Entries shows the captures of all pages in the order of the index until visit returns false.
func (a *Archive) Entries(visit func(cdxj.Entry) bool) error {
	return a.entries("", visit)
}

// Merged is what the merged index holds.
func (a *Archive) Merged() cdxj.Merged {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.merged
}
