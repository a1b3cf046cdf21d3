package partition

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

type (
	findPages struct {
		asker   *actor.PID
		host    string // to which the asker passes the answer on; empty: the asker wants it itself, and a person waits
		pages   map[string]outlink.Hint
		notice  *protocol.Notice       // which names the pages; nil: a sitemap or a feed does
		records *protocol.RecordsAsked // the answer is RecordsFound; nil: it is PagesFound
	}
	find struct{}
	// sought goes with the links that the sitemap or feed had before the visit, which will be written after this.
	sought struct {
		*protocol.PagesSought
		before []outlink.Outlink
	}
)

// seek hands to the Finder what a sitemap or a feed says of pages.
func (p *Partition) seek(ctx actor.Context, m *protocol.PagesSought) {
	s := &sought{PagesSought: m}
	if m.Again { // without the links all is new
		s.before, _ = p.disk.Links.Of(store.IDOf(weburl.HostOf(m.URL)), fingerprint.URL(m.URL))
	}
	ctx.Send(p.finder, s)
}

// seek looks for those pages of which a sitemap or a feed says something new: another moment of change than last time.
// Any moment is new for a page that it did not name last time.
func (f *Finder) seek(ctx actor.Context, m *sought) {
	anchors := make(map[string]string, len(m.before))
	for i := range m.before {
		anchors[m.before[i].URL] = m.before[i].Anchor
	}
	pages := map[string]outlink.Hint{}
	for i := range m.Pages {
		l := &m.Pages[i]
		if before, named := anchors[l.URL]; named && before == l.Anchor {
			continue
		}
		hint := outlink.ParseHint(l.Anchor)
		if hint.From.IsZero() || hint.Modified() == outlink.ParseHint(anchors[l.URL]).Modified() {
			continue
		}
		if _, visited, _, err := f.disk.Seen.Get(l.URL); err != nil || !visited {
			continue
		}
		// Of a document that is read for the first time, a day may be that of the page's visit: a change on it may lie
		// before the visit. Only a later day is new for certain.
		if !m.Again {
			hint.Until = hint.From.Add(time.Second)
		}
		if pages[l.URL] = hint; len(pages) >= m.Most {
			break
		}
	}
	if len(pages) > 0 {
		f.ask(ctx, &findPages{asker: f.hosts, host: weburl.HostOf(m.Pages[0].URL), pages: pages})
	}
}

// Finder looks for known pages by their URLs. There is no index of them, so it scans the partition; what is asked for
// meanwhile shares the next scan, and scans take a twentieth of the time at most, unless a person waits.
type Finder struct {
	disk  *store.Partition
	hosts *actor.PID
	log   *logrus.Entry
	asked []*findPages
	told  int       // pages that notices have named since the last scan
	next  time.Time // no scan is begun before, unless a person waits
	timer floor.Timer
}

// scanShare is how many times as long as a scan took the Finder waits until the next.
const scanShare = 20

// toldMost bounds the pages that one scan looks for because of notices. Further notices are lost: their pages are
// visited when they are due.
const toldMost = 100_000

// scanGap is the least time from one scan to the next: what is asked for within it is looked for together.
const scanGap = 10 * time.Second

func finderProps(disk *store.Partition, hosts *actor.PID, log *logrus.Entry) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &Finder{disk: disk, hosts: hosts, log: log.WithField("actor", "finder")}
	})
}

// Receive is the table of contents.
func (f *Finder) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *findPages:
		f.ask(ctx, m)
	case *sought:
		f.seek(ctx, m)
	case *protocol.Notice:
		f.notice(ctx, m)
	case *protocol.RecordsAsked:
		f.findRecords(ctx, m)
	case *find:
		f.find(ctx)
	case *actor.Stopping:
		f.timer.Stop()
	}
}

func (f *Finder) ask(ctx actor.Context, m *findPages) {
	f.asked = append(f.asked, m)
	if m.host == "" {
		f.find(ctx)
	} else if len(f.asked) == 1 {
		f.timer.After(ctx, max(0, time.Until(f.next)), &find{})
	}
}

// notice looks for the pages of a notice, and for the root page of the host, from which new pages have their depth.
func (f *Finder) notice(ctx actor.Context, m *protocol.Notice) {
	ctx.Respond(&protocol.NoticeTaken{})
	pages := map[string]outlink.Hint{m.Host + "/": {}}
	for _, url := range m.Pages {
		pages[url] = outlink.Hint{From: m.At, Until: m.At.Add(time.Second)}
	}
	if f.told += len(pages); f.told <= toldMost {
		f.ask(ctx, &findPages{asker: f.hosts, host: m.Host, pages: pages, notice: m})
	}
}

// findRecords looks for the records of those pages that a Host asks for and that were visited. If none were, there is
// no scan.
func (f *Finder) findRecords(ctx actor.Context, m *protocol.RecordsAsked) {
	asked := &findPages{asker: f.hosts, host: m.Host, records: m, pages: map[string]outlink.Hint{}}
	for _, url := range m.URLs {
		if _, visited, _, err := f.disk.Seen.Get(url); err == nil && visited {
			asked.pages[url] = outlink.Hint{}
		}
	}
	if len(asked.pages) > 0 {
		f.ask(ctx, asked)
		return
	}
	ctx.Send(f.hosts, &protocol.ToHost{Host: m.Host, Message: &protocol.RecordsFound{Of: m.Of}})
}

// find answers all that was asked for.
func (f *Finder) find(ctx actor.Context) {
	f.timer.Stop()
	wanted := map[string]struct{}{}
	for _, m := range f.asked {
		for url := range m.pages {
			wanted[url] = struct{}{}
		}
	}
	begun := time.Now()
	var found []store.Entry
	var err error
	if len(wanted) > 0 {
		found, err = f.disk.Pages.Find(wanted)
	}
	if err != nil {
		f.log.WithField("err", err).Error("known pages cannot be looked for")
	}
	f.next = time.Now().Add(max(scanGap, scanShare*time.Since(begun)))
	entries := make(map[string]*store.Entry, len(found))
	for i := range found {
		entries[found[i].Page.URL] = &found[i]
	}
	for _, m := range f.asked {
		if m.records != nil {
			answer := &protocol.RecordsFound{Of: m.records.Of}
			for url := range m.pages {
				if entry := entries[url]; entry != nil {
					answer.Pages = append(answer.Pages, entry.Page)
				}
			}
			ctx.Send(m.asker, &protocol.ToHost{Host: m.host, Message: answer})
			continue
		}
		answer := &protocol.PagesFound{Notice: m.notice}
		for url, hint := range m.pages {
			if entry := entries[url]; entry != nil {
				answer.Entries, answer.Hints = append(answer.Entries, *entry), append(answer.Hints, hint)
			}
		}
		if m.host == "" {
			ctx.Send(m.asker, answer)
		} else if len(answer.Entries) > 0 {
			ctx.Send(m.asker, &protocol.ToHost{Host: m.host, Message: answer})
		}
	}
	f.asked, f.told = nil, 0
}
