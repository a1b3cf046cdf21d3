package floor

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// letter stands in protoactor's queue, which cannot be looked into, for a message in a box's own. A message is put into
// ours first, so that there is one for each letter.
var letter any = &struct{ _ byte }{}

// letters are the messages that wait in one mailbox, in a ring, and the one that its actor is at.
type letters struct {
	mu   sync.Mutex
	ring []any // its length is a power of two
	at   int   // of the head
	n    int
	last any // taken, and not handled yet
}

// keptRing is how long an empty ring may be that is kept: 1 kB.
const keptRing = 64

func (l *letters) push(message any) {
	l.mu.Lock()
	if l.n == len(l.ring) {
		wider := make([]any, max(4, 2*len(l.ring)))
		n := copy(wider, l.ring[l.at:])
		copy(wider[n:], l.ring[:l.at])
		l.ring, l.at = wider, 0
	}
	l.ring[(l.at+l.n)&(len(l.ring)-1)] = message
	l.n++
	l.mu.Unlock()
}

func (l *letters) pop() any {
	l.mu.Lock()
	l.last = l.ring[l.at]
	l.ring[l.at] = nil
	l.at = (l.at + 1) & (len(l.ring) - 1)
	if l.n--; l.n == 0 && len(l.ring) > keptRing {
		l.ring, l.at = nil, 0
	}
	message := l.last
	l.mu.Unlock()
	return message
}

// release lets go of the message that was handled: an actor may rest for long, and a message hold megabytes of links.
func (l *letters) release() {
	l.mu.Lock()
	l.last = nil
	l.mu.Unlock()
}

func (l *letters) held() any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// look returns the messages that wait, the head first, at most so many of them, and the one taken last.
func (l *letters) look(most int) (waiting []any, last any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range min(l.n, most) {
		waiting = append(waiting, l.ring[(l.at+i)&(len(l.ring)-1)])
	}
	return waiting, l.last
}

// Inside is what a mailbox holds and what its actor is at, at one moment.
type Inside struct {
	Head string `json:"head,omitempty"` // type of the message that comes next, and what it is about
	// by type, how many of the first 4,096 that wait; the rarest are left out
	Kinds map[string]int `json:"kinds,omitempty"`
	Holds string         `json:"holds,omitempty"` // the message in the actor's hands; empty: none
	// what its goroutine waits for, in the words of Go's runtime, "chan receive, 3 minutes"; "running" when it does not
	Waits string `json:"waits,omitempty"`
	// where that is: functions and lines, the innermost first, those of henro and the first of others
	At []string `json:"at,omitempty"`
}

// Bounds of what is shown of one mailbox.
const (
	insideLooked = 4096
	insideKinds  = 20
	insideFrames = 10
	insideStacks = 16 << 20 // of all goroutines, some 2 kB each
)

// lookInside fills in what the mailboxes of these rows hold. It stops the process for as long as its stacks take to be
// written: 10 ms with 5,000 goroutines.
func (t *Tracer) lookInside(rows []Row) {
	boxes := map[string]*box{}
	for _, b := range t.all() {
		boxes[b.name] = b
	}
	stacks := goroutines()
	for i := range rows {
		b := boxes[rows[i].Actor]
		if b == nil {
			continue
		}
		waiting, last := b.letters.look(insideLooked)
		in := &Inside{}
		kinds := map[string]int{}
		for j, message := range waiting {
			if j == 0 {
				in.Head = t.wordsOf(message)
			}
			kinds[messageName(plain(message))]++
		}
		names := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int { return kinds[b] - kinds[a] })
		for _, name := range names[:min(len(names), insideKinds)] {
			if in.Kinds == nil {
				in.Kinds = map[string]int{}
			}
			in.Kinds[name] = kinds[name]
		}
		if last != nil && b.done.Load() != b.taken.Load() {
			in.Holds = t.wordsOf(last)
			in.Waits, in.At = stacks.of(b)
		}
		rows[i].Inside = in
	}
}

// plain is the message in its envelopes.
func plain(message any) any {
	if s, ok := message.(*stamped); ok {
		message = s.message
	}
	_, m, _ := actor.UnwrapEnvelope(message)
	return m
}

func (t *Tracer) wordsOf(message any) string {
	m := plain(message)
	return strings.TrimSpace(messageName(m) + " " + t.about(m))
}

// stacks are those of all goroutines, as the runtime writes them.
type stacks [][]byte

func goroutines() stacks {
	buffer := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buffer, true)
		if n < len(buffer) || len(buffer) >= insideStacks {
			return bytes.Split(buffer[:n], []byte("\n\n"))
		}
		buffer = make([]byte, 4*len(buffer))
	}
}

// of finds the goroutine on which an actor handles a message, by the address of its box among the arguments.
func (s stacks) of(b *box) (waits string, at []string) {
	call := []byte(fmt.Sprintf("floor.(*box).InvokeUserMessage(%p,", b))
	for _, stack := range s {
		above, _, found := bytes.Cut(stack, call)
		if !found {
			continue
		}
		lines := strings.Split(string(above), "\n")
		_, waits, _ = strings.Cut(lines[0], "[")
		waits, _, _ = strings.Cut(waits, "]")
		for i := 1; i+1 < len(lines); i += 2 {
			function := lines[i]
			if open := strings.LastIndexByte(function, '('); open > 0 {
				function = function[:open]
			}
			if i > 1 && !strings.HasPrefix(function, "henro/") || len(at) == insideFrames {
				continue
			}
			place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
			at = append(at, function+" "+place)
		}
		return waits, at
	}
	return "", nil
}
