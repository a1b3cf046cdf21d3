package slave

import (
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/slave/charset"
	"henro/slave/links"
)

// redirect makes the Location of a 3xx answer a link.
func (p *Parser) redirect(m *parse, set *messages.LinkSet) {
	r := m.response
	if r.Status < 300 || r.Status > 399 {
		return
	}
	if location := r.Header.Get("Location"); location != "" {
		if to, err := r.URL.Resolve(location); err == nil && to != r.URL {
			p.add(set, posted.Target(m.visited.Url, r.Status, to), outlink.Redirect, 0, "")
		}
	}
}

func (p *Parser) options() links.Options {
	o := links.DefaultOptions()
	o.MaxLinks = p.o.MaxLinks
	return o
}

// resolve makes references absolute and drops repeats of the same URL and kind.
func (p *Parser) resolve(base weburl.URL, refs []links.Ref, set *messages.LinkSet, encoding string) {
	if len(refs) == 0 {
		return
	}
	p.resolverOf(base, encoding)
	p.written.reset()
	for i := range refs {
		if p.bytes >= maxLinkBytes {
			return
		}
		ref := &refs[i]
		raw := withoutFragment(ref.Raw)
		if !p.written.add(hashOf(raw, byte(ref.Kind)), i, func(before int) bool {
			return refs[before].Kind == ref.Kind && withoutFragment(refs[before].Raw) == raw
		}) {
			continue // most repeats are written alike
		}
		if u, err := p.resolver.Resolve(raw); err == nil { // mailto: and javascript: are no URLs here
			if p.add(set, u, ref.Kind, ref.Flags, ref.Anchor) && p.reading != nil {
				p.around(set, p.document.Around[i])
			}
		}
	}
}

// around adds how much the text around the last link is about the topic of the crawl.
func (p *Parser) around(set *messages.LinkSet, text links.Part) {
	if about := p.reading.Part(text.From, text.To); about > 0 {
		set.Around = append(set.Around, make([]byte, len(set.Urls)-len(set.Around))...) // those before it have none
		set.Around[len(set.Urls)-1] = about
	}
}

// resolverOf makes the resolver that of one page.
func (p *Parser) resolverOf(base weburl.URL, encoding string) *weburl.Resolver {
	if p.resolver == nil {
		p.resolver = weburl.NewResolver(base, charset.Encoding(encoding))
	} else {
		p.resolver.Reset(base, charset.Encoding(encoding))
	}
	return p.resolver
}

func (p *Parser) add(set *messages.LinkSet, to weburl.URL, kind outlink.Kind, flags outlink.Flags, anchor string) bool {
	url, like := to.String(), kind.Apart()
	if !p.unique.add(hashOf(url, byte(like)), len(set.Urls), func(before int) bool {
		return outlink.Kind(set.Kinds[before]).Apart() == like && set.Urls[before] == url
	}) {
		return false
	}
	p.bytes += len(url) + len(anchor)
	p.urls = append(p.urls, to)
	set.Urls = append(set.Urls, url)
	set.Kinds = append(set.Kinds, byte(kind))
	set.Flags = append(set.Flags, byte(flags))
	set.Anchors = append(set.Anchors, anchor)
	return true
}
