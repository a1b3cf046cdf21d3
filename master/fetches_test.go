package master

import (
	"path/filepath"
	"testing"
	"time"

	"henro/messages"
	"henro/store/journal"
)

// BenchmarkFetchLine is what one line of the fetch log costs, its part of the writes to disk included.
func BenchmarkFetchLine(b *testing.B) {
	file, err := journal.Open(filepath.Join(b.TempDir(), "fetch.jsonl"), fetchJournal)
	if err != nil {
		b.Fatal(err)
	}
	log := &fetchLog{file: file}
	at := time.Now()
	fact := &messages.Fact{Host: "https://www.example.org", Visited: &messages.PageVisited{
		Url: "https://www.example.org/a/folder/with/a/page.html?and=a&query=too", Depth: 3, Status: 200,
		BodyBytes: 23456,
		Mime:      "text/html", TookNs: 123456789, AgoNs: 234567890, Digest: make([]byte, 20),
		WarcFile: "henro-20260314120000-00001.warc.gz", WarcOffset: 123456}}
	b.ReportAllocs()
	for b.Loop() {
		fetch := fetchOf(at, "slave1", fact)
		log.keep(&fetch)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
}
