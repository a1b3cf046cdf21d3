package tables

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
	"henro/store/sorter"
)

// Links are the outlinks that the last visit of every page found, the thesis' collected links.
func Links() *Table {
	return &Table{
		Name: "links", Doc: "the outlinks of every page at its last visit, also those that lead out of the crawl",
		HostColumn: 6, URLColumn: 1,
		Indexes: []string{"number", "to"},
		Columns: []Column{
			{"number", Integer, "of the page"},
			{"from", Text, "URL of the page"},
			{"to", Text, "canonical"},
			{"kind", Text, "a, area, frame, iframe, link, refresh, redirect, header …: what held it"},
			{"nofollow", Boolean, "rel=nofollow, ugc or sponsored, or the whole page says so"},
			{"anchor", Text, "the words shown"},
			{"from_host", Text, "scheme://name[:port] of from"},
			{"to_host", Text, "scheme://name[:port] of to"},
		},
		each: eachLink,
	}
}

type link struct {
	*outlink.Outlink
	from *source
}

// passing is the link that is being read, for rows that are not kept: those of all pages in one place, without strings.
type passing struct {
	outlink.Outlink
	from source
}

// source is the page of links.
type source struct {
	host   string
	url    string // empty when not wanted
	number uint64 // likewise
}

func (l *link) Value(column int) Value    { return valueOf(l.Outlink, l.from, column) }
func (l *passing) Value(column int) Value { return valueOf(&l.Outlink, &l.from, column) }

func valueOf(l *outlink.Outlink, from *source, column int) Value {
	switch column {
	case 0:
		return integer(from.number)
	case 1:
		return text(from.url)
	case 2:
		return text(l.URL)
	case 3:
		return text(l.Kind.String())
	case 4:
		return boolean(l.Flags&outlink.NoFollow != 0)
	case 5:
		return text(l.Anchor)
	case 6:
		return text(from.host)
	case 7:
		return text(weburl.HostOf(l.URL))
	}
	return Value{}
}

// wantsPages reports whether links need what only the record of their page has: number or from.
func (q Query) wantsPages() bool { return q.Columns&0b11 != 0 }

func eachLink(s *Source, q Query, fn func(Row) error) error {
	if s.Links != nil {
		return s.Links(q, fn)
	}
	return s.partitions(q, func(p *store.Partition) error {
		switch {
		case q.URL != nil:
			return linksOfURL(p, q, fn)
		case q.wantsPages():
			return linksWithPages(s, p, q, fn)
		case q.Host != nil:
			show := shown(q, fn)
			return linksWithHosts(p, q, func(host string, _ store.HostID, _ uint64, links *store.Links) error {
				return show(links, host, 0, nil)
			})
		case q.Columns == 0:
			n, err := p.Links.Count()
			return errors.Join(err, blanks(n, fn))
		default:
			return linksAsTheyLie(p, q, fn)
		}
	})
}

// shown returns a function that shows the links of a page as rows.
func shown(q Query, fn func(Row) error) func(links *store.Links, host string, number uint64, url []byte) error {
	if !q.Passing {
		return func(links *store.Links, host string, number uint64, url []byte) error {
			all, err := links.All()
			if err != nil {
				return fmt.Errorf("links of %s: %w", host, err)
			}
			return show(all, &source{host: host, number: number, url: string(url)}, fn)
		}
	}
	var row passing
	return func(links *store.Links, host string, number uint64, url []byte) error {
		row.from = source{host: host, number: number, url: textOf(url)}
		for links.Next() {
			row.URL, row.Anchor, row.Kind, row.Flags = textOf(links.URL), textOf(links.Anchor), links.Kind, links.Flags
			if err := fn(&row); err != nil {
				return err
			}
		}
		return nil
	}
}

