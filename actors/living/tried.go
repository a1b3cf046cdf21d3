package living

import (
	"fmt"
	"strings"
)

// Tried counts what scripts of a page tried as it was shown, and what no archive can answer: each URL once; of a page
// that was not shown, how often scripts that stand in it say so of sockets and streams.
type Tried struct {
	Sockets int // WebSockets and WebTransports
	Streams int // of events (EventSource)
	Posts   int // requests by POST with files or a large body, and by other methods that send something
	Beacons int // nobody reads their answers
}

const beacons = "beacon"

// String says it to people; empty: nothing was tried.
func (t Tried) String() string {
	var said []string
	for _, one := range []struct {
		n    int
		what string
	}{{t.Sockets, "WebSocket"}, {t.Streams, "stream of events"}, {t.Posts, "request with a body that is not kept"},
		{t.Beacons, beacons}} {
		if one.n > 0 {
			said = append(said, fmt.Sprintf("%d × %s", one.n, one.what))
		}
	}
	return strings.Join(said, ", ")
}

// Counted reports that String says this, and no failure.
func Counted(says string) bool {
	n, _, counts := strings.Cut(says, " × ")
	return counts && strings.Trim(n, "0123456789") == ""
}

// Lacks reports that a page of which String says this lacks something: what came back from others than beacons was
// shown, or would have been.
func Lacks(says string) bool {
	first, _, _ := strings.Cut(says, ", ")
	return Counted(says) && !strings.HasSuffix(first, beacons)
}
