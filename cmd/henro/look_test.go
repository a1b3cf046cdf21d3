package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"henro/actors/reading"
	"henro/actors/robots"
	"henro/actors/stoplist"
)

// An entry of the stop list says until when it holds, or that it holds for good.
func TestAnEntryOfTheStopListSaysHowLongItHolds(t *testing.T) {
	until := time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, at := range map[string]time.Time{"/a/ for good, listed": {},
		"/a/ until 2100-01-02T03:04:05Z, listed": until} {
		var out bytes.Buffer
		h := &reading.HostFound{Schedule: new(reading.Schedule),
			Stops: []stoplist.Entry{{Prefix: "http://h.test/a/", Until: at, Rounds: 1}}}
		if err := printHost(&out, h); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s, %v", want, &out, err)
		}
	}
}

// What a host says of all its pages is shown with it.
func TestAHostSaysWhatItsPagesAreFor(t *testing.T) {
	rules, err := robots.Parse([]byte("User-agent: *\nContent-Usage: / train-ai=n\n"), "henro").MarshalBinary()
	h := &reading.HostFound{Schedule: new(reading.Schedule)}
	h.Robots, h.RobotsUntil = rules, time.Now()
	var out bytes.Buffer
	if err := errors.Join(err, printHost(&out, h)); err != nil ||
		!strings.Contains(out.String(), "\nuse       robots.txt Content-Usage: train-ai=n\n") {
		t.Errorf("%v\n%s", err, &out)
	}
}