// textOf is bytes as a string without a copy, valid until they are written over.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func show(links []outlink.Outlink, from *source, fn func(Row) error) error {
	rows := make([]link, len(links))
	for i := range links {
		rows[i] = link{&links[i], from}
		if err := fn(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// linksOfURL shows the links of one page.
func linksOfURL(p *store.Partition, q Query, fn func(Row) error) error {
	from := &source{host: weburl.HostOf(*q.URL), url: *q.URL}
	if q.Host != nil && from.host != *q.Host {
		return nil
	}
	links, err := p.Links.Of(store.IDOf(from.host), fingerprint.URL(*q.URL))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && q.Columns&1 != 0 {
		var entry store.Entry
		entry, _, err = p.Pages.Lookup(*q.URL)
		from.number = entry.Page.Number
	}
	if err != nil {
		return err
	}
	return show(links, from, fn)
}

// linksAsTheyLie shows the links of every page in the order in which they are read fastest, with the name of its host
// if that is wanted.
func linksAsTheyLie(p *store.Partition, q Query, fn func(Row) error) error {
	show, names, name := shown(q, fn), map[store.HostID]string{}, ""
	return p.Links.Scan(func(host store.HostID, _ uint64, links *store.Links) error {
		if q.Columns&(1<<6) != 0 {
			if name = names[host]; name == "" {
				record, err := p.Hosts.Get(host)
				if err != nil {
					return fmt.Errorf("host of links %x: %w", uint64(host), err)
				}
				if len(names) == namesKept {
					clear(names)
				}
				name = record.Name
				names[host] = name
			}
		}
		return show(links, name, 0, nil)
	})
}

// namesKept is how many names of hosts linksAsTheyLie keeps at most: some 10 MB. Links lie in the order of visits, and
// most visits are of a host that had one a moment before.
const namesKept = 1 << 16

// linksWithHosts shows the links of every page with the name of its host. Both come in the order of hosts' ids.
func linksWithHosts(p *store.Partition, q Query, fn func(host string, id store.HostID, fp uint64,
	links *store.Links) error) error {
	if q.Host != nil {
		id := store.IDOf(*q.Host)
		return p.Links.ScanHost(id, func(fp uint64, links *store.Links) error { return fn(*q.Host, id, fp, links) })
	}
	name, last := "", store.HostID(0)
	return p.Links.ScanByPage(func(host store.HostID, fp uint64, links *store.Links) error {
		if host != last || name == "" {
			record, err := p.Hosts.Get(host)
			if err != nil {
				return fmt.Errorf("host of links %x: %w", uint64(host), err)
			}
			name, last = record.Name, host
		}
		return fn(name, host, fp, links)
	})
}

// linksWithPages joins links with the records of their pages: links lie in the order of host and fingerprint, pages in
// that of their visits. So the pages are put into the order of the links first.
func linksWithPages(s *Source, p *store.Partition, q Query, fn func(Row) (err error)) (err error) {
	pages := sorter.New(s.Temp, cmp.Or(s.Memory, pagesMemory))
	defer func() { err = errors.Join(err, pages.Close()) }()
	var record []byte
	err = p.Pages.Each(func(page store.Page, _ store.Place) error {
		host := weburl.HostOf(page.URL)
		if page.LastVisit.IsZero() || q.Host != nil && host != *q.Host {
			return nil
		}
		record = binary.BigEndian.AppendUint64(record[:0], uint64(store.IDOf(host)))
		record = binary.BigEndian.AppendUint64(record, fingerprint.URL(page.URL)&^lowest)
		record = binary.BigEndian.AppendUint64(record, page.Number)
		return pages.Add(append(record, page.URL...))
	})
	if err != nil {
		return err
	}
	sorted, err := pages.Sorted()
	if err != nil {
		return err
	}
	at, err := sorted.Next()
	show, key := shown(q, fn), make([]byte, 0, 16)
	return linksWithHosts(p, q, func(name string, host store.HostID, fp uint64, links *store.Links) error {
		key = binary.BigEndian.AppendUint64(key[:0], uint64(host))
		key = binary.BigEndian.AppendUint64(key, fp&^lowest)
		for err == nil && string(at[:16]) < string(key) {
			at, err = sorted.Next()
		}
		if err != nil && err != io.EOF {
			return err
		}
		if err == io.EOF || string(at[:16]) != string(key) {
			return nil // a visit that came to nothing left the links of an older one
		}
		return show(links, name, binary.BigEndian.Uint64(at[16:]), at[24:])
	})
}

// pagesMemory is how many bytes of pages are put in order at a time by default. It is full from some 5 million links
// on: CSV of 10 million takes 54 MB of memory (89 MB with four times as much), of 20 million 44 MB.
const pagesMemory = sorter.Memory / 4

// lowest are the bits of a fingerprint that the seen set does not keep.
const lowest = 0xff
