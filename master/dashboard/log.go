package dashboard

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"henro/actors/console"
)

// logView is the end of the log of a node, the latest line first.
type logView struct {
	Lines  []logLine
	Level  string   // only this and worse
	Node   string   // the slave whose log it is; empty: the master
	Slaves []string // that can be asked for theirs
	Silent bool     // the slave does not answer
}

// logLine is one line of the log as it is shown.
type logLine struct {
	*console.Line
	Words []field
}

type field struct{ Name, Value string }

const (
	logShown       = 200 // lines
	logSlavesShown = 20  // slaves at the head of the page; all are on that of the nodes
)

func (d *Dashboard) log(r *http.Request, p *page) (any, error) {
	v := &logView{Level: r.URL.Query().Get("level"), Node: r.URL.Query().Get("node")}
	if p.Status != nil {
		for _, s := range p.Status.Slaves {
			if s.Address != "" && len(v.Slaves) < logSlavesShown {
				v.Slaves = append(v.Slaves, s.Name)
			}
		}
	}
	lines := d.tail.After(0, 0)
	if v.Node != "" {
		var err error
		lines, err = d.crawl.Log(r.Context(), v.Node)
		switch {
		case errors.Is(err, console.ErrNoNode):
			return nil, wrong("wrong.slave", v.Node)
		case err != nil:
			v.Silent = true
		}
	}
	for i := len(lines) - 1; i >= 0 && len(v.Lines) < logShown; i-- {
		if line := newLogLine(&lines[i]); line.worse(v.Level) {
			v.Lines = append(v.Lines, line)
		}
	}
	return v, nil
}

func newLogLine(line *console.Line) logLine {
	l := logLine{Line: line}
	for _, name := range slices.Sorted(maps.Keys(line.Fields)) {
		l.Words = append(l.Words, field{name, line.Fields[name]})
	}
	return l
}

// worse reports whether the line is of a level or of a worse one.
func (l *logLine) worse(level string) bool {
	switch level {
	case "error":
		return l.Level == "error" || l.Level == "fatal" || l.Level == "panic"
	case "warning":
		return l.Level != "info"
	}
	return true
}
