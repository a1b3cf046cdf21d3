package lenders

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/cluster"
	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/render"
)

// one knows one slave, which is itself: no network is between.
func one(t *testing.T, has map[string]string) *Lenders {
	t.Helper()
	system := actor.NewActorSystem()
	t.Cleanup(system.Shutdown)
	p := New(system)
	p.Serve(func(_ context.Context, url weburl.URL, whole bool) (*render.Page, error) {
		body, known := has[url.String()]
		at := time.Unix(7, 0)
		switch {
		case !known:
			return nil, render.ErrAbsent
		case body == "":
			return nil, render.ErrNever
		case !whole:
			return &render.Page{At: at}, nil
		}
		return &render.Page{At: at, Status: 203, Header: http.Header{"X-A": {"1", "2"}}, Payload: []byte(body)}, nil
	})
	p.Know(func() []cluster.Member {
		return []cluster.Member{{Name: "a", Boot: "1", Role: cluster.Slave, ActorAddress: "127.0.0.1:9"}, // before
			{Name: "a", Boot: "2", Role: cluster.Slave, ActorAddress: system.Address()},
			{Name: "m", Boot: "1", Role: cluster.Master, ActorAddress: "127.0.0.1:9"}}
	})
	return p
}

func TestASlaveHasWhatAnotherHas(t *testing.T) {
	p := one(t, map[string]string{"http://a.example/": "body", "http://a.example/never": ""})
	page, err := p.Ask(t.Context(), weburl.MustParse("http://a.example/"), true)
	if err != nil || page.Status != 203 || string(page.Body) != "body" || string(page.Payload) != "body" ||
		!page.At.Equal(time.Unix(7, 0)) || !slices.Equal(page.Header["X-A"], []string{"1", "2"}) {
		t.Errorf("%+v, %v", page, err)
	}
	if page, err = p.Ask(t.Context(), weburl.MustParse("http://a.example/"), false); err != nil || page.Body != nil ||
		!page.At.Equal(time.Unix(7, 0)) {
		t.Errorf("only when: %+v, %v", page, err)
	}
	if _, err := p.Ask(t.Context(), weburl.MustParse("http://a.example/none"), true); !errors.Is(err,
		render.ErrAbsent) || errors.Is(err, render.ErrNever) {
		t.Errorf("what it has not: %v", err)
	}
	never := weburl.MustParse("http://a.example/never")
	if _, err := p.Ask(t.Context(), never, true); !errors.Is(err, render.ErrNever) {
		t.Errorf("what will not come: %v", err)
	}
}

func TestWhoDoesNotAnswerIsLeftAloneForAWhile(t *testing.T) {
	system := actor.NewActorSystem()
	t.Cleanup(system.Shutdown)
	p := New(system)
	if _, err := p.Ask(t.Context(), weburl.MustParse("http://a.example/"), true); !errors.Is(err, render.ErrAbsent) {
		t.Errorf("nobody is known: %v", err)
	}
	p.Know(func() []cluster.Member { // without such an actor
		return []cluster.Member{{Name: "a", Boot: "1", Role: cluster.Slave, ActorAddress: system.Address()}}
	})
	if _, err := p.Ask(t.Context(), weburl.MustParse("http://a.example/"), true); !errors.Is(err, render.ErrAbsent) {
		t.Errorf("nobody answers: %v", err)
	}
	if len(p.slaves()) > 0 {
		t.Error("it is asked again at once")
	}
	p.silent.Mute(cluster.Member{Boot: "1"}, 0) // the time is over
	if len(p.slaves()) != 1 {
		t.Error("it is never asked again")
	}
}

func TestWhatIsTooLargeOrBrokenIsNotCarried(t *testing.T) {
	noise, state := make([]byte, maxPacked+1), uint32(1)
	for i := range noise {
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	if _, err := pack(&render.Page{Payload: noise}); !errors.Is(err, errLarge) {
		t.Errorf("too large: %v", err)
	}
	p := one(t, map[string]string{"http://a.example/": string(noise)})
	if _, err := p.Ask(t.Context(), weburl.MustParse("http://a.example/"), true); !errors.Is(err, render.ErrAbsent) {
		t.Errorf("too large: %v", err)
	}
	if told := p.tell(t.Context(), &messages.CaptureAsked{Url: "no URL"}); told.AtUnixNs != 0 {
		t.Errorf("no URL: %v", told)
	}
	body, err := pack(&render.Page{Payload: []byte(strings.Repeat("x", 1000))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(weburl.URL{}, &messages.CaptureTold{Body: body[:len(body)/2]}); err == nil {
		t.Error("half a body is read")
	}
}

func FuzzUnpack(f *testing.F) {
	body, _ := pack(&render.Page{Header: http.Header{"Content-Encoding": {"gzip"}}, Payload: []byte("x")})
	f.Add(body)
	f.Fuzz(func(t *testing.T, body []byte) {
		page, err := unpack(weburl.URL{}, &messages.CaptureTold{Body: bytes.Clone(body)})
		if err == nil && len(page.Body) > maxBody {
			t.Errorf("%d bytes", len(page.Body))
		}
	})
}
