package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"henro/messages/ring"
)

// Tail keeps the last lines of the log. It is a hook of a logger, and never waits for a reader.
type Tail struct {
	mu    sync.Mutex
	lines ring.Ring[Line]
	seq   uint64
}

// Line is a line of the log.
type Line struct {
	Seq    uint64            `json:"seq"` // counts up from 1 in one process
	At     time.Time         `json:"at"`
	Level  string            `json:"level"`
	Text   string            `json:"text"`
	Fields map[string]string `json:"fields,omitempty"`
}

// A Tail keeps so many lines, some 200 kB, and no more of a field than this.
const (
	tailLines = 1000
	tailField = 1000
)

// NewTail returns a tail, to be added to a logger as a hook.
func NewTail() *Tail { return &Tail{lines: ring.Of[Line](tailLines)} }

// Levels are those that are worth a look from afar.
func (*Tail) Levels() []logrus.Level { return logrus.AllLevels[:logrus.InfoLevel+1] }

// Fire keeps one line.
func (t *Tail) Fire(entry *logrus.Entry) error {
	line := Line{At: entry.Time, Level: entry.Level.String(), Text: cut(entry.Message)}
	for key, value := range entry.Data {
		if line.Fields == nil {
			line.Fields = make(map[string]string, len(entry.Data))
		}
		line.Fields[key] = cut(fmt.Sprint(value))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	line.Seq = t.seq
	t.lines.Add(line)
	return nil
}

func cut(text string) string { return text[:min(len(text), tailField)] }

// After returns the lines that are kept and came after the one with this number, oldest first, at most so many of the
// latest (0: all).
func (t *Tail) After(seq uint64, most int) []Line {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := max(seq, t.seq-min(t.seq, uint64(cmp.Or(min(most, tailLines), tailLines))))
	lines := make([]Line, 0, t.seq-min(first, t.seq))
	for line := range t.lines.All() {
		if line.Seq > first {
			lines = append(lines, line)
		}
	}
	return lines
}

// Latest are the latest lines as JSON, oldest first.
func (t *Tail) Latest(most int) [][]byte {
	lines := t.After(0, most)
	encoded := make([][]byte, 0, len(lines))
	for i := range lines {
		line, err := json.Marshal(&lines[i])
		if err != nil {
			panic(fmt.Errorf("write a line of the log as JSON: %w", err)) // of strings: it cannot be
		}
		encoded = append(encoded, line)
	}
	return encoded
}

// LogAnswer is what GET /api/log answers.
type LogAnswer struct {
	Lines []Line `json:"lines"`
}

// serve answers GET /api/log: the lines after the number given, the latest hundred if none is.
func (t *Tail) serve(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(cmp.Or(r.FormValue("after"), "0"), 10, 64)
	if err != nil {
		Fail(w, http.StatusBadRequest, fmt.Errorf("after=%q: want the number of a line", r.FormValue("after")))
		return
	}
	most := 0
	if r.FormValue("after") == "" {
		most = 100
	}
	Reply(w, LogAnswer{Lines: t.After(after, most)})
}
