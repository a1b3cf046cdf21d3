package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// reader is a browser at the other end of a stream, which may be too slow.
type reader struct {
	mu     sync.Mutex
	header http.Header
	text   strings.Builder
	stuck  bool
}

func (r *reader) Header() http.Header { return r.header }
func (r *reader) WriteHeader(int)     {}
func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stuck {
		return 0, errors.New("deadline exceeded")
	}
	return r.text.Write(p)
}
func (r *reader) FlushError() error                { return nil }
func (r *reader) SetReadDeadline(time.Time) error  { return nil }
func (r *reader) SetWriteDeadline(time.Time) error { return nil }

// events returns what came since the last call: the names of the parts, and how many samples and beats.
func (r *reader) events(t *testing.T) (parts []string, samples, beats int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	event := ""
	for lines := bufio.NewScanner(strings.NewReader(r.text.String())); lines.Scan(); {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
		}
		if line == ": beat" {
			beats++
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		switch event {
		case "part":
			var p part
			if err := json.Unmarshal([]byte(data), &p); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, p.ID)
		case "samples":
			var points [][5]float64
			if err := json.Unmarshal([]byte(data), &points); err != nil {
				t.Fatal(err)
			}
			samples += len(points)
		}
	}
	r.text.Reset()
	return parts, samples, beats
}

// watch opens a stream; the channel is closed when it has ended.
func watch(ctx context.Context, d *Dashboard, of, last string) (*reader, <-chan struct{}) {
	r := &reader{header: http.Header{}}
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/events?of="+of, nil)
	request.Header.Set("Last-Event-ID", last)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.stream(r, request)
	}()
	return r, ended
}

func TestAStreamTellsWhatHasChanged(t *testing.T) {
	f := newFake(t, nil)
	d := board(t, f)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		status, _ := f.Status(ctx)
		d.history, d.o.Heartbeat = newHistory(), 4*time.Second
		d.history.add(time.Now(), status)
		r, ended := watch(ctx, d, "/", "")
		synctest.Wait()
		if parts, _, _ := r.events(t); len(parts) != len(views[0].parts) {
			t.Errorf("at first came %q, want all of %q", parts, views[0].parts)
		}
		time.Sleep(5 * time.Second) // less than behindAfter
		synctest.Wait()
		if parts, samples, beats := r.events(t); len(parts)+samples > 0 || beats != 1 {
			t.Errorf("while nothing happens came %q, %d samples and %d beats", parts, samples, beats)
		}
		status, _ = f.Status(ctx)
		status.Totals.Links++
		d.history.add(time.Now(), status)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if parts, samples, _ := r.events(t); strings.Join(parts, " ") != "totals" || samples != 1 {
			t.Errorf("after one link more came %q and %d samples", parts, samples)
		}
		cancel()
		<-ended
		again, ended := watch(t.Context(), d, "/", "9999999999999")
		synctest.Wait()
		if _, samples, _ := again.events(t); samples != 0 {
			t.Errorf("whoever has all samples gets %d", samples)
		}
		again.mu.Lock()
		again.stuck = true
		again.mu.Unlock()
		<-ended // at the next thing there is to write
	})
}

func TestStreamsAreBounded(t *testing.T) {
	d := board(t, newFake(t, nil))
	d.streams = make(chan struct{}, 2)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, one := watch(ctx, d, "/hosts", "")
		_, two := watch(ctx, d, "/log", "")
		synctest.Wait()
		w := httptest.NewRecorder()
		d.stream(w, httptest.NewRequest(http.MethodGet, "/events?of=/", nil))
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("the third of two streams: %d", w.Code)
		}
		cancel()
		<-one
		<-two
		if len(d.streams) != 0 {
			t.Error("streams that have ended are still counted")
		}
	})
}
