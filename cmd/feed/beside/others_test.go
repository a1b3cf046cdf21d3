package beside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/cluster"
	"henro/messages"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// Of several slaves the one that visited a page last counts, and one that starts again is waited for.
func TestTheLatestOfOthersIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := []cluster.Member{{Name: "m", Boot: "1", Role: cluster.Standby},
			{Name: "a", Boot: "1", Role: cluster.Slave}, {Name: "b", Boot: "1", Role: cluster.Slave}}
		var mu sync.Mutex // guards members
		now := func() []cluster.Member {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(members)
		}
		begun := time.Now()
		o := &others{ctx: t.Context(), members: now,
			ask: func(m cluster.Member, asks *messages.CaptureAsked) *messages.CaptureTold {
				told := map[string]*messages.CaptureTold{"a1": packed(t, 1), "a2": packed(t, 3), "b2": packed(t, 2)}
				return told[m.Name+m.Boot]
			}}
		time.AfterFunc(3*time.Second, func() { // of the earlier start the gossip knows still
			mu.Lock()
			defer mu.Unlock()
			members = append(members, cluster.Member{Name: "b", Boot: "2", Role: cluster.Slave})
		})
		last, err := o.last("http://a.test/", begun)
		if err != nil || last.At.Unix() != 2 || string(last.Body) != "page 2" || time.Since(begun) > 4*time.Second {
			t.Errorf("%+v, %v after %v", last, err, time.Since(begun))
		}
		members[1].Boot, members[3].Boot = "2", "3" // b is silent for good
		begun = time.Now()
		last, err = o.last("http://a.test/", begun)
		if err != nil || last.At.Unix() != 3 || time.Since(begun) < longest || time.Since(begun) > longest+time.Second {
			t.Errorf("%+v, %v after %v", last, err, time.Since(begun))
		}
		begun = time.Now()
		if _, err = o.last("http://a.test/", begun); err != nil || time.Since(begun) > 0 {
			t.Errorf("one that was silent is waited for again: %v, %v", time.Since(begun), err)
		}
		ctx, end := context.WithCancel(t.Context())
		end()
		o.ctx = ctx
		if _, err = o.last("http://a.test/", begun); !errors.Is(err, context.Canceled) {
			t.Errorf("ended: %v", err)
		}
	})
}

// Nobody waits for the answer of a slave that was killed once its next start is there.
func TestTheNextStartOfASlaveIsAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		killed := time.Now()
		o := &others{ctx: t.Context(), members: func() []cluster.Member {
			if time.Since(killed) < 1500*time.Millisecond {
				return []cluster.Member{{Name: "a", Boot: "1", Role: cluster.Slave}}
			}
			return []cluster.Member{{Name: "a", Boot: "2", Role: cluster.Slave}}
		}, ask: func(m cluster.Member, _ *messages.CaptureAsked) *messages.CaptureTold {
			if m.Boot == "1" {
				time.Sleep(patience)
				return nil
			}
			return packed(t, 7)
		}}
		last, err := o.last("http://a.test/", killed)
		if took := time.Since(killed); err != nil || last.At.Unix() != 7 || took > 1900*time.Millisecond {
			t.Errorf("%+v, %v after %v", last, err, took)
		}
		time.Sleep(patience) // until the question to the killed one ends
	})
}

func packed(t *testing.T, second int64) *messages.CaptureTold {
	body, err := pack(fmt.Appendf(nil, "page %d", second))
	if err != nil {
		t.Fatal(err)
	}
	return &messages.CaptureTold{AtUnixNs: time.Unix(second, 0).UnixNano(), Status: 200, Body: body}
}

// A slave lends the last version of a page before a moment.
func TestCapturesAreLent(t *testing.T) {
	dir := t.TempDir()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	at := func(day int) time.Time { return time.Date(2026, 3, 14+day, 12, 0, 0, 0, time.UTC) }
	for i := range 3 {
		data, _ = b.AppendExchange(data, &warc.Exchange{URI: "http://a.test/", At: at(i),
			Request: []byte("GET / HTTP/1.1\r\n\r\n"), Body: fmt.Appendf(nil, "<p>%d", i),
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")})
	}
	path := filepath.Join(dir, "a.warc.gz")
	if err := errors.Join(os.WriteFile(path, data, 0o600), cdxj.IndexFile(path)); err != nil {
		t.Fatal(err)
	}
	system := actor.NewActorSystem()
	defer system.Shutdown()
	if err := new(Changes).lend(system, dir, func(what string) { t.Error(what) }); err != nil {
		t.Fatal(err)
	}
	for before, want := range map[time.Time]string{at(0): "", at(1): "<p>0", at(2).Add(time.Second): "<p>2"} {
		said, err := system.Root.RequestFuture(actor.NewPID(system.Address(), lender),
			&messages.CaptureAsked{Url: "http://a.test/", BeforeUnixNs: before.UnixNano()}, time.Minute).Result()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if c := unpack(said.(*messages.CaptureTold)); c != nil {
			got = string(c.Body)
		}
		if got != want {
			t.Errorf("before %v: %q, want %q", before, got, want)
		}
	}
}
