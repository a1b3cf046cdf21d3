// Package changes writes down what changed on which page, and reads it again: lines of JSON.
//
// henro feed finds changes in an archive and writes them here; the dashboard of a crawl shows them. They are bounded:
// two files of lines, the older of which is dropped.
package changes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"henro/store/journal"
)

// Names of the files in a Folder below the directory of a crawl.
const (
	Folder    = "feed"
	LinesName = "changes.jsonl"
	NoiseName = "noise.jsonl" // of what was held for noise
)

// Bounds of what is kept.
const (
	MaxDiff  = 16 << 10 // bytes of one text difference
	maxLines = 64 << 20 // bytes of a file of lines
)

// Change is what changed on one page between two captures.
type Change struct {
	ID      string    `json:"id"`
	URL     string    `json:"url"`
	Title   string    `json:"title,omitempty"`
	At      time.Time `json:"at"`              // of the capture
	Before  time.Time `json:"before"`          // of the one that it is compared with
	Letters int       `json:"letters"`         // of the sentences that came or went
	Diff    string    `json:"diff"`            // of the main text, a sentence a line, as henro diff shows it
	Cut     bool      `json:"cut,omitempty"`   // the difference is longer
	Tag     string    `json:"tag,omitempty"`   // that the reader gave the page
	Kinds   []string  `json:"kinds"`           // text, title, link, picture, status, redirect: what changed
	Noise   int       `json:"noise,omitempty"` // blocks that changed too, and are no news
	Why     []string  `json:"why,omitempty"`   // of noise, why it is no news
	// in what changed, each once
	PricesWent []string `json:"prices_went,omitempty"`
	PricesCame []string `json:"prices_came,omitempty"`
	DatesWent  []string `json:"dates_went,omitempty"`
	DatesCame  []string `json:"dates_came,omitempty"`
	// how far a stream of several slaves was read with this one; empty: the id says it
	Cursor string `json:"cursor,omitempty"`
}

// Line tells a change in one line.
func (c *Change) Line() string {
	line := fmt.Sprintf("%s %s %s: %d letters", c.At.Format(time.RFC3339), c.URL, cmp.Or(c.Title, "-"), c.Letters)
	for i, facts := range [][]string{c.PricesWent, c.PricesCame, c.DatesWent, c.DatesCame} {
		if len(facts) > 0 {
			line += [...]string{" −", " +", " −", " +"}[i] + strings.Join(facts, ", ")
		}
	}
	return line + " (" + strings.Join(c.Kinds, ", ") + ")"
}

// IDPrefix begins the name of each change.
const IDPrefix = "urn:henro:change:"

// IDOf names a change by the capture that shows it; the name is the same whenever the change is found. Moments of
// captures are whole seconds, so the digest tells two versions of one second apart.
func IDOf(url string, at time.Time, digest string) string {
	sum := sha256.Sum256([]byte(url + "\n" + at.UTC().Format(time.RFC3339Nano) + digest))
	return IDPrefix + hex.EncodeToString(sum[:16])
}

// Append writes changes behind those that are there, and syncs them.
func Append(dir string, all []Change) error { return appendTo(dir, LinesName, all) }

// AppendNoise writes down what was held for noise.
func AppendNoise(dir string, all []Change) error { return appendTo(dir, NoiseName, all) }

func appendTo(dir, name string, all []Change) error {
	if len(all) == 0 {
		return nil
	}
	return journal.AppendJSON(filepath.Join(dir, name), journal.Options{Bytes: maxLines, Older: 1}, all)
}

// Recent returns the latest changes, the latest first, at most so many; none where none were found yet.
func Recent(dir string, most int) ([]Change, error) { return RecentOf(dir, LinesName, most) }

// RecentNoise returns what was held for noise lately, as Recent does.
func RecentNoise(dir string, most int) ([]Change, error) { return RecentOf(dir, NoiseName, most) }

// RecentOf is Recent of the file of a name: LinesName or NoiseName.
func RecentOf(dir, file string, most int) ([]Change, error) {
	all, err := journal.RecentJSON[Change](filepath.Join(dir, file), most, 2*MaxDiff)
	if err != nil {
		return nil, fmt.Errorf("read changes: %w", err)
	}
	return all, nil
}
