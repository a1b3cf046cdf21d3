package slave

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"henro/messages"
)

func TestALargeLinkSetTravelsInPartsThatFitAndKeepsItsOrder(t *testing.T) {
	v := &messages.PageVisited{Links: &messages.LinkSet{}}
	for i := range 5000 {
		v.Links.Urls = append(v.Links.Urls, fmt.Sprintf("http://a.test/page/number/%d", i))
		v.Links.Kinds = append(v.Links.Kinds, byte(i))
		v.Links.Flags = append(v.Links.Flags, byte(i>>8))
		v.Links.Anchors = append(v.Links.Anchors, fmt.Sprint("anchor ", i))
	}
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

func TestDefaultOptionsAreValidAndBadOnesAreNot(t *testing.T) {
	good := DefaultOptions()
	good.Name, good.Boot = "s", "b"
	if err := good.Validate(); err != nil || good.Parsers < 1 {
		t.Errorf("%v, %d parsers", err, good.Parsers)
	}
	for i, change := range []func(*Options){
		func(o *Options) { o.Name = "" }, func(o *Options) { o.Boot = "" }, func(o *Options) { o.Connections = 0 },
		func(o *Options) { o.UnstoredFacts = 0 }, func(o *Options) { o.MaxLinks = -1 },
		func(o *Options) { o.AskEvery = 0 },
		func(o *Options) { o.Parsers = -1 },
	} {
		bad := good
		change(&bad)
		if bad.Validate() == nil {
			t.Errorf("change %d was accepted", i)
		}
	}
}
