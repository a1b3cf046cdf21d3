package owed

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"henro/messages"
)

func TestALargeLinkSetTravelsInPartsThatFitAndKeepsItsOrder(t *testing.T) {
	v := &messages.PageVisited{Links: linkSet(5000)}
	whole := proto.Clone(v.Links).(*messages.LinkSet)
	const most = 16 << 10
	parts := append(splitLinks(v, most), v.Links)
	if len(parts) < 10 {
		t.Fatalf("%d parts", len(parts))
	}
	joined := &messages.LinkSet{}
	for _, part := range parts {
		if size := proto.Size(part); size > most {
			t.Errorf("a part of %d bytes, want at most %d", size, most)
		}
		joined.Urls = append(joined.Urls, part.Urls...)
		joined.Kinds = append(joined.Kinds, part.Kinds...)
		joined.Flags = append(joined.Flags, part.Flags...)
		joined.Anchors = append(joined.Anchors, part.Anchors...)
	}
	if !proto.Equal(joined, whole) {
		t.Error("the parts are not the whole")
	}
	small := &messages.PageVisited{Links: &messages.LinkSet{Urls: []string{"http://a.test/"}, Kinds: []byte{1},
		Flags: []byte{0}, Anchors: []string{""}}}
	if parts := splitLinks(small, most); len(parts) != 0 || len(small.Links.Urls) != 1 {
		t.Errorf("a small set was split into %d parts", len(parts))
	}
	if parts := splitLinks(&messages.PageVisited{}, most); parts != nil {
		t.Errorf("no set was split: %v", parts)
	}
}

func linkSet(count int) *messages.LinkSet {
	set := &messages.LinkSet{}
	for i := range count {
		set.Urls = append(set.Urls, fmt.Sprintf("http://a.test/page/number/%d", i))
		set.Kinds = append(set.Kinds, byte(i))
		set.Flags = append(set.Flags, byte(i>>8))
		set.Anchors = append(set.Anchors, fmt.Sprint("anchor ", i))
	}
	return set
}

// What was stored is let go, although the array in which it waited is used on.
func TestWhatIsStoredIsLetGo(t *testing.T) {
	l := New(1, "http://a.test", &player{})
	for order := range uint64(4) {
		l.Put(&Fact{Order: order + 1, Message: &messages.Fact{Visited: &messages.PageVisited{}}})
	}
	all := l.unstored
	l.Forget(3)
	if len(l.unstored) != 1 || all[0] != nil || all[2] != nil || all[3] != l.unstored[0] {
		t.Error("facts are held that are stored:", all)
	}
}

// A fact that was reported is not changed when it is reported again, older.
func TestWhatWasReportedStaysAsItWas(t *testing.T) {
	l := New(1, "http://a.test", &player{})
	l.Put(&Fact{Order: 1, Started: begun, Message: &messages.Fact{Visited: &messages.PageVisited{}}})
	first := l.Report(begun.Add(time.Second))[0][0]
	l.Repeat(begun.Add(time.Minute), 0)
	again := l.Report(begun.Add(time.Minute))[0][0]
	if first.Visited.AgoNs != int64(time.Second) || again.Visited.AgoNs != int64(time.Minute) {
		t.Errorf("ages %d and %d", first.Visited.AgoNs, again.Visited.AgoNs)
	}
}
