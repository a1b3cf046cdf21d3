package dashboard

import (
	"maps"
	"slices"

	"henro/actors/console"
)

// logLine is one line of the log as it is shown.
type logLine struct {
	*console.Line
	Words []field
}

type field struct{ Name, Value string }

// logShown is how many lines are shown.
const logShown = 200

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
