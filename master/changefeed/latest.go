package changefeed

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/asynkron/protoactor-go/actor"

	"henro/store/report/changes"
)

// Latest keeps the latest 200 changes of the crawl in a directory and of its slaves, for pages that show them. Any
// goroutine may use it.
type Latest struct {
	mu     sync.Mutex
	stream *stream
	kept   feed
}

// NewLatest has read nothing yet.
func NewLatest(dir string, system *actor.ActorSystem, slaves Slaves) *Latest {
	l := &Latest{}
	l.stream = newStream(filepath.Join(dir, changes.Folder), system, slaves)
	l.stream.cursor, l.stream.fresh, l.stream.take = cursor{}, earliest, l.kept.add
	return l
}

// Each hands over what is kept of all changes: of each node the latest 10,000, those of one node in their order, until
// fn returns false or the context ends. A slave that does not answer within two seconds is left out.
func (l *Latest) Each(ctx context.Context, fn func(*changes.Change) bool) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s := newStream(l.stream.own.dir, l.stream.system, l.stream.slaves)
	s.slave, s.cursor, s.fresh = l.stream.slave, cursor{}, earliest
	s.take = func(c *changes.Change) error {
		if !fn(c) {
			return errEnough
		}
		return nil
	}
	s.run(ctx)
}

var errEnough = errors.New("enough was read")

// Get reads what has come since the last call, and returns the latest, the latest first. A slave that does not answer
// within two seconds is asked by the next call.
func (l *Latest) Get(ctx context.Context) []changes.Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream.run(context.WithoutCancel(ctx)) // whoever is asked answers, or is silent, in time
	l.kept.settle()
	return slices.Clone(l.kept)
}

// Brought is what the capture of a page at a moment brought; nil: it is not among the changes.
func Brought(all []changes.Change, url string, at time.Time) []Row {
	for i := range all {
		if c := &all[i]; c.URL == url && c.At.Truncate(time.Second).Equal(at.Truncate(time.Second)) {
			return Rows(c.Diff)
		}
	}
	return nil
}

// Row is a line of what changed: what went stands beside what came in its place. One of them may have no text.
type Row struct{ Went, Came Line }

// Line is one sentence, whose middle is not in the other.
type Line struct{ Begin, Middle, End string }

// Is reports whether there is one.
func (l Line) Is() bool { return l != Line{} }

// Rows are the lines of a difference, as henro diff writes it.
func Rows(diff string) (rows []Row) {
	var went, came []string
	flush := func() {
		for i := range max(len(went), len(came)) {
			var row Row
			switch {
			case i >= len(went):
				row.Came.Middle = came[i]
			case i >= len(came):
				row.Went.Middle = went[i]
			default:
				row = beside(went[i], came[i])
			}
			rows = append(rows, row)
		}
		went, came = nil, nil
	}
	number := 0
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\n")
		switch number++; {
		case len(line) < 2, number == 1 && line[:2] == "--", number == 2 && line[:2] == "++": // names of both
		case line[0] == '-':
			if len(came) > 0 {
				flush()
			}
			went = append(went, line[1:])
		case line[0] == '+':
			came = append(came, line[1:])
		default:
			flush()
		}
	}
	flush()
	return rows
}

// beside finds what two lines begin and end with alike, in whole words.
func beside(went, came string) Row {
	begin := 0
	for i := 0; ; {
		r, size := utf8.DecodeRuneInString(went[i:])
		if o, _ := utf8.DecodeRuneInString(came[i:]); size == 0 || o != r || r == utf8.RuneError {
			break
		}
		if i += size; !inWord(r) {
			begin = i
		}
	}
	end := 0
	for rest := 0; ; {
		r, size := utf8.DecodeLastRuneInString(went[begin : len(went)-rest])
		if o, _ := utf8.DecodeLastRuneInString(came[begin : len(came)-rest]); size == 0 || o != r ||
			r == utf8.RuneError {
			break
		}
		if rest += size; !inWord(r) {
			end = rest
		}
	}
	line := func(text string) Line {
		return Line{text[:begin], text[begin : len(text)-end], text[len(text)-end:]}
	}
	return Row{line(went), line(came)}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
