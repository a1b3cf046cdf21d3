package reading

import (
	"fmt"
	"path/filepath"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
)

// Capture is one archived visit of a page.
type Capture struct {
	At     time.Time `json:"at"`
	Status int       `json:"status"`
	Bytes  int64     `json:"bytes"`  // of its record in the archive
	Change Change    `json:"change"` // beside the capture before it
	Digest string    `json:"digest"` // SHA-1 of the payload, base32
}

// Change says how the payload of a capture compares with that of the one before.
type Change string

// The changes.
const (
	ChangeFirst   Change = "first"
	ChangeNone    Change = "unchanged"
	ChangeSome    Change = "changed"
	ChangeUnknown Change = "unknown" // the one before was not looked for
)

// capturesShown bounds PageFound.Captures.
const capturesShown = 50

// Recall adds the captures that lie in the archive of a crawl's directory: those of this machine, and those that were
// collected.
func (p *PageFound) Recall(dir string) error {
	u, err := weburl.Parse(p.Page.URL)
	if err != nil {
		return fmt.Errorf("captures of %s: %w", p.Page.URL, err)
	}
	entries, more, err := cdxj.Recall(filepath.Join(dir, "warc"), u, capturesShown+1)
	if err != nil {
		return fmt.Errorf("captures of %s: %w", u, err)
	}
	p.Remember(entries, more)
	return nil
}

// Remember adds the first of these captures, the latest first; more: there are earlier ones.
func (p *PageFound) Remember(entries []cdxj.Entry, more bool) {
	p.Captures, p.Earlier = nil, more || len(entries) > capturesShown
	for i, e := range entries[:min(len(entries), capturesShown)] {
		c := Capture{At: e.At, Status: e.Status, Bytes: e.Length, Digest: e.Digest, Change: ChangeSome}
		switch {
		case i+1 < len(entries) && (e.Digest == entries[i+1].Digest || e.Mime == cdxj.Revisit && e.Digest == ""):
			c.Change = ChangeNone
		case i+1 == len(entries) && p.Earlier:
			c.Change = ChangeUnknown
		case i+1 == len(entries):
			c.Change = ChangeFirst
		}
		p.Captures = append(p.Captures, c)
	}
}
