// Package ccindex gives the tables of a crawl the names that engines of analysis know: captures have the columns of
// Common Crawl's cc-index-table, so that queries written for it run on an archive of henro, and links are edges with a
// source and a target.
//
// Values that no line of an index has (content_mime_detected, content_charset, content_languages) are empty, and so is
// warc_segment, which is of Common Crawl's own folders; pages of a bucket have the first three (slave/graph). What is
// no URL of the web has its URL alone. Tables without another name are as they are.
package ccindex

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"henro/messages/weburl"
	"henro/store/report/tables"
)

// Format is the name of an export that is a folder with a Parquet file for each table.
const Format = "cc-index"

// columns are those of cc-index-table, flat, in its order.
var columns = []tables.Column{
	{Name: "url_surtkey", Kind: tables.Text},
	{Name: "url", Kind: tables.Text},
	{Name: "url_host_name", Kind: tables.Text},
	{Name: "url_host_tld", Kind: tables.Text},
	{Name: "url_host_2nd_last_part", Kind: tables.Text},
	{Name: "url_host_3rd_last_part", Kind: tables.Text},
	{Name: "url_host_4th_last_part", Kind: tables.Text},
	{Name: "url_host_5th_last_part", Kind: tables.Text},
	{Name: "url_host_registry_suffix", Kind: tables.Text},
	{Name: "url_host_registered_domain", Kind: tables.Text},
	{Name: "url_host_private_suffix", Kind: tables.Text},
	{Name: "url_host_private_domain", Kind: tables.Text},
	{Name: "url_host_name_reversed", Kind: tables.Text},
	{Name: "url_protocol", Kind: tables.Text},
	{Name: "url_port", Kind: tables.Integer},
	{Name: "url_path", Kind: tables.Text},
	{Name: "url_query", Kind: tables.Text},
	{Name: "fetch_time", Kind: tables.Moment},
	{Name: "fetch_status", Kind: tables.Integer},
	{Name: "fetch_redirect", Kind: tables.Text},
	{Name: "content_digest", Kind: tables.Text},
	{Name: "content_mime_type", Kind: tables.Text},
	{Name: "content_mime_detected", Kind: tables.Text},
	{Name: "content_charset", Kind: tables.Text},
	{Name: "content_languages", Kind: tables.Text},
	{Name: "content_truncated", Kind: tables.Text},
	{Name: "warc_filename", Kind: tables.Text},
	{Name: "warc_record_offset", Kind: tables.Integer},
	{Name: "warc_record_length", Kind: tables.Integer},
	{Name: "warc_segment", Kind: tables.Text},
}

// same are columns of captures that have another name and nothing else.
var same = map[string]string{
	"url": "url", "fetch_time": "at", "fetch_status": "status", "content_digest": "digest",
	"content_mime_type": "mime", "warc_filename": "filename", "warc_record_offset": "offset",
	"warc_record_length": "length", "fetch_redirect": "redirect", "content_truncated": "truncated",
}

// edges are the names of the columns of links, as in the view of that name.
var edges = map[string]string{
	"from": "source", "to": "target", "from_host": "source_host", "to_host": "target_host",
}

// Shape is a table under the names of others.
type Shape struct {
	*tables.Table
	// Row is a row of the table as one of the shape, valid until Row is called again.
	Row func(tables.Row) tables.Row
}

// Of returns the shape of a table. It is read from the table: it has none of its own to read.
func Of(t *tables.Table) Shape {
	shaped := *t
	s := Shape{&shaped, func(row tables.Row) tables.Row { return row }}
	switch t.Name {
	case "links":
		shaped.Name, shaped.Columns = "edges", slices.Clone(t.Columns)
		for i, c := range shaped.Columns {
			if name := edges[c.Name]; name != "" {
				shaped.Columns[i].Name = name
			}
		}
	case "captures":
		shaped.Columns = columns
		c := newCapture(t)
		s.Row = c.read
	}
	return s
}

// Writer takes the rows of a table.
type Writer interface {
	Write(tables.Row) error
	// Close writes what is still to be written. It does not close the file.
	Close() error
}

