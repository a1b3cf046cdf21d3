package partition

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/admission"
	"henro/actors/host"
	"henro/actors/protocol"
	"henro/store"
)

// revive notes that pages of a host which were given up are to wait again, and has them looked for.
func (p *Partition) revive(ctx actor.Context, order protocol.Revive) {
	p.batch.PutMeta(reviveMeta(order), []byte(order.Host))
	_, underWay := p.reviving[order]
	p.reviving[order] = underWay
	if !underWay {
		p.sweep(ctx, nil, passes{revives: &order, moves: p.returns(order)})
	}
}

// returns has pages wait again that were given up for a reason that does not hold any more, and known pages of a host
// be due that rest for it.
func (p *Partition) returns(order protocol.Revive) func(*store.Page) bool {
	if order.Why == admission.AliasHost {
		return func(page *store.Page) bool { return host.Revived(page, order.Host) }
	}
	disk, id := p.disk, store.IDOf(order.Host)
	spared := func(string) bool { return false }
	read := sync.OnceFunc(func() { // when what the order came with is on disk
		if rules, err := URLRulesOf(disk, order.Host); err == nil {
			spared = func(url string) bool {
				form, err := FormOf(disk, id, rules.Keys().Of(url))
				return err == nil && form != nil && len(rules.Between(url, form)) > 0
			}
		}
	})
	return func(page *store.Page) bool {
		read()
		return host.Returned(page, order.Host, spared, time.Now())
	}
}

// revived forgets the order once all pages wait, or begins anew if it was given again meanwhile.
func (p *Partition) revived(ctx actor.Context, order protocol.Revive, count int) {
	again := p.reviving[order]
	delete(p.reviving, order)
	if again {
		p.revive(ctx, order)
	} else {
		p.batch.PutMeta(reviveMeta(order), nil)
	}
	p.wrote(ctx, nil, urgent)
	ctx.Send(p.hosts, &protocol.ToHost{Host: order.Host, Message: &protocol.PagesRevived{Count: count}})
}

// restoreRevivals goes on with what was begun.
func (p *Partition) restoreRevivals(ctx actor.Context) {
	var orders []protocol.Revive
	if err := p.disk.EachMeta("revive/", func(meta string, name []byte) error {
		order := protocol.Revive{Host: string(name), Why: admission.AliasHost}
		if strings.HasSuffix(meta, revivesForms) {
			order.Why = admission.Duplicate
		}
		orders = append(orders, order)
		return nil
	}); err != nil {
		panic(fmt.Errorf("read of which hosts pages are to wait again: %w", err))
	}
	for _, order := range orders {
		p.revive(ctx, order)
	}
}

const revivesForms = "/forms"

// reviveMeta is where a host is noted whose pages are on their way to wait again, in its partition.
func reviveMeta(order protocol.Revive) string {
	meta := fmt.Sprintf("revive/%016x", uint64(store.IDOf(order.Host)))
	if order.Why == admission.Duplicate {
		meta += revivesForms
	}
	return meta
}
