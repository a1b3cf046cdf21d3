package master

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/actors/reading"
	"henro/messages/weburl"
)

// A master that is left alone waits for no answer, whatever its actor does: for none while its seeds are planted, nor
// later.
func TestAMasterIsLeftAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		n := &Node{system: system, pid: actortest.NewProbe(t, system, "silent").PID, done: make(chan Status, 1)}
		url, err := weburl.Parse("http://a.example/")
		if err != nil {
			t.Fatal(err)
		}
		for _, seeds := range [][]reading.Seed{nil, {{URL: url}}} {
			for _, stopped := range []bool{false, true} {
				asked, stop := context.WithCancel(t.Context())
				given, leave := context.WithCancel(t.Context())
				if stopped {
					stop()
				}
				begun := time.Now()
				time.AfterFunc(time.Second, leave)
				_, err := n.Run(asked, given, seeds)
				if took := time.Since(begun); took > time.Second || !errors.Is(err, context.Canceled) {
					t.Errorf("%d seeds, stopped %v: left after %v: %v", len(seeds), stopped, took, err)
				}
				stop()
			}
		}
		actortest.Pass(time.Minute) // the questions end
	})
}
