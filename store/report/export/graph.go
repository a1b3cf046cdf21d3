package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
	"henro/store/report/tables"
	"henro/store/sorter"
)

// graph is the links of a crawl between numbered URLs: the pages of the crawl and what they link to, in the order of
// their bytes, as LAW numbers them. Links that a crawl may follow are its arcs, each once; images, scripts and styles
// are not in it.
//
// Nothing is looked up: URLs are sorted and so get their numbers, and each side of the arcs is sorted by the
// fingerprint of its URL and merged with the numbers.
type graph struct {
	nodes int64
	arcs  *sorter.Sorter // from8 ‖ to8, by number
}

// newGraph shows the URLs in the order of their numbers to node, and returns the arcs.
func newGraph(ctx context.Context, source *tables.Source, o Options, node func(url []byte) error) (g *graph,
	err error) {
	memory := source.Memory
	if memory == 0 {
		memory = sorter.Memory
	}
	made := func() *sorter.Sorter { return sorter.New(source.Temp, memory/4) }
	urls, byFrom, numbers, byTo, arcs := made(), made(), made(), made(), made()
	defer func() {
		err = errors.Join(err, urls.Close(), byFrom.Close(), numbers.Close(), byTo.Close())
		if err != nil {
			err = errors.Join(err, arcs.Close())
		}
	}()
	if err := gather(ctx, source, o, urls, byFrom); err != nil {
		return nil, err
	}
	g = &graph{arcs: arcs}
	if err := g.number(urls, numbers, node); err != nil {
		return nil, err
	}
	if err := errors.Join(urls.Close(), replace(numbers, byFrom, byTo), byFrom.Close(),
		replace(numbers, byTo, arcs)); err != nil {
		return nil, err
	}
	return g, nil
}

// gather adds all URLs, many of them more than once, and the arcs: fingerprint of the URL from ‖ that of the URL to.
func gather(ctx context.Context, source *tables.Source, o Options, urls, arcs *sorter.Sorter) error {
	follow := map[string]bool{}
	for kind := range 256 {
		if k := outlink.Kind(kind); k.Navigates() {
			follow[k.String()] = true
		}
	}
	pages, links := tables.Pages(), tables.Links()
	url, from, to, kind := pages.Column("url"), links.Column("from"), links.Column("to"), links.Column("kind")
	if err := pages.Each(source, tables.Query{Columns: 1 << url, Passing: true}, func(row tables.Row) error {
		return urls.Add([]byte(row.Value(url).Text))
	}); err != nil {
		return err
	}
	var arc []byte
	q := tables.Query{Columns: 1<<from | 1<<to | 1<<kind, Passing: true}
	return links.Watched(ctx, source, q, o.Progress, func(row tables.Row) error {
		if !follow[row.Value(kind).Text] {
			return nil
		}
		target := row.Value(to).Text
		arc = binary.BigEndian.AppendUint64(arc[:0], fingerprint.URL(row.Value(from).Text))
		arc = binary.BigEndian.AppendUint64(arc, fingerprint.URL(target))
		return errors.Join(urls.Add([]byte(target)), arcs.Add(arc))
	})
}

// number gives the URLs their numbers, from 0.
func (g *graph) number(urls, numbers *sorter.Sorter, node func(url []byte) error) error {
	var last, pair []byte
	return urls.Each(func(url []byte) error {
		if last != nil && bytes.Equal(url, last) {
			return nil
		}
		last = append(last[:0], url...)
		pair = binary.BigEndian.AppendUint64(pair[:0], fingerprint.URL(string(url)))
		pair = binary.BigEndian.AppendUint64(pair, uint64(g.nodes))
		g.nodes++
		return errors.Join(numbers.Add(pair), node(url))
	})
}

// replace puts a number behind every arc for the fingerprint in front of it: f8 ‖ x8 becomes x8 ‖ number8.
func replace(numbers, arcs, to *sorter.Sorter) error {
	sorted, err := numbers.Sorted()
	if err != nil {
		return err
	}
	var fp, number uint64
	started, ended := false, false
	next := func() error {
		pair, err := sorted.Next()
		if err == io.EOF {
			ended = true
			return nil
		}
		if err != nil {
			return err
		}
		last := fp
		fp, number = binary.BigEndian.Uint64(pair), binary.BigEndian.Uint64(pair[8:])
		if started && fp == last {
			return fmt.Errorf("%w: two URLs have the fingerprint %x; export links to another format", ErrFormat, fp)
		}
		started = true
		return nil
	}
	var out []byte
	err = arcs.Each(func(arc []byte) error {
		want := binary.BigEndian.Uint64(arc)
		for !ended && (!started || fp < want) {
			if err := next(); err != nil {
				return err
			}
		}
		if ended || fp != want {
			return fmt.Errorf("link of an unknown URL: %w", store.ErrCorrupt)
		}
		out = binary.BigEndian.AppendUint64(append(out[:0], arc[8:]...), number)
		return to.Add(out)
	})
	for err == nil && !ended {
		err = next() // the rest, for two of one fingerprint
	}
	return err
}

