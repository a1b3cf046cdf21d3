// Package spoken reads what an archived page says, as a browser showed it where its scripts were run.
package spoken

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"henro/messages/weburl"
	"henro/slave/pagetext"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

const (
	words = "urn:text:" // begins the URIs of records of what pages said
	info  = "urn:pageinfo:"
)

// Page is the URL of the page of which a capture is, or a record of what it said.
func Page(url string) string { return strings.TrimPrefix(url, words) }

// Texts reads pages of an archive.
type Texts struct {
	archive *captures.Archive
	any     bool // scripts of any page were run
}

// Of returns the Texts of an archive. The error is one of its index.
func Of(a *captures.Archive) (*Texts, error) {
	t := &Texts{archive: a}
	return t, a.Lines(words, func(line []byte) bool {
		t.any = strings.HasPrefix(string(line), words)
		return false
	})
}

// Read is pagetext.Read, but for title and words of a page that was shown before its next capture: they are those of
// the last time. It takes the record of such words as well.
func (t *Texts) Read(e cdxj.Entry) (*pagetext.Text, error) {
	text, err := &pagetext.Text{}, error(nil)
	if !strings.HasPrefix(e.URL, words) {
		text, err = pagetext.Read(t.archive, e)
	}
	page, bad := weburl.Parse(Page(e.URL))
	if err != nil || !t.any || bad != nil {
		return text, err
	}
	var until time.Time // the next capture
	err = t.archive.Captures(page, func(next cdxj.Entry) bool { until = next.At; return !until.After(e.At) })
	if !until.After(e.At) {
		until = time.Unix(1<<40, 0)
	}
	if said := t.record(words, e, until); err == nil && len(said) > 0 {
		text.Words = said
		var about struct{ Title string }
		if err := json.Unmarshal(t.record(info, e, until), &about); err == nil && about.Title != "" {
			text.Title = about.Title
		}
	}
	return text, err
}

// record is what the last record of a kind holds that was written from the time of a capture on.
func (t *Texts) record(kind string, e cdxj.Entry, until time.Time) []byte {
	of := cdxj.NewResource(&warc.Record{TargetURI: kind + Page(e.URL)}, 0, 0)
	var last cdxj.Entry
	if err := t.archive.Lines(of.Key+" ", func(line []byte) bool {
		found, err := cdxj.Parse(line)
		if err == nil && found.URL == of.URL && !found.At.Before(e.At) && found.At.Before(until) {
			last = found
		}
		return strings.HasPrefix(string(line), of.Key+" ")
	}); err != nil || last.URL == "" {
		return nil
	}
	c, err := t.archive.Read(last)
	if err != nil {
		return nil
	}
	defer c.Close()
	all, _ := io.ReadAll(io.LimitReader(c.Body, pagetext.MaxBytes)) // of a torn record, what there is
	return all
}

// Late reports that a record is of the words of a page whose capture lies in a file that was read already.
func (t *Texts) Late(e cdxj.Entry, read map[string]bool) bool {
	page, err := weburl.Parse(Page(e.URL))
	if err != nil || !strings.HasPrefix(e.URL, words) {
		return false
	}
	in := ""
	err = t.archive.Captures(page, func(c cdxj.Entry) bool {
		if !c.At.After(e.At) {
			in = c.Filename
		}
		return !c.At.After(e.At)
	})
	return err == nil && read[in]
}
