package embedded_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/master"
)

// asked is one request, as a slow host saw it.
type asked struct {
	begun, ended time.Time
	beside       int // under way when it began, itself too
	status       int
}

// slowHost answers in a second, and names so many pages. For two minutes from its 20th request on it says 429.
type slowHost struct {
	pages     int
	throttles bool

	mu       sync.Mutex
	log      []asked
	underWay int
	until    time.Time
}

func (s *slowHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.underWay++
	a := asked{begun: time.Now(), beside: s.underWay, status: http.StatusOK}
	if s.throttles && s.until.IsZero() && len(s.log) >= 20 {
		s.until = a.begun.Add(2 * time.Minute)
	}
	if a.begun.Before(s.until) {
		a.status = http.StatusTooManyRequests
	}
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	s.underWay--
	a.ended = time.Now()
	s.log = append(s.log, a)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(a.status)
	if r.URL.Path == "/" {
		for n := range s.pages {
			fmt.Fprintf(w, "<a href=/%d>", n)
		}
	}
}

// crawl lets so many requests be under way at once, and gives what the host saw of them.
func (s *slowHost) crawl(t *testing.T, parallel map[string]int, floor time.Duration) (most int, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		crawltest.Run(t, crawltest.At(t, t.TempDir(), s, func(o *master.Options) {
			o.Hosts.Politeness.Floor, o.Hosts.Parallel = floor, parallel
		}, "http://www.a.example/"))
	})
	for i := range s.log {
		most = max(most, s.log[i].beside)
	}
	return most, s.log[len(s.log)-1].ended.Sub(s.log[0].begun)
}

// A host whose operator consents is asked several times at once, others are not; its floor holds between two starts.
func TestAHostThatConsentsIsAskedSeveralTimesAtOnce(t *testing.T) {
	const pages = 100
	_, alone := (&slowHost{pages: pages}).crawl(t, map[string]int{"b.example": 4, ".www.a.example.org": 4}, 0)
	for name, consent := range map[string]string{"by name": "www.a.example", "below": ".a.example",
		"by scheme": "http://www.a.example"} {
		most, took := (&slowHost{pages: pages}).crawl(t, map[string]int{consent: 4}, 0)
		if gain := alone.Seconds() / took.Seconds(); most != 4 || gain < 3.5 || gain > 4 {
			t.Errorf("%s: %d at once, and %.2f times as fast as alone, which takes %v", name, most, gain, alone)
		}
	}
	s := &slowHost{pages: 30}
	if most, _ := s.crawl(t, map[string]int{".a.example": 4}, 600*time.Millisecond); most != 2 {
		t.Errorf("%d at once where one begins every 750 ms", most)
	}
	for i := range s.log[1:] { // (S/C)·e/4, with S/C = 3
		if gap := s.log[i+1].begun.Sub(s.log[i].begun); gap < 750*time.Millisecond {
			t.Errorf("asked again after %v", gap)
		}
	}
}

// A host that says 429 is asked nothing while it rests, and then one page at a time until it answers.
func TestAHostThatSaysItIsTooMuchIsAskedAlone(t *testing.T) {
	s := &slowHost{pages: 60, throttles: true}
	most, _ := s.crawl(t, map[string]int{"www.a.example": 4}, 0)
	var refused, last time.Time
	again := 0
	for _, a := range s.log {
		switch {
		case a.status == http.StatusTooManyRequests:
			if !refused.IsZero() && a.begun.After(refused) && (a.beside > 1 || a.begun.Sub(refused) < time.Minute) {
				t.Errorf("asked %v after it said 429, %d at once", a.begun.Sub(refused), a.beside)
			}
			refused = a.ended
		case refused.IsZero():
		case last.IsZero():
			if last = a.ended; a.beside > 1 {
				t.Error("it answers again, and was asked more at once before")
			}
		case a.begun.Before(last) && a.begun.After(refused):
			t.Error("asked before it had answered again")
		case a.beside == 4:
			again++
		}
	}
	if most != 4 || again == 0 {
		t.Errorf("%d at once, and %d times again afterwards", most, again)
	}
}
