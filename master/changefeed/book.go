package changefeed

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/messages"
	"henro/store/report/changes"
)

// earliest is the place before all changes that are kept.
const earliest = "-"

// placeOf is the place of a change in what its source has written down: the part of its id that tells it from others,
// short, since a cursor has one of each source.
func placeOf(id string) string {
	id = strings.TrimPrefix(id, changes.IDPrefix)
	return id[:min(len(id), 16)]
}

// isPlace reports whether a text can be a place: of one that is none, a cursor would be none.
func isPlace(text string) bool {
	return text != "" && len(text) <= 16 && !strings.ContainsAny(text, ",: \n")
}

// cursor is how far sources were read: places by name; "" is the crawl's own directory.
type cursor map[string]string

// parseCursor reads the id of a change, or a cursor; what is none of them says nothing of any source.
func parseCursor(text string) cursor {
	c := cursor{}
	if place := placeOf(text); strings.HasPrefix(text, changes.IDPrefix) && isPlace(place) {
		c[""] = place
		return c
	}
	for part := range strings.SplitSeq(text, ",") {
		name, place, is := strings.Cut(part, ":")
		if name, err := url.QueryUnescape(name); is && err == nil && isPlace(place) {
			c[name] = place
		}
	}
	return c
}

// String is what parseCursor reads; "" if it is of the own directory alone, of which the id of a change says as much.
func (c cursor) String() string {
	if _, own := c[""]; len(c) == 0 || own && len(c) == 1 {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, url.QueryEscape(name)+":"+c[name])
	}
	return strings.Join(parts, ",")
}

// book reads what one source has written down. One goroutine at a time uses it.
type book struct {
	dir  string
	name string    // of the file; "": of changes that are told
	seen time.Time // of the file, with its size, when it was read
	size int64
	read []changes.Change // the latest first; those that could have come since, or all
}

const (
	most      = 10_000 // changes that are looked at; of more the latest
	few       = 100    // are read first
	toldBytes = 96 << 10
	longest   = 80 << 10 // bytes of one change
)

// told answers with what was written down behind a place. Of one that is not known any more, with the earliest of the
// latest 10,000.
func (b *book) told(since string) *messages.ChangesTold {
	t := &messages.ChangesTold{Last: since}
	name := cmp.Or(b.name, changes.LinesName)
	info, err := os.Stat(filepath.Join(b.dir, name))
	if err != nil {
		if t.Last == "" {
			t.Last = earliest
		}
		return t
	}
	is := func(c changes.Change) bool { return placeOf(c.ID) == since }
	fresh := !info.ModTime().Equal(b.seen) || info.Size() != b.size
	end := slices.IndexFunc(b.read, is)
	for n := few; n <= most && (fresh || end < 0 && len(b.read) < most); n *= most / few {
		read, err := changes.RecentOf(b.dir, name, n)
		if err != nil {
			return t
		}
		b.read, b.seen, b.size = read, info.ModTime(), info.Size()
		if end = slices.IndexFunc(read, is); end >= 0 || since == "" || len(read) < n {
			break
		}
	}
	switch {
	case len(b.read) == 0:
		t.Last = earliest
		return t
	case since == "":
		t.Last = placeOf(b.read[0].ID)
		return t
	case end < 0:
		end = len(b.read)
	}
	bytes := 0
	for i := end - 1; i >= 0; i-- {
		line := lineOf(b.read[i])
		if bytes += len(line); bytes > toldBytes {
			t.More = true
			break
		}
		t.Changes, t.Last = append(t.Changes, line), placeOf(b.read[i].ID)
	}
	if !t.More { // who follows asks for what comes next
		b.read = slices.Clone(b.read[:min(len(b.read), few)])
	}
	return t
}

// lineOf is a change as JSON, cut where it is longer than a message holds.
func lineOf(c changes.Change) []byte {
	line, _ := json.Marshal(&c) // of texts and numbers alone
	if len(line) > longest {
		c.Diff, c.Cut = strings.ToValidUTF8(c.Diff[:min(len(c.Diff), 1<<10)], ""), true
		c.PricesWent, c.PricesCame, c.DatesWent, c.DatesCame, c.Why = nil, nil, nil, nil, nil
		c.Title = strings.ToValidUTF8(c.Title[:min(len(c.Title), 1<<10)], "")
		line, _ = json.Marshal(&c)
	}
	return line
}

// actorName is where a slave is asked, and learnerName where it learns.
const actorName, learnerName = "changes", "learner"

// Start has a system answer other nodes for what changed and what was held for noise, as it is written down in the
// directory of a slave. learn has that learn what a reader says of a change; it may take its time.
func Start(system *actor.ActorSystem, dir string, learn func(*messages.ChangeTaught) *messages.ChangeLearnt) error {
	folder := filepath.Join(dir, changes.Folder)
	b, noise := &book{dir: folder}, &book{dir: folder, name: changes.NoiseName}
	spawn := func(name string, receive actor.ReceiveFunc) error {
		props := actor.PropsFromFunc(receive, actor.WithMailbox(actor.Unbounded()))
		if _, err := system.Root.SpawnNamed(props, name); err != nil {
			return fmt.Errorf("spawn the teller of changes: %w", err)
		}
		return nil
	}
	return errors.Join(spawn(actorName, func(ctx actor.Context) {
		switch m := ctx.Message().(type) {
		case *messages.ChangesAsked:
			ctx.Respond(b.told(m.Since))
		case *messages.NoiseAsked:
			ctx.Respond(noise.told(m.Since))
		}
	}), spawn(learnerName, func(ctx actor.Context) {
		if m, ok := ctx.Message().(*messages.ChangeTaught); ok {
			ctx.Respond(learn(m))
		}
	}))
}
