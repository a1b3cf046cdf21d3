package slave

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"testing"
	"time"

	"henro/actors/actortest"
	"henro/actors/admission"
	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/fetch"
)

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
	for _, f := range []*messages.FetchSettings{
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
	c, err := newClient(&messages.FetchSettings{UserAgent: "test", FetchTimeoutNs: int64(time.Minute), MaxBody: 1 << 20,
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
	r, err := makeSettings(&messages.FetchSettings{UserAgent: "henro", FetchTimeoutNs: 1e9, ConnectTimeoutNs: 1e9,
		IdleTimeoutNs: 1e9, MaxBody: 1 << 20, Admission: []byte(`{"ObeyNofollow":true}`)},
		DefaultOptions(), actortest.Log())
	if err != nil {
		t.Fatal(err)
	}
	defer r.client.Close()
	want := admission.DefaultOptions()
	want.ObeyNofollow = true
	if !reflect.DeepEqual(r.admission, want) {
		t.Errorf("the rules are %+v, want %+v", r.admission, want)
	}
}
