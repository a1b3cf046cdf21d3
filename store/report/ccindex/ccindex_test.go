package ccindex

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"henro/store/report/tables"
)

// row is one of captures, by the names of its columns.
type row map[string]tables.Value

func (r row) Value(i int) tables.Value { return r[tables.Captures().Columns[i].Name] }

func text(s string) tables.Value { return tables.Value{Kind: tables.Text, Text: s} }

// A capture has the values that the description of cc-index-table gives as examples, and those of hosts of all kinds.
func TestACaptureHasTheColumnsOfCommonCrawl(t *testing.T) {
	at := tables.Value{Kind: tables.Moment, Int: time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC).UnixMilli()}
	s := Of(tables.Captures())
	for url, want := range map[string]map[string]string{
		"https://www.example.com/path/index.html?a=b": {
			"url_surtkey": "com,example)/path/index.html?a=b", "url_host_name": "www.example.com",
			"url_host_tld":           "com",
			"url_host_2nd_last_part": "example", "url_host_3rd_last_part": "www", "url_host_registry_suffix": "com",
			"url_host_registered_domain": "example.com", "url_host_private_suffix": "com",
			"url_host_private_domain": "example.com", "url_host_name_reversed": "com.example.www",
			"url_protocol": "https", "url_path": "/path/index.html", "url_query": "a=b",
		},
		"http://a.b.c.example.co.uk:8080/": {
			"url_surtkey": "uk,co,example,c,b,a:8080)/", "url_host_name": "a.b.c.example.co.uk", "url_host_tld": "uk",
			"url_host_2nd_last_part": "co", "url_host_3rd_last_part": "example", "url_host_4th_last_part": "c",
			"url_host_5th_last_part": "b", "url_host_registry_suffix": "co.uk",
			"url_host_registered_domain": "example.co.uk", "url_host_private_suffix": "co.uk",
			"url_host_private_domain": "example.co.uk", "url_host_name_reversed": "uk.co.example.c.b.a",
			"url_protocol": "http", "url_port": "8080", "url_path": "/",
		},
		"https://someone.github.io/": { // below a suffix of a company
			"url_surtkey": "io,github,someone)/", "url_host_name": "someone.github.io", "url_host_tld": "io",
			"url_host_2nd_last_part": "github", "url_host_3rd_last_part": "someone", "url_host_registry_suffix": "io",
			"url_host_registered_domain": "github.io", "url_host_private_suffix": "github.io",
			"url_host_private_domain": "someone.github.io", "url_host_name_reversed": "io.github.someone",
			"url_protocol": "https", "url_path": "/",
		},
		"http://127.0.0.1/": {"url_surtkey": "1,0,0,127)/", "url_host_name": "127.0.0.1", "url_protocol": "http",
			"url_host_name_reversed": "127.0.0.1", "url_path": "/"},
		"http://[::1]:81/": {"url_surtkey": "::1:81)/", "url_host_name": "[::1]", "url_protocol": "http",
			"url_host_name_reversed": "[::1]", "url_port": "81", "url_path": "/"},
		"http://com/": {"url_surtkey": "com)/", "url_host_name": "com", "url_host_tld": "com", "url_protocol": "http",
			"url_host_registry_suffix": "com", "url_host_private_suffix": "com", "url_host_name_reversed": "com",
			"url_path": "/"},
		"dns:example.com": {},
	} {
		maps.Copy(want, map[string]string{"url": url, "fetch_time": "2026-03-14T12:00:00Z", "fetch_status": "200",
			"content_mime_type": "text/html", "content_digest": "AAAA", "warc_filename": "a.warc.gz",
			"warc_record_offset": "0", "warc_record_length": "9"})
		shaped := s.Row(row{"url": text(url), "at": at, "status": {Kind: tables.Integer, Int: 200},
			"mime": text("text/html"), "digest": text("AAAA"), "filename": text("a.warc.gz"),
			"offset": {Kind: tables.Integer}, "length": {Kind: tables.Integer, Int: 9}, "host": text("no column")})
		got := map[string]string{}
		for i, c := range s.Columns {
			if v := shaped.Value(i); v.Kind != tables.Empty {
				if got[c.Name] = v.String(); v.Kind != c.Kind {
					t.Errorf("%s: %s is of kind %d, want %d", url, c.Name, v.Kind, c.Kind)
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%v\nwant\n%v", url, got, want)
		}
	}
}

// Every column that is taken over is one of captures and of links, so that none is lost when these change.
func TestNamesAreThoseOfTables(t *testing.T) {
	s := Of(tables.Captures())
	for ours, from := range same {
		if s.Column(ours) < 0 || tables.Captures().Column(from) < 0 {
			t.Errorf("%s of %s: there is no such column", ours, from)
		}
	}
	links := Of(tables.Links())
	for from, ours := range edges {
		if i := tables.Links().Column(from); i < 0 || links.Columns[i].Name != ours {
			t.Errorf("%s is not called %s", from, ours)
		}
	}
	if links.Name != "edges" || Of(tables.Pages()).Name != "pages" || tables.Links().Column("from") < 0 {
		t.Error("a table has another name, or lost its own")
	}
}
