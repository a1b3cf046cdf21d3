package partition

import (
	"errors"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/store"
	"henro/store/fingerprint"
)

func (p *Partition) restoreHost(ctx actor.Context, m *protocol.HostAsked) {
	id := store.IDOf(m.Host)
	answer := &protocol.HostRestored{Due: p.due.count(id)}
	var err error
	if answer.Record, err = hostOf(p.disk, id, m.Host); err == nil {
		answer.Notes, err = notesOf(p.disk, m)
	}
	floor.Need(err, "restore host %s", m.Host)
	if lease, ok := p.open[id]; ok {
		answer.Lease = &lease
	}
	ctx.Respond(answer)
	// What a Host was to judge when it failed is lost. One that only woke judges it twice, which changes nothing.
	if p.relaxing[m.Host] > 0 {
		delete(p.relaxing, m.Host)
		p.relax(ctx)
	}
}

// hostOf reads the record of a host; of one that is not known it has the name alone.
func hostOf(disk *store.Partition, id store.HostID, name string) (store.HostRecord, error) {
	record, err := disk.Hosts.Get(id)
	if errors.Is(err, store.ErrNotFound) {
		return store.HostRecord{ID: id, Name: name}, nil
	}
	return record, err
}

func (p *Partition) loadPages(ctx actor.Context, m *protocol.PagesAsked) {
	id := store.IDOf(m.Host)
	answer := &protocol.PagesLoaded{}
	var err error
	limit := m.Limit
	if p.steering.Ranks != nil {
		limit = max(limit, min(rankWindow*limit, rankMost))
	}
	if m.Requisites {
		answer.Waiting, err = p.disk.Fresh.Requisites(id, limit)
	} else {
		answer.Waiting, err = p.disk.Fresh.Line(id, limit)
	}
	if err == nil && m.Known > 0 {
		answer.Known, answer.Whole, err = p.disk.Seen.Host(id, m.Known)
	}
	floor.Need(err, "load pages of %s", m.Host)
	answer.Due = p.readQueue(ctx, m.Host, 0, m.Due)
	answer.DueCount = p.due.count(id)
	if p.steering.Ranks != nil && len(answer.Entries) > m.Limit {
		answer.Entries = p.steering.best(answer.Entries, m.Limit)
	}
	if m.Notes != nil {
		answer.Notes, err = pageNotes(p.disk, m.Host, m.Notes, answer.Entries, answer.Due)
		floor.Need(err, "load notes of pages of %s", m.Host)
	}
	ctx.Respond(answer)
}

// best returns the entries of the best bands as of now, those to be tried again last. Within a band they keep their
// order. Those whose scripts are to be run come beside them.
func (o *Steering) best(entries []store.Entry, limit int) []store.Entry {
	bands := make(map[string]int, len(entries))
	for i := range entries {
		page := &entries[i].Page
		band := int(o.Ranks.Band(fingerprint.URL(page.URL), page.Depth, 0))
		switch {
		case !page.Next.IsZero():
			band = store.RetryBand
		case page.Flags.Embedded() > 0:
			band = 0
		}
		bands[string(entries[i].Position)] = band
	}
	slices.SortStableFunc(entries,
		func(a, b store.Entry) int { return bands[string(a.Position)] - bands[string(b.Position)] })
	return append(entries[:limit], slices.DeleteFunc(entries[limit:],
		func(e store.Entry) bool { return e.Page.Flags&store.Awaits == 0 })...)
}

func (p *Partition) loadEntries(ctx actor.Context, m *protocol.EntriesAsked) {
	answer := &protocol.EntriesLoaded{}
	for _, position := range m.Positions {
		entry, err := p.disk.Pages.At(position)
		if err == nil {
			answer.Entries = append(answer.Entries, entry)
		} else if errors.Is(err, store.ErrCorrupt) {
			floor.Need(err, "load an entry")
		}
	}
	ctx.Respond(answer)
}

func (p *Partition) listHosts(ctx actor.Context, m *protocol.WaitingHostsAsked) {
	records, err := p.disk.Hosts.List(m.After, hostBatch)
	floor.Need(err, "list hosts")
	answer := &protocol.WaitingHostsReported{Partition: p.index}
	for i := range records {
		if _, lent := p.open[records[i].ID]; lent || records[i].Waiting > 0 || p.due.count(records[i].ID) > 0 {
			answer.Hosts = append(answer.Hosts, records[i].Name)
		}
		answer.Next = records[i].ID
	}
	if len(records) < hostBatch {
		answer.Next = 0
	}
	ctx.Respond(answer)
}

func (p *Partition) reportQuiet(ctx actor.Context, m *protocol.QuietAsked) {
	unsettled := int(p.stats.Parcels+p.stats.Relaxations) + len(p.open) + len(p.sweeps)
	if !p.group.Idle() || p.intake.outbox.sending > 0 || len(p.relaxing) > 0 {
		unsettled++
	}
	if p.o.Rounds { // a slot that has not been read and opens within minutes may hold pages that were just made due
		at, err := p.disk.Pages.NextDue(p.due.after)
		if err != nil || !at.IsZero() && at.Sub(floor.Now()) < dueEarliest+time.Minute {
			unsettled++
		}
	}
	answer := &protocol.QuietReported{Partition: p.index, Survey: m.Survey, Stats: p.stats, Unsettled: unsettled,
		Commits: p.commits, Totals: p.totals.Clone(), Due: p.due.waiting + len(p.round.retrying)}
	if m.Requisites {
		var err error
		answer.Requisites, err = p.disk.Fresh.HasRequisite()
		floor.Need(err, "look for a requisite that waits")
	}
	ctx.Respond(answer)
}