// each shows the arcs in order, each once.
func (g *graph) each(fn func(from, to int64) error) error {
	last := [2]int64{-1, -1}
	return g.arcs.Each(func(arc []byte) error {
		this := [2]int64{int64(binary.BigEndian.Uint64(arc)), int64(binary.BigEndian.Uint64(arc[8:]))}
		if this == last {
			return nil
		}
		last = this
		return fn(this[0], this[1])
	})
}

// writeLAW writes STEM.graph-txt, with a line for each node that lists the nodes it links to, and beside it STEM.urls,
// their URLs, and STEM.hosts, "host<TAB>number of nodes" for each run of nodes with one host, which the lab's
// simulate frontier reads.
func writeLAW(ctx context.Context, source *tables.Source, o Options) error {
	stem := strings.TrimSuffix(o.Path, ".graph-txt")
	return appear(stem+".graph-txt", func(graphPart string) error {
		return appear(stem+".hosts", func(hostsPart string) error {
			return appear(stem+".urls", func(urlsPart string) error {
				g, err := writeNodes(ctx, source, o, urlsPart, hostsPart)
				if err != nil {
					return err
				}
				return errors.Join(create(graphPart, g.writeASCII), g.arcs.Close())
			})
		})
	})
}

// writeNodes makes the graph and writes the files beside it.
func writeNodes(ctx context.Context, source *tables.Source, o Options, urlsPath, hostsPath string) (g *graph,
	err error) {
	err = create(urlsPath, func(to io.Writer) error {
		urls := bufio.NewWriterSize(to, 1<<18)
		return create(hostsPath, func(to io.Writer) error {
			hosts := &runs{out: bufio.NewWriter(to)}
			g, err = newGraph(ctx, source, o, func(url []byte) error {
				hosts.add(weburl.HostOf(string(url)))
				urls.Write(url)
				return urls.WriteByte('\n') // an error stays with the writer
			})
			return errors.Join(err, urls.Flush(), hosts.end())
		})
	})
	return g, err
}

// runs writes a line for each run of one host.
type runs struct {
	out   *bufio.Writer
	host  string
	count int
}

func (r *runs) add(host string) {
	if host != r.host {
		r.line()
		r.host, r.count = host, 0
	}
	r.count++
}

func (r *runs) line() {
	if r.count > 0 {
		fmt.Fprintf(r.out, "%s\t%d\n", r.host, r.count) // an error stays with the writer
	}
}

func (r *runs) end() error {
	r.line()
	return r.out.Flush()
}

// writeASCII writes the number of nodes, and a line for each.
func (g *graph) writeASCII(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<18)
	fmt.Fprintf(w, "%d\n", g.nodes)
	line, node := []byte(nil), int64(0)
	end := func(until int64) {
		for ; node < until; node++ {
			w.Write(append(line, '\n'))
			line = line[:0]
		}
	}
	if err := g.each(func(from, to int64) error {
		end(from)
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = strconv.AppendInt(line, to, 10)
		return nil
	}); err != nil {
		return err
	}
	end(g.nodes)
	return w.Flush()
}

// graphMLNodes bounds GraphML: the programs that read it hold all of it in memory as objects, and 200,000 nodes are
// where Gephi becomes slow.
const graphMLNodes = 200_000

// writeGraphML writes the graph with the URLs and hosts of its nodes.
func writeGraphML(ctx context.Context, source *tables.Source, o Options) error {
	return appear(o.Path, func(part string) error {
		return create(part, func(to io.Writer) error {
			w := bufio.NewWriterSize(to, 1<<18)
			w.WriteString(xml.Header + `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="url" for="node" attr.name="url" attr.type="string"/>
<key id="host" for="node" attr.name="host" attr.type="string"/>
<graph edgedefault="directed">
`)
			nodes := 0
			g, err := newGraph(ctx, source, o, func(url []byte) error {
				if nodes == graphMLNodes {
					return fmt.Errorf("%w: GraphML is for crawls of up to %d URLs, and this one has more: export to "+
						"law, parquet or sqlite", ErrFormat, graphMLNodes)
				}
				fmt.Fprintf(w, `<node id="n%d"><data key="url">`, nodes)
				xml.EscapeText(w, url)
				w.WriteString(`</data><data key="host">`)
				xml.EscapeText(w, []byte(weburl.HostOf(string(url))))
				_, err := w.WriteString("</data></node>\n") // earlier errors stay with the writer
				nodes++
				return err
			})
			if err != nil {
				return err
			}
			err = g.each(func(from, to int64) error {
				_, err := fmt.Fprintf(w, "<edge source=\"n%d\" target=\"n%d\"/>\n", from, to)
				return err
			})
			w.WriteString("</graph>\n</graphml>\n")
			return errors.Join(err, g.arcs.Close(), w.Flush())
		})
	})
}
