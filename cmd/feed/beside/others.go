package beside

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/cluster"
	"henro/cluster/peers"
	"henro/cmd/watch"
	"henro/messages"
	"henro/messages/ticks"
	"henro/messages/weburl"
	"henro/slave/pagetext"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/report/news"
)

// lender is the actor that is asked for captures.
const lender = "captures"

// Bounds of what is asked of others.
const (
	patience = 2 * time.Second        // for one answer
	between  = 250 * time.Millisecond // two tries
	longest  = 10 * time.Second       // for one that is there and does not answer, which is not asked for muted then
	muted    = time.Minute
	maxBody  = 1 << 20 // bytes of a page, packed, and
	maxPage  = news.MaxBytes + 1
)

// lend has an actor answer other slaves for what is archived in a folder, and for what was learnt of its pages, and has
// it learn from them. While the archive cannot be read it is silent.
func (c *Changes) lend(system *actor.ActorSystem, folder string, unread func(string)) error {
	var archive *captures.Archive // open until the process ends
	_, err := system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
		if taught, is := ctx.Message().(*messages.ChangeTaught); is {
			if f := c.feed.Load(); f != nil && f.Adopt(taught.Url, taught.Record, true) == nil {
				ctx.Respond(&messages.ChangeLearnt{Known: true})
			}
			return
		}
		m, ok := ctx.Message().(*messages.CaptureAsked)
		if !ok {
			return
		}
		var err error
		if archive == nil {
			archive, err = captures.Open(folder, unread)
		}
		if err == nil {
			var told *messages.CaptureTold
			if told, err = find(archive, m); err == nil {
				if f := c.feed.Load(); f != nil {
					told.Record = f.Learnt(m.Url)
				}
				ctx.Respond(told)
				return
			}
		}
		unread(err.Error())
	}, actor.WithMailbox(actor.Unbounded())), lender)
	if err != nil {
		return fmt.Errorf("spawn the lender of captures: %w", err)
	}
	return nil
}

// find finds the last version of a page before a moment.
func find(archive *captures.Archive, m *messages.CaptureAsked) (*messages.CaptureTold, error) {
	told, before := &messages.CaptureTold{}, time.Unix(0, m.BeforeUnixNs)
	url, err := weburl.Parse(m.Url)
	if err != nil {
		return told, nil
	}
	var pages watch.Pages
	if err := archive.Captures(url, func(e cdxj.Entry) bool {
		if e.URL == m.Url && e.At.Before(before) {
			pages.Add(e)
		}
		return true
	}); err != nil {
		return nil, err
	}
	last := pages.Last(m.Url)
	if last.URL == "" {
		return told, nil
	}
	page, err := pagetext.HTML(archive, last)
	if err != nil {
		return told, nil // what cannot be read is henro check's business
	}
	body, err := pack(page.Body)
	if err != nil || len(body) > maxBody {
		return told, err
	}
	return &messages.CaptureTold{AtUnixNs: last.At.UnixNano(), Digest: last.Digest, Status: int32(page.Status),
		Location: page.Location, Body: body}, nil
}

func pack(body []byte) ([]byte, error) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write(body[:min(len(body), maxPage)])
	err = errors.Join(err, z.Close())
	return packed.Bytes(), err
}

// others are the other slaves, as one that compares a page asks them: hosts go from one to another.
type others struct {
	ctx     context.Context
	members func() []cluster.Member
	ask     func(cluster.Member, *messages.CaptureAsked) *messages.CaptureTold // nil: it does not answer
	tell    func(cluster.Member, *messages.ChangeTaught)
	silent  peers.Slaves
}

// teach has those that are there learn what this slave knows of a page now. Others learn it once they visit the page.
func (o *others) teach(asked *messages.ChangeTaught) {
	var asking sync.WaitGroup
	for _, m := range o.slaves(nil) {
		asking.Go(func() { o.tell(m, asked) })
	}
	asking.Wait()
}

// await waits until the gossip shows a master, and so all others.
func (o *others) await() {
	for end := time.Now().Add(longest); time.Now().Before(end) && o.ctx.Err() == nil; o.rest(between) {
		for _, m := range o.members() {
			if m.Role == cluster.Master {
				return
			}
		}
	}
}

func (o *others) rest(long time.Duration) { _ = ticks.Rest(o.ctx, long) }

// slaves are those that are asked, without those that have answered.
func (o *others) slaves(answered map[string]bool) map[string]cluster.Member {
	found := o.silent.Of(o.members())
	maps.DeleteFunc(found, func(name string, _ cluster.Member) bool { return answered[name] })
	return found
}

// last finds the last version of a page before a moment that any other slave has. One that starts again, or is slow, is
// waited for.
func (o *others) last(url string, before time.Time) (best *watch.Copy, err error) {
	asked := &messages.CaptureAsked{Url: url, BeforeUnixNs: before.UnixNano()}
	answered := map[string]bool{}
	for end := time.Now().Add(longest); ; {
		silent := o.slaves(answered)
		if len(silent) == 0 || o.ctx.Err() != nil {
			return best, o.ctx.Err()
		}
		var mu sync.Mutex
		var asking sync.WaitGroup
		for _, m := range silent {
			asking.Go(func() {
				told := o.answer(m, asked)
				mu.Lock()
				defer mu.Unlock()
				if told == nil {
					return
				}
				answered[m.Name] = true
				if c := unpack(told); c != nil && (best == nil || c.At.After(best.At)) {
					best = c
				}
			})
		}
		asking.Wait()
		left := o.slaves(answered)
		if len(left) > 0 {
			o.rest(between)
		}
		for _, m := range left {
			if time.Now().After(end) {
				o.silent.Mute(m, muted)
			}
		}
	}
}

// answer asks one, and waits until it answers or gossip shows that this start of it has ended: who was killed answers
// no more, and its next start is asked at once. What still waits then ends with the patience of ask.
func (o *others) answer(m cluster.Member, asked *messages.CaptureAsked) *messages.CaptureTold {
	said := make(chan *messages.CaptureTold, 1)
	go func() { said <- o.ask(m, asked) }()
	for {
		select {
		case told := <-said:
			return told
		case <-time.After(between / 2):
			if o.silent.Of(o.members())[m.Name].Boot != m.Boot {
				return nil
			}
		}
	}
}

// unpack reads what a slave has told; nil: it has nothing.
func unpack(told *messages.CaptureTold) *watch.Copy {
	if told.AtUnixNs == 0 {
		return nil
	}
	z, err := zlib.NewReader(bytes.NewReader(told.Body))
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(z, maxPage))
	if err != nil {
		return nil
	}
	return &watch.Copy{At: time.Unix(0, told.AtUnixNs), Digest: told.Digest, Status: int(told.Status),
		Location: told.Location, Body: body, Record: told.Record}
}
