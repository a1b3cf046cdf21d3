package partition

import (
	"fmt"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/protocol"
	"henro/messages/weburl"
	"henro/store"
)

// revival names the pages of a host that are on their way to wait again: those with a word.
type revival struct{ host, says string }

// revive notes that pages of a host which were given up are to wait again, and has them looked for. One that is given
// while it is carried out is carried out once more.
func (p *Partition) revive(ctx actor.Context, order *protocol.Revive) {
	name := revival{order.Host, order.Says}
	p.group.Next.PutMeta(name.meta(), []byte(order.Host))
	if _, underWay := p.reviving[name]; underWay {
		p.reviving[name] = order
		return
	}
	p.reviving[name] = nil
	disk := p.disk
	note := func(name, key string) []byte {
		note, _ := NoteOf(disk, order.Host, name, key)
		return note
	}
	p.sweep(ctx, nil, passes{revives: &name, moves: func(page *store.Page) bool {
		return waitsAgain(page, order, note, time.Now())
	}})
}

// waitsAgain has a page wait again that was given up with the word, or be due that rests with it, and reports whether
// it was.
func waitsAgain(page *store.Page, order *protocol.Revive, note func(name, key string) []byte, now time.Time) bool {
	switch given := page.LastVisit.IsZero(); {
	case page.Says != order.Says, weburl.HostOf(page.URL) != order.Host,
		given && page.Flags&store.Dropped == 0, !given && !page.Next.After(now),
		order.Spares != nil && order.Spares(page.URL, note):
		return false
	case !given:
		page.Next = now.Truncate(time.Second) // as the store keeps it: moved once
	}
	return true
}

// revived forgets the order once all pages wait, or begins anew if it was given again meanwhile.
func (p *Partition) revived(ctx actor.Context, name revival, count int) {
	again := p.reviving[name]
	delete(p.reviving, name)
	if again != nil {
		p.revive(ctx, again)
	} else {
		p.group.Next.PutMeta(name.meta(), nil)
	}
	p.wrote(ctx, nil, urgent)
	ctx.Send(p.hosts, &protocol.ToHost{Host: name.host, Message: &protocol.PagesRevived{Count: count}})
}

// restoreRevivals goes on with what was begun.
func (p *Partition) restoreRevivals(ctx actor.Context) {
	var orders []*protocol.Revive
	if err := p.disk.Metas.Each("revive/", func(meta string, host []byte) error {
		_, says, _ := strings.Cut(strings.TrimPrefix(meta, "revive/"), "/")
		orders = append(orders, &protocol.Revive{Host: string(host), Says: says})
		return nil
	}); err != nil {
		panic(fmt.Errorf("read of which hosts pages are to wait again: %w", err))
	}
	for _, order := range orders {
		p.revive(ctx, order)
	}
}

// meta is where it is noted, in the partition of the host: the value is the host.
func (r revival) meta() string {
	return fmt.Sprintf("revive/%016x/%s", uint64(store.IDOf(r.host)), r.says)
}