// through writes rows under the names of others.
type through struct {
	Writer
	row func(tables.Row) tables.Row
}

// Write writes a row of the table.
func (w through) Write(row tables.Row) error { return w.Writer.Write(w.row(row)) }

// Through returns a writer of rows of a table to what open makes of its shape.
func Through(t *tables.Table, open func(shaped *tables.Table) (Writer, error)) (Writer, error) {
	s := Of(t)
	w, err := open(s.Table)
	return through{w, s.Row}, err
}

// Files has write write each of the tables to a file of a folder, which is made.
func Files(folder string, names []string, write func(name, path string) error) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, name := range names {
		if err := write(name, filepath.Join(folder, Of(tables.Named(name)).Name+".parquet")); err != nil {
			return err
		}
	}
	return nil
}

// capture is a row of captures.
type capture struct {
	from   []int // the column of captures that is the value; -1: none is
	place  map[string]int
	url    int
	values []tables.Value
	host   string // whose values are the parts of hosts
	parts  map[string]string
}

func newCapture(t *tables.Table) *capture {
	c := &capture{values: make([]tables.Value, len(columns)), place: map[string]int{}, url: t.Column("url")}
	for i, column := range columns {
		c.place[column.Name] = i
		c.from = append(c.from, t.Column(same[column.Name]))
	}
	return c
}

// Value returns the value in a column.
func (c *capture) Value(i int) tables.Value { return c.values[i] }

func (c *capture) read(row tables.Row) tables.Row {
	for i, from := range c.from {
		c.values[i] = tables.Value{}
		if from >= 0 {
			c.values[i] = row.Value(from)
		}
	}
	u, err := weburl.Parse(row.Value(c.url).Text)
	if err != nil {
		return c
	}
	if name := u.Hostname(); name != c.host {
		c.host, c.parts = name, partsOf(name)
	}
	for name, part := range c.parts {
		c.set(name, part)
	}
	c.set("url_surtkey", u.IndexKey())
	c.set("url_host_name", c.host)
	c.set("url_protocol", u.Scheme())
	c.set("url_path", u.Path())
	c.set("url_query", u.Query())
	if _, port, ok := strings.Cut(strings.TrimPrefix(u.Host(), u.Scheme()+"://"+c.host), ":"); ok {
		n, _ := strconv.ParseInt(port, 10, 64)
		c.values[c.place["url_port"]] = tables.Value{Kind: tables.Integer, Int: n}
	}
	return c
}

func (c *capture) set(name, text string) {
	if text != "" {
		c.values[c.place[name]] = tables.Value{Kind: tables.Text, Text: text}
	}
}

// partsOf are the columns of a host name. An address has itself reversed alone.
func partsOf(name string) map[string]string {
	labels := strings.Split(name, ".")
	slices.Reverse(labels)
	parts := map[string]string{"url_host_name_reversed": strings.Join(labels, ".")}
	if last := labels[0]; strings.HasPrefix(name, "[") || last == "" || strings.Trim(last, "0123456789") == "" {
		parts["url_host_name_reversed"] = name
		return parts
	}
	for i, column := range []string{"url_host_tld", "url_host_2nd_last_part", "url_host_3rd_last_part",
		"url_host_4th_last_part", "url_host_5th_last_part"} {
		if i < len(labels) {
			parts[column] = labels[i]
		}
	}
	suffix, official := publicsuffix.PublicSuffix(name)
	parts["url_host_private_suffix"] = suffix
	parts["url_host_private_domain"] = below(name, suffix)
	for !official { // what a company lets others have names below is below a registry's
		_, parent, more := strings.Cut(suffix, ".")
		if !more {
			break
		}
		suffix, official = publicsuffix.PublicSuffix(parent)
	}
	parts["url_host_registry_suffix"] = suffix
	parts["url_host_registered_domain"] = below(name, suffix)
	return parts
}

// below is a suffix with the label before it; empty: the name is the suffix.
func below(name, suffix string) string {
	labels, ok := strings.CutSuffix(name, "."+suffix)
	if !ok {
		return ""
	}
	return labels[strings.LastIndexByte(labels, '.')+1:] + "." + suffix
}
