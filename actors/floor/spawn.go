package floor

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
)

// SpawnAs spawns a child under a name that says what it is, for those who look: its kind, and behind a slash what it is
// about. When the name is still taken by one that is ending, the child gets a number behind it.
func SpawnAs(ctx actor.Context, props *actor.Props, name string) *actor.PID {
	pid, err := ctx.SpawnNamed(props, name)
	if errors.Is(err, actor.ErrNameExists) {
		return ctx.SpawnPrefix(props, name+"~")
	}
	return pid
}

// endWithin bounds how long an actor may take to end. The slave sorts the index of a file of up to 1 GB then: seconds
// on a machine that has time.
const endWithin = 5 * time.Minute

// End lets an actor do what it was sent, and waits until it and its children have ended. RootContext.PoisonFuture waits
// for 10 s only, which was too short for the index of 100,000 captures on a machine under load.
func End(system *actor.ActorSystem, pid *actor.PID) error {
	ended := actor.NewFuture(system, endWithin)
	process, _ := system.ProcessRegistry.Get(pid) // of one that is gone it is the place of dead letters, which answers
	process.SendSystemMessage(pid, &actor.Watch{Watcher: ended.PID()})
	system.Root.Poison(pid)
	return ended.Wait()
}

// kinds are the kinds of our actors, as their names have them.
var kinds = []string{
	"master", "hosts", "host", "partition", "committer", "finder", "sweep", "skips", "fetches", "tasks",
	"slave", "archivist", "binder", "parser", "fetcher", tracingName,
}

// KindOf is the kind of an actor by its name: host of master/hosts/host/https://a.test. Actors of protoactor itself are
// of the kind engine.
func KindOf(name string) string {
	kind := "engine"
	words := strings.Split(name, "/")
	for i := 0; i < len(words); i++ {
		if strings.HasSuffix(words[i], ":") { // scheme://host, which may be called anything
			i += 2
			continue
		}
		word, _, _ := strings.Cut(words[i], "~")
		if slices.Contains(kinds, word) {
			kind = word
		}
	}
	return kind
}

// unhandled is published when an actor did not know a message.
type unhandled struct {
	actor, sender *actor.PID
	message       any
}

// Unhandled notes that an actor does not know the message that it was given, if that is not one of protoactor's own: in
// the log, the counts and the trace.
func Unhandled(ctx actor.Context, log *logrus.Entry) {
	switch ctx.Message().(type) {
	case actor.SystemMessage, actor.AutoReceiveMessage:
		return
	}
	sender := ctx.Sender()
	log.WithFields(logrus.Fields{"message": messageName(ctx.Message()),
		"sender": pidName(sender)}).Warn("unknown message")
	ctx.ActorSystem().EventStream.Publish(&unhandled{actor: ctx.Self(), sender: sender, message: ctx.Message()})
}
