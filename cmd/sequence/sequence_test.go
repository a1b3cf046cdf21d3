package sequence

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"henro/actors/floor"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ms(n int) time.Time { return zero.Add(time.Duration(n) * time.Millisecond) }

// recording writes lines as henro trace does.
func recording(t *testing.T, lines ...Line) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	write := json.NewEncoder(&b)
	if err := write.Encode(Head{Recording: Format, At: zero}); err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if err := write.Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	return &b
}

func event(node, actor, message string, at int, id, cause uint64, from, sender string) Line {
	return Line{Node: node, Event: &floor.TraceEvent{At: ms(at), Node: node, Kind: floor.Handled, Actor: actor,
		Message: message, Took: time.Millisecond, ID: id, Cause: cause, From: from, Sender: sender}}
}

// Messages of two nodes: within one the cause is known, from one to the other it is taken from the clocks.
func TestMessagesAreLinkedToTheirCauses(t *testing.T) {
	b := recording(t,
		event("m", "master", "WorkRequested", 10, 1, 0, "", "10.0.0.2:7/slave"),
		event("m", "master/hosts", "ToHost", 12, 2, 1, "master", ""),
		event("s", "slave", "asked", 5, 1, 0, "", ""), // reported later than it happened
		event("m", "master", "StatusAsked", 14, 3, 0, "", "future$a"),
		event("m", "master/hosts/host/http://a", "Lend", 16, 4, 99, "master/hosts", ""), // whose cause was not sampled
		event("s", "slave", "TaskBatch", 20, 2, 0, "", "10.0.0.1:7/master"),
	)
	b.WriteString(`{"node":"s","event":{"seq":`) // it was killed while it wrote
	r, err := Read(b)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range r.Events {
		by := "-"
		if e.By >= 0 {
			by = r.Events[e.By].Message
			if e.Guess {
				by += "?"
			}
		}
		got = append(got, e.Message+" by "+by+" of "+e.Source)
	}
	want := []string{"asked by - of ", "WorkRequested by asked? of s slave", "ToHost by WorkRequested of m master",
		"StatusAsked by - of ", "Lend by - of m master/hosts", "TaskBatch by StatusAsked? of m master"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("linked as\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestActorsThatStandStillAreFound(t *testing.T) {
	row := func(at int, actor string, queue int, taken uint64) Line {
		return Line{Node: "m", At: ms(at), Row: &floor.Row{Actor: actor, Queue: queue, Taken: taken,
			Inside: &floor.Inside{Waits: "sync.Mutex.Lock, 2 minutes"}}}
	}
	r, err := Read(recording(t, row(0, "partition/0", 3, 7), row(0, "hosts", 1, 5), row(2000, "partition/0", 4, 7),
		row(2000, "hosts", 9, 6), row(4000, "partition/0", 5, 7), Line{Node: "m", Dropped: 3},
		Line{Node: "m", Dropped: 8}))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Stuck) != 1 || r.Stuck[0].Actor != "partition/0" || r.Stuck[0].Queue != 5 || r.Dropped != 8 ||
		r.Stuck[0].Until.Sub(r.Stuck[0].From) != 4*time.Second {
		t.Errorf("%+v, %d dropped", r.Stuck, r.Dropped)
	}
}

// What the web wrote into a URL stays text, and the page asks nobody for anything.
func TestThePageRunsNothingThatWasRecorded(t *testing.T) {
	line := event("m", "host", "Lend", 1, 1, 0, "", "")
	line.Event.About = "url=http://a/</script><script>alert(1)</script><!--"
	r, err := Read(recording(t, line))
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := r.Page(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if strings.Count(text, "</script") != 1 || strings.Contains(text, "<!--") {
		t.Error("what was recorded ends the script")
	}
	for _, word := range []string{"src=", "href=", "fetch(", "innerHTML", "@import", "url("} {
		if strings.Contains(text, word) {
			t.Errorf("the page holds %q", word)
		}
	}
	if !strings.Contains(text, `default-src 'none'`) {
		t.Error("the page may load something")
	}
}

func TestWhatIsNoRecording(t *testing.T) {
	for _, text := range []string{"", "{}\n", "henro\n", `{"recording":"henro mailboxes 2"}` + "\n"} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, ErrRecording) {
			t.Errorf("%q: %v", text, err)
		}
	}
	b := recording(t)
	b.WriteString("nonsense\n{}\n")
	if _, err := Read(b); !errors.Is(err, ErrRecording) {
		t.Errorf("a broken line in the middle: %v", err)
	}
}
