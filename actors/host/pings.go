package host

import (
	"henro/actors/protocol"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// pings bring known pages forward, as sitemaps do, and name new ones. A ping is worth what its key is: the file at its
// KeyURL, which the crawl visits as a page, by the rules for pages, and whose digest in the state is what has been
// proved. So a key costs its host one request, and then those of any page.
type pings struct {
	*judge

	asked *protocol.Ping // the latest whose key is being fetched
}

// proved reports whether the key of a ping is that of its file. If the file was not visited yet, it is visited now, and
// the ping is sent again then. What a ping names that is not known becomes a candidate, as if the file had named it.
func (p *pings) proved(m *protocol.PagesFound) bool {
	ping, file := m.Ping, (*store.Page)(nil)
	if ping.KeyURL == "" { // a hub has signed it
		return ping.Proved
	}
	for i := range m.Entries {
		if m.Entries[i].Page.URL == ping.KeyURL {
			file = &m.Entries[i].Page
		}
	}
	switch {
	case file == nil && !ping.Proved:
		p.visitKey(m)
		return false
	case file != nil && !holds(file, ping):
		return false
	}
	if file == nil {
		file = &m.Entries[0].Page
	}
	p.begin(file.URL, file.Depth, file.DepthLeft, 0, file.Number)
	for _, url := range ping.New[:min(len(ping.New), p.clock.Pings().Most())] {
		p.link(&outlink.Outlink{URL: url, Kind: outlink.Sitemap})
	}
	w := &protocol.Write{}
	p.report(w)
	p.write(w)
	return true
}

// holds reports whether a visited page is the file of the ping's key.
func holds(file *store.Page, ping *protocol.Ping) bool {
	return file.Reason == 0 && file.Status == 200 && file.MainDigest == ping.Key
}

// visitKey makes the file of a ping's key a candidate, as if the page with most depth left of those that the ping names
// had linked to it.
func (p *pings) visitKey(m *protocol.PagesFound) {
	page := &m.Entries[0].Page
	for i := range m.Entries {
		if m.Entries[i].Page.DepthLeft > page.DepthLeft {
			page = &m.Entries[i].Page
		}
	}
	p.begin(page.URL, page.Depth, page.DepthLeft, 0, page.Number)
	p.link(&outlink.Outlink{URL: m.Ping.KeyURL, Kind: outlink.Link})
	w := &protocol.Write{}
	p.report(w)
	if len(w.Candidates) == 0 {
		return // out of scope
	}
	p.write(w)
	p.asked = m.Ping
}

// visited has a ping looked at once more, when the file of its key was visited.
func (p *pings) visited(page *store.Page) {
	if p.asked == nil || page.URL != p.asked.KeyURL {
		return
	}
	ping := *p.asked
	if p.asked = nil; holds(page, &ping) {
		ping.Proved = true
		p.send(Partition, &ping)
	}
}

// findHub reports to the Master which hub, of WebSub, reports the changes of a visited page. One that knows the page
// under the name of another host speaks for that host.
func (p *pings) findHub(v *store.Visited) {
	found := &protocol.HubFound{Page: v.Page.URL}
	for i := range v.Links {
		switch l := &v.Links[i]; {
		case l.Kind == outlink.Hub && found.Hub == "":
			found.Hub = l.URL
		case l.Kind == outlink.Self && found.Topic == "":
			found.Topic = l.URL
		}
	}
	if found.Topic == "" {
		found.Topic = found.Page
	}
	if p.o.Continuous && found.Hub != "" && weburl.HostOf(found.Topic) == p.name {
		p.send(Master, found)
	}
}
