package slave

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"henro/actors/admission"
	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/fetch"
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

func TestTheMasterSaysWhichPrivateAddressesMayBeAsked(t *testing.T) {
	for _, f := range []*messages.FetchRules{
		{PrivateNetworks: []string{"10.1.0.0"}}, {AllowAddresses: []string{"metadata"}},
	} {
		f.UserAgent, f.FetchTimeoutNs, f.MaxBody = "test", int64(time.Minute), 1<<20
		if c, err := newClient(f, DefaultOptions()); err == nil {
			c.Close()
			t.Error("taken:", f)
		}
	}
	dialled := make(chan string, 9)
	o := DefaultOptions()
	o.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
		dialled <- address
		return nil, net.ErrClosed
	}
	c, err := newClient(&messages.FetchRules{UserAgent: "test", FetchTimeoutNs: int64(time.Minute), MaxBody: 1 << 20,
		PrivateNetworks: []string{"10.1.0.0/16"}, AllowAddresses: []string{"169.254.169.254"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, url := range []string{"http://10.2.0.1/", "http://10.1.2.3/", "http://169.254.169.254/",
		"http://127.0.0.1/"} {
		c.Fetch(t.Context(), fetch.Request{URL: weburl.MustParse(url)})
	}
	close(dialled)
	var all []string
	for address := range dialled {
		all = append(all, address)
	}
	if fmt.Sprint(all) != "[10.1.2.3:80 169.254.169.254:80]" {
		t.Error("dialled", all)
	}
}

// A master that is older than a rule does not send it: the rule has its default then, not nothing.
func TestARuleThatTheMasterDoesNotKnowHasItsDefault(t *testing.T) {
	s := &Slave{o: DefaultOptions()}
	r, err := s.makeRules(&messages.FetchRules{UserAgent: "henro", FetchTimeoutNs: 1e9, ConnectTimeoutNs: 1e9,
		IdleTimeoutNs: 1e9, MaxBody: 1 << 20, Admission: []byte(`{"ObeyNofollow":true}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.client.Close()
	want := admission.DefaultRules()
	want.ObeyNofollow = true
	if !reflect.DeepEqual(r.admission, want) {
		t.Errorf("the rules are %+v, want %+v", r.admission, want)
	}
}
