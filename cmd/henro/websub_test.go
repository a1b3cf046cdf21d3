package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/console"
	"henro/master"
	"henro/messages"
	"henro/slave"
)

// blog is a host of a feed and some pages that change, whose feed names a hub on another host. The hub is one that
// follows the Recommendation, and knows nothing of henro.
type blog struct {
	mu       sync.Mutex
	pages    [][]time.Time // moments at which each changes
	asked    []request
	topics   map[string]subscribed // at the hub, by topic
	receiver http.Handler          // the address for pings; nil: the crawl is not there
	forbids  bool                  // robots.txt of the hub does
	trouble  []string
}

type request struct {
	at           time.Time
	host, method string
	path         string
}

type subscribed struct {
	callback, secret string
	until            time.Time
}

const hubLease = 3 * day

func newBlog(pages int, mean, length time.Duration) *blog {
	b := &blog{topics: map[string]subscribed{}}
	rnd := rand.New(rand.NewPCG(14, 8))
	now := time.Now()
	for range pages {
		var moments []time.Time
		for at := time.Duration(rnd.ExpFloat64() * float64(mean)); at < length; {
			moments = append(moments, now.Add(at))
			at += time.Duration(rnd.ExpFloat64() * float64(mean))
		}
		b.pages = append(b.pages, moments)
	}
	return b
}

// version is how often a page has changed, and when it did last.
func (b *blog) version(n int, now time.Time) (count int, last time.Time) {
	for _, at := range b.pages[n] {
		if at.After(now) {
			break
		}
		count, last = count+1, at
	}
	return count, last
}

func (b *blog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.asked = append(b.asked, request{now, r.Host, r.Method, r.URL.Path})
	w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	text := func(media, body string) {
		etag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(body)))
		w.Header().Set("Etag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", media)
		_, _ = io.WriteString(w, body)
	}
	switch {
	case r.URL.Path == "/robots.txt" && r.Host == "hub.test" && b.forbids:
		text("text/plain", "User-agent: *\nDisallow: /hub\n")
	case r.URL.Path == "/robots.txt":
		text("text/plain", "User-agent: *\nAllow: /\n")
	case r.Host == "hub.test" && r.Method == http.MethodPost:
		b.subscribe(w, r, now)
	case r.Host != "blog.test":
		w.WriteHeader(http.StatusNotFound)
	case r.URL.Path == "/feed":
		text("application/atom+xml", b.feed(now))
	case r.URL.Path == "/":
		text("text/html", `<title>blog</title><link rel=alternate type=application/atom+xml href=/feed>`)
	default:
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/p/"))
		if err != nil || n >= len(b.pages) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		count, _ := b.version(n, now)
		words := make([]string, 80)
		rnd := rand.New(rand.NewPCG(uint64(n), uint64(count)))
		for i := range words {
			words[i] = strconv.Itoa(rnd.IntN(10000))
		}
		text("text/html", fmt.Sprintf("<title>%d</title><p>%s", n, strings.Join(words, " ")))
	}
}

func (b *blog) feed(now time.Time) string {
	var s strings.Builder
	s.WriteString(`<feed xmlns="http://www.w3.org/2005/Atom"><link rel="hub" href="http://hub.test/hub"/>` +
		`<link rel="self" href="http://blog.test/feed"/>`)
	for n := range b.pages {
		_, last := b.version(n, now)
		fmt.Fprintf(&s, `<entry><link href="http://blog.test/p/%d"/><updated>%s</updated></entry>`, n,
			last.UTC().Format(time.RFC3339))
	}
	return s.String() + "</feed>"
}

// subscribe takes the request of a subscriber, and asks it back on a goroutine of its own: WebSub 5.2 and 5.3.
func (b *blog) subscribe(w http.ResponseWriter, r *http.Request, now time.Time) {
	f := r.PostFormValue
	if r.Header.Get("X-Member") != "" {
		b.trouble = append(b.trouble, "the hub that a page named is sent a secret")
	}
	if f("hub.mode") != "subscribe" || f("hub.topic") != "http://blog.test/feed" || len(f("hub.secret")) < 20 {
		b.trouble = append(b.trouble, "the hub is sent "+r.PostForm.Encode())
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	s := subscribed{f("hub.callback"), f("hub.secret"), now.Add(hubLease)}
	topic := f("hub.topic")
	go func() {
		time.Sleep(time.Second)
		challenge := strconv.Itoa(int(now.UnixNano()))
		q := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {topic}, "hub.challenge": {challenge},
			"hub.lease_seconds": {strconv.Itoa(int(hubLease.Seconds()))}}
		for name := range q { // of an impostor
			partial := maps.Clone(q)
			partial.Del(name)
			if code, _ := b.send("GET", s.callback+"?"+partial.Encode(), "", nil); code/100 == 2 {
				b.note("a request without " + name + " is confirmed")
			}
		}
		switch code, answer := b.send("GET", s.callback+"?"+q.Encode(), "", nil); {
		case code == 200 && answer == challenge:
			b.mu.Lock()
			b.topics[topic] = s
			b.mu.Unlock()
		case code != 0:
			b.note(fmt.Sprintf("the challenge is answered %d %q", code, answer))
		}
	}()
}

func (b *blog) note(trouble string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trouble = append(b.trouble, trouble)
}

