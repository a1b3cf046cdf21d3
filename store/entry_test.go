package store

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"henro/messages/outlink"
)

// An entry has every field of a batch that a commit reads: another one in these types must be written by MarshalBinary
// too, or masters' copies of a state differ.
func TestAnEntryHasEveryFieldOfABatch(t *testing.T) {
	fields := func(of any, want ...string) {
		t.Helper()
		var names []string
		for field := range reflect.TypeOf(of).Fields() {
			names = append(names, field.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%T has the fields %q", of, names)
		}
	}
	fields(Batch{}, "now", "bytes", "records", "visits", "moves", "drops", "renews", "forgets", "admits", "hosts",
		"leases", "ended", "sends", "sent", "relaxed", "metaKeys", "metas", "rejudge", "given",
		"opened", "domains", "firsts", "index")
	fields(Visited{}, "Position", "Page", "Retry", "Links", "Near")
	fields(firstPage{}, "known", "claim", "url", "near")
	fields(Candidate{}, "URL", "Host", "Depth", "DepthLeft", "Band", "Redirects", "Requisite", "From", "Via", "Rises",
		"Priority", "Frequency") // the priority has made the band already

	b := NewBatch(time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC))
	b.Admit(Candidate{URL: "http://a.example/", Host: "http://a.example", Depth: 1, DepthLeft: 2, Band: 3, Redirects: 4,
		Requisite: 5, From: 6, Via: "http://a.example/via", Rises: true, Frequency: 7})
	b.Visit(Visited{Position: Position("p"), Page: Page{URL: "http://a.example/b", Status: 200}, Retry: true,
		Links: []outlink.Outlink{{URL: "http://a.example/c"}}, Near: []byte{1, 2}})
	b.DeleteLease(8)
	b.Rejudge(9)
	b.PutMeta("gone", nil)
	b.PutMeta("empty", []byte{})
	b.opened, b.domains, b.firsts = 10, "11", []firstPage{{known: true, claim: true, url: "12", near: "13"}}
	e, err := b.MarshalBinary()
	var read Batch
	if err == nil {
		err = read.UnmarshalBinary(e)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*b, read) {
		t.Errorf("written %+v\nread %+v", *b, read)
	}
	if err := read.UnmarshalBinary(e[:len(e)-1]); err == nil {
		t.Error("an entry that was cut off was read")
	}
}
