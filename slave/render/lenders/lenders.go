// Package lenders lets slaves have each other's captures for the pages that they show: a page, what it is made of, and
// the page again may each have been fetched by another slave, and none of it is asked for twice.
//
// A question is a CaptureAsked to the actor "shows" of each other slave, whose moment says whether only that of the
// capture is wanted; the answer is a CaptureTold, whose body has the fields and the payload. Answers with a body come
// one at a time, so that a piece of the remote, which has a bound, never holds two.
package lenders

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/cluster"
	"henro/cluster/peers"
	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/render"
)

// ActorName is that of the actor that answers.
const ActorName = "shows"

const (
	patience  = 4 * time.Second // for an answer without a body: a capture on its way is waited for
	carrying  = 20 * time.Second
	muted     = 20 * time.Second // for who did not answer
	answering = 16               // questions at once; a slave that is asked more is silent
	maxPacked = 8 << 20          // bytes of a body: half of what a piece of the remote may have
	maxBody   = 64 << 20         // unpacked
)

// moments of a question: what is archived until now, and only when.
const (
	whole = 0
	moot  = -1
)

// Lenders are the other slaves. The zero value knows none; its methods may be called from any goroutine.
type Lenders struct {
	system  *actor.ActorSystem
	members atomic.Pointer[func() []cluster.Member]
	have    atomic.Pointer[func(context.Context, weburl.URL, bool) (*render.Page, error)]
	room    chan struct{}
	spawned sync.Once
	carries sync.Mutex // one body at a time
	silent  peers.Slaves
}

// New makes them for the slave of a system.
func New(system *actor.ActorSystem) *Lenders {
	return &Lenders{system: system, room: make(chan struct{}, answering)}
}

// Know says where the other nodes are found.
func (p *Lenders) Know(members func() []cluster.Member) { p.members.Store(&members) }

// Serve answers the others by what is here, from now on.
func (p *Lenders) Serve(have func(context.Context, weburl.URL, bool) (*render.Page, error)) {
	p.have.Store(&have)
	p.spawned.Do(func() {
		_, _ = p.system.Root.SpawnNamed(actor.PropsFromFunc(p.receive, actor.WithMailbox(actor.Unbounded())), ActorName)
	})
}

func (p *Lenders) receive(ctx actor.Context) {
	m, ok := ctx.Message().(*messages.CaptureAsked)
	sender := ctx.Sender()
	if !ok || sender == nil {
		return
	}
	select {
	case p.room <- struct{}{}:
	default:
		return
	}
	go func() {
		defer floor.Guard(p.system, "what lends captures")
		defer func() { <-p.room }()
		limit, cancel := context.WithTimeout(context.Background(), carrying)
		defer cancel()
		p.system.Root.Send(sender, p.tell(limit, m))
	}()
}

// part is the body of an answer.
type part struct {
	Header  http.Header
	Payload []byte
}

// tell answers a question. Status 0 with a moment says that nothing will come.
func (p *Lenders) tell(ctx context.Context, m *messages.CaptureAsked) *messages.CaptureTold {
	told := &messages.CaptureTold{}
	url, err := weburl.Parse(m.Url)
	if err != nil {
		return told
	}
	page, err := (*p.have.Load())(ctx, url, m.BeforeUnixNs == whole)
	switch {
	case errors.Is(err, render.ErrNever):
		told.AtUnixNs = 1
	case err != nil:
	case m.BeforeUnixNs != whole:
		told.AtUnixNs, told.Status = page.At.UnixNano(), 1
	default:
		if body, err := pack(page); err == nil {
			told.AtUnixNs, told.Status, told.Body = page.At.UnixNano(), int32(page.Status), body
		}
	}
	return told
}

var errLarge = fmt.Errorf("a capture of more than %d bytes, packed, is not carried to another slave", maxPacked)

func pack(page *render.Page) ([]byte, error) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	err := errors.Join(json.NewEncoder(z).Encode(part{page.Header, page.Payload}), z.Close())
	if err == nil && packed.Len() > maxPacked {
		err = errLarge
	}
	return packed.Bytes(), err
}

func unpack(url weburl.URL, told *messages.CaptureTold) (*render.Page, error) {
	page := &render.Page{URL: url, Status: int(told.Status), At: time.Unix(0, told.AtUnixNs).UTC()}
	z, err := zlib.NewReader(bytes.NewReader(told.Body))
	if err != nil {
		return nil, err
	}
	var of part
	if err := json.NewDecoder(io.LimitReader(z, 2*maxBody)).Decode(&of); err != nil {
		return nil, err
	}
	page.Header, page.Payload = of.Header, of.Payload
	return page, page.Decode()
}

// Ask returns the latest that another slave has of a URL; without the whole, only its moment.
func (p *Lenders) Ask(ctx context.Context, url weburl.URL, all bool) (*render.Page, error) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	var best *messages.CaptureTold
	var from cluster.Member
	never := false
	for _, m := range p.slaves() {
		asking.Go(func() {
			told := p.ask(m, &messages.CaptureAsked{Url: url.String(), BeforeUnixNs: moot}, patience)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case told == nil || told.AtUnixNs == 0:
			case told.Status == 0:
				never = true
			case best == nil || told.AtUnixNs > best.AtUnixNs:
				best, from = told, m
			}
		})
	}
	asking.Wait()
	switch {
	case best == nil && never:
		return nil, render.ErrNever
	case best == nil || ctx.Err() != nil:
		return nil, render.ErrAbsent
	case !all:
		return &render.Page{URL: url, At: time.Unix(0, best.AtUnixNs).UTC()}, nil
	}
	p.carries.Lock()
	defer p.carries.Unlock()
	told := p.ask(from, &messages.CaptureAsked{Url: url.String(), BeforeUnixNs: whole}, carrying)
	if told == nil || told.Status == 0 {
		return nil, render.ErrAbsent
	}
	page, err := unpack(url, told)
	if err != nil {
		return nil, errors.Join(render.ErrAbsent, err)
	}
	return page, nil
}

func (p *Lenders) ask(m cluster.Member, asked *messages.CaptureAsked, limit time.Duration) *messages.CaptureTold {
	said, err := p.system.Root.RequestFuture(m.PID(ActorName), asked, limit).Result()
	told, _ := said.(*messages.CaptureTold)
	if err != nil {
		p.silent.Mute(m, muted)
	}
	return told
}

// slaves are those that are asked.
func (p *Lenders) slaves() map[string]cluster.Member {
	members := p.members.Load()
	if members == nil {
		return nil
	}
	return p.silent.Of((*members)())
}