// send asks the address for pings; 0: it is not there.
func (b *blog) send(method, to, signature string, body []byte) (code int, answer string) {
	b.mu.Lock()
	receiver := b.receiver
	b.mu.Unlock()
	if receiver == nil {
		return 0, ""
	}
	r := httptest.NewRequest(method, to, bytes.NewReader(body))
	if signature != "" {
		r.Header.Set("X-Hub-Signature", signature)
	}
	w := httptest.NewRecorder()
	receiver.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// distribute sends what has changed to the subscribers, every ten minutes, signed unless it lies.
func (b *blog) distribute(ctx context.Context, liar bool) {
	everyTenMinutes(ctx, func(from, now time.Time) {
		changed := liar || slices.ContainsFunc(b.pages, func(moments []time.Time) bool {
			return slices.ContainsFunc(moments, func(at time.Time) bool { return at.After(from) && !at.After(now) })
		})
		b.mu.Lock()
		body := []byte(b.feed(now))
		s := b.topics["http://blog.test/feed"]
		b.mu.Unlock()
		if !changed || !now.Before(s.until) {
			return
		}
		mac := hmac.New(sha256.New, []byte(s.secret))
		if liar {
			mac = hmac.New(sha256.New, []byte("guessed"))
		}
		mac.Write(body)
		if code, answer := b.send("POST", s.callback, "sha256="+hex.EncodeToString(mac.Sum(nil)), body); code != 202 &&
			ctx.Err() == nil {
			b.note(fmt.Sprintf("what the hub sends is answered %d %q", code, answer))
		}
	})
}

// crawl crawls the blog for so long, in as many runs, and returns the requests of the last two thirds and how many
// versions they captured, with their lag.
func (b *blog) crawl(t *testing.T, hub, liar bool, length time.Duration, runs int) (requests []request,
	captured int, lag time.Duration) {
	dir, begun := t.TempDir(), time.Now()
	for range runs {
		e := crawlAt(t, dir, b, func(o *master.Options) {
			o.Hosts.Continuous, o.Hosts.Sitemaps, o.For, o.Store.Partitions = true, true, length/time.Duration(runs), 1
			o.LeaseFor, o.TickEvery, o.Depth = 2*time.Hour, 5*time.Minute, -1
			o.Fetch.Headers = []*messages.Header{{Prefix: "http://hub.test/", Name: "X-Member", Value: "secret"}}
			if hub {
				o.PingsURL = "http://crawler.test/"
			}
		}, "http://blog.test/")
		e.Adjust = func(o *slave.Options) { o.AskEvery = 5 * time.Minute }
		status, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
			receiver := console.New(console.Options{Public: true}, node.PingRoutes())
			b.mu.Lock()
			b.receiver = receiver
			b.mu.Unlock()
			b.distribute(ctx, liar)
			b.mu.Lock()
			b.receiver = nil
			b.mu.Unlock()
			return nil
		})
		if err != nil || status.End != master.TimeLimit {
			t.Fatalf("ended with %q, %v", status.End, err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, trouble := range b.trouble {
		t.Error(trouble)
	}
	last := map[string]time.Time{}
	for _, a := range b.asked {
		if before := last[a.host]; !before.IsZero() && a.at.Sub(before) < time.Second {
			t.Errorf("%s is asked after %v", a.host, a.at.Sub(before))
		}
		since := last[a.host+a.path]
		last[a.host], last[a.host+a.path] = a.at, a.at
		if a.at.Before(begun.Add(length / 3)) {
			continue
		}
		requests = append(requests, a)
		if n, err := strconv.Atoi(strings.TrimPrefix(a.path, "/p/")); err == nil {
			if _, at := b.version(n, a.at); at.After(since) && !at.Before(begun.Add(length/3)) {
				captured++
				lag += a.at.Sub(at)
			}
		}
	}
	return requests, captured, lag
}

// A hub that a feed names is subscribed to, confirmed, renewed and believed, over a restart; what it has not signed is
// not.
func TestHubsReportChanges(t *testing.T) {
	t.Parallel()
	const length = 60 * day
	for _, c := range []struct {
		name               string
		hub, liar, forbids bool
		runs               int
	}{{"without --pings-url", false, false, false, 1}, {"with a hub", true, false, false, 1},
		{"over a restart", true, false, false, 2}, {"forged", true, true, false, 1},
		{"forbidden by robots.txt", true, false, true, 1}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBlog(24, 15*day, length)
			b.forbids = c.forbids
			versions := 0
			for n := range b.pages {
				before, _ := b.version(n, time.Now().Add(length/3))
				after, _ := b.version(n, time.Now().Add(length))
				versions += after - before
			}
			requests, captured, lag := b.crawl(t, c.hub, c.liar, length, c.runs)
			count := map[string]int{}
			for _, a := range requests {
				what := a.host + " pages"
				if !strings.HasPrefix(a.path, "/p/") {
					what = a.host + a.path
				}
				count[what]++
			}
			mean := lag / time.Duration(max(1, captured))
			t.Logf("%s: %d requests, %v, for %d of %d versions, after %v", c.name, len(requests), count, captured,
				versions, mean.Round(time.Minute))
			asked := c.hub && !c.forbids
			switch posts := count["hub.test/hub"]; {
			case !asked && posts > 0:
				t.Errorf("%s: the hub was asked %d times", c.name, posts)
			case asked && (posts < 13 || posts > 17): // 40 days of leases of 3 days, renewed after 2.7
				t.Errorf("%s: the hub was asked %d times in 40 days", c.name, posts)
			}
			if believed := mean < time.Hour; believed != (asked && !c.liar) {
				t.Errorf("%s: a lag of %v", c.name, mean)
			}
		})
	}
}
