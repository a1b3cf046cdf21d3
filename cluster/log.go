package cluster

import (
	"io"
	stdlog "log"
	"net"
	"strings"

	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"
)

// gossipLogger lets memberlist speak through logrus. Its [ERR] becomes a warning: it means a peer that could not be
// reached or understood, which the gossip deals with by itself. At most 5 warnings a second pass, so that whoever
// throws garbage at the port does not fill the disk.
func gossipLogger(entry *logrus.Entry) *stdlog.Logger {
	return stdlog.New(&gossipWriter{log: entry.WithField("lib", "memberlist"), warnings: rate.NewLimiter(5, 20)}, "", 0)
}

type gossipWriter struct {
	log      *logrus.Entry
	warnings *rate.Limiter
}

// Write takes one line, "[LEVEL] memberlist: text".
func (w *gossipWriter) Write(line []byte) (int, error) {
	level, text := gossipLine(string(line))
	if level <= logrus.WarnLevel && !w.warnings.Allow() {
		level = logrus.TraceLevel
	}
	w.log.Log(level, text)
	return len(line), nil
}

// gossipLine takes a line of memberlist apart.
func gossipLine(line string) (logrus.Level, string) {
	text := strings.TrimSpace(line)
	level := logrus.InfoLevel
	if word, rest, ok := strings.Cut(text, "]"); ok && strings.HasPrefix(word, "[") {
		text = strings.TrimSpace(rest)
		switch word[1:] {
		case "ERR", "ERROR", "WARN":
			level = logrus.WarnLevel
		case "DEBUG":
			level = logrus.DebugLevel
		}
	}
	if strings.HasSuffix(text, net.ErrClosed.Error()) { // this node has just left, and its socket with it
		level = logrus.DebugLevel
	}
	return level, strings.TrimPrefix(text, "memberlist: ")
}

// silent is the logger where none is given.
func silent() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	l.SetLevel(logrus.PanicLevel)
	return logrus.NewEntry(l)
}
