package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"henro/actors/reading"
	"henro/actors/revisit"
	"henro/master"
	"henro/master/watchlist"
	"henro/messages/weburl"
	"henro/store"
)

// maxForm bounds what a form sends: some 10,000 seeds.
const maxForm = 1 << 20

// do carries out what a form asks for, and goes back to where the form was. Package console has made sure that it is a
// form of ours.
func (d *Dashboard) do(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		d.fail(w, r, wrong("wrong.form"))
		return
	}
	var err error
	word := r.PathValue("what")
	switch word {
	case "pause":
		err = d.crawl.Pause(r.Context())
	case "resume":
		err = d.crawl.Resume(r.Context())
	case "stop":
		err = d.crawl.Stop(r.Context())
	case "drain", "undrain":
		err = d.drain(r, word == "drain")
	case "exclude", "admit":
		err = d.exclude(r, word == "exclude")
	case "revisit":
		err = d.revisit(r)
	case "seeds":
		err = d.addSeeds(r)
	default:
		err = watchlist.Do(d.crawl.Options().Watched, d.crawl.Changes().Teach, r)
	}
	if errors.Is(err, watchlist.ErrUnknown) {
		http.NotFound(w, r)
		return
	}
	if err != nil {
		d.fail(w, r, err)
		return
	}
	if status, err := d.crawl.Status(r.Context()); err == nil {
		d.history.correct(status)
	}
	http.Redirect(w, r, said(r.PostFormValue("back"), word), http.StatusSeeOther)
}

// badLinesShown is how many lines of seeds that cannot be read are named.
const badLinesShown = 5

// addSeeds takes one URL a line. Lines that cannot be read are named, and the others are taken.
func (d *Dashboard) addSeeds(r *http.Request) error {
	depth, err := strconv.Atoi(r.PostFormValue("depth"))
	if err != nil || depth < -1 || depth > 126 {
		return wrong("wrong.depth", r.PostFormValue("depth"))
	}
	var seeds []reading.Seed
	var bad []string
	number := 0
	for line := range strings.Lines(r.PostFormValue("seeds")) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		u, err := weburl.Parse(line)
		if err != nil {
			bad = append(bad, fmt.Sprintf("%d: %.200q", number, line))
			continue
		}
		seeds = append(seeds, reading.Seed{URL: u, Depth: depth})
	}
	if len(seeds) == 0 && len(bad) == 0 {
		return wrong("wrong.seeds")
	}
	if len(seeds) > 0 {
		if _, err = d.crawl.AddSeeds(r.Context(), seeds); err != nil {
			return err
		}
	}
	if len(bad) > 0 {
		more := max(0, len(bad)-badLinesShown)
		if bad = bad[:len(bad)-more]; more > 0 {
			bad = append(bad, "…")
		}
		return wrong("wrong.lines", n(len(seeds)), n(len(bad)+max(0, more-1)), strings.Join(bad, ", "))
	}
	return nil
}

// drain takes the hosts of a slave back, or lends it some again.
func (d *Dashboard) drain(r *http.Request, on bool) error {
	name := r.PostFormValue("slave")
	_, err := d.crawl.Drain(r.Context(), name, on)
	if errors.Is(err, store.ErrNotFound) {
		return wrong("wrong.slave", name)
	}
	return err
}

// exclude keeps a host from being asked, or lets it in again.
func (d *Dashboard) exclude(r *http.Request, on bool) error {
	u, err := parsedURL(r.PostFormValue("host"))
	if err != nil {
		return err
	}
	_, err = d.crawl.Exclude(r.Context(), u.Host(), on)
	return err
}

// revisit has pages visited at other times.
func (d *Dashboard) revisit(r *http.Request) error {
	posted := &master.RevisitPosted{Pages: r.PostFormValue("pages")}
	switch r.PostFormValue("when") {
	case "now":
		posted.Now = true
	case "every":
		every, err := revisit.ParseSpan(strings.TrimSpace(r.PostFormValue("every")))
		if err != nil || every == 0 {
			return wrong("wrong.span", r.PostFormValue("every"))
		}
		posted.Every = every
	case "auto":
		posted.Auto = true
	}
	_, err := d.crawl.Revisit(r.Context(), posted)
	switch {
	case errors.Is(err, master.ErrRevisit):
		return wrong("wrong.revisit", err.Error())
	case errors.Is(err, revisit.ErrManyFixed):
		return wrong("wrong.rules", strconv.Itoa(revisit.MaxFixed))
	}
	return err
}
