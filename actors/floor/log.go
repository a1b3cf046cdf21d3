package floor

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
)

// bridge passes what protoactor logs through slog on to logrus.
type bridge struct {
	log   *logrus.Entry
	group string // name of the open group with its dot
}

// quieter are beginnings of protoactor's lines that are for debugging, whatever their level. The writer to a dead peer
// logs two errors every two seconds, where the gossip says once that the peer is dead; the others tell of connections
// that come and go.
var quieter = []string{"EndpointWriter", "EndpointReader", "EndpointWatcher", "EndpointManager", "EndpointSupervisor",
	"[SUPERVISION]",
	"[ACTOR] Recovering", "gRPC", "actor system started", "Starting", "Started", "Stopped", "Killed", "Suspended",
	"connecting"}

// Enabled reports whether logrus would write it.
func (b *bridge) Enabled(_ context.Context, level slog.Level) bool {
	return b.log.Logger.IsLevelEnabled(logrusLevel(level))
}

// Handle writes one line.
func (b *bridge) Handle(_ context.Context, r slog.Record) error {
	level, text := logrusLevel(r.Level), r.Message
	if level < logrus.DebugLevel && slices.ContainsFunc(quieter,
		func(start string) bool { return strings.HasPrefix(text, start) }) {
		level = logrus.DebugLevel
	}
	if text == "[DeadLetter]" {
		text = "dead letter"
	}
	if !b.log.Logger.IsLevelEnabled(level) {
		return nil
	}
	fields := make(logrus.Fields, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		b.field(fields, b.group, a)
		return true
	})
	b.log.WithTime(r.Time).WithFields(fields).Log(level, text)
	return nil
}

// field adds an attribute under our names for things; a message becomes the name of its type, since it may be large.
func (b *bridge) field(fields logrus.Fields, group string, a slog.Attr) {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range value.Group() {
			b.field(fields, group, inner)
		}
		return
	}
	key, v := a.Key, value.Any()
	switch key {
	case "pid", "self", "actor":
		key = "actor"
	case "error", "reason", "exception":
		key = "err"
	case "message", "msg":
		key, v = "message", messageName(v)
	}
	if pid, ok := v.(*actor.PID); ok {
		v = pidName(pid)
	}
	fields[group+key] = v
}

// WithAttrs returns a bridge that adds the attributes to every line.
func (b *bridge) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := make(logrus.Fields, len(attrs))
	for _, a := range attrs {
		b.field(fields, b.group, a)
	}
	return &bridge{log: b.log.WithFields(fields), group: b.group}
}

// WithGroup returns a bridge that puts the name before those of all attributes to come.
func (b *bridge) WithGroup(name string) slog.Handler {
	if name == "" {
		return b
	}
	return &bridge{log: b.log, group: b.group + name + "."}
}

func logrusLevel(level slog.Level) logrus.Level {
	switch {
	case level >= slog.LevelError:
		return logrus.ErrorLevel
	case level >= slog.LevelWarn:
		return logrus.WarnLevel
	case level >= slog.LevelInfo:
		return logrus.InfoLevel
	}
	return logrus.DebugLevel
}

// messageName is the type of a message without its package and star.
func messageName(m any) string {
	t := reflect.TypeOf(m)
	if t == nil {
		return "nil"
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name := t.Name(); name != "" {
		return name
	}
	return t.String()
}

// pidName is an actor's name, without its address.
func pidName(pid *actor.PID) string {
	if pid == nil {
		return ""
	}
	return pid.Id
}
