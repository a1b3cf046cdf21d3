package fakeweb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// PingKey is the key of IndexNow of every host, in the file of that name.
const PingKey = "fakeweb-indexnow"

// Ping is what a host sends by IndexNow.
type Ping struct {
	Host        string   `json:"host"`
	Key         string   `json:"key"`
	KeyLocation string   `json:"keyLocation"`
	URLs        []string `json:"urlList"`
}

// Pings are what the hosts send of the time in (from, to], under a port (zero: the default one): honest ones the pages
// that changed, liars all their pages at every full hour.
func (w *Web) Pings(from, to time.Time, port uint16) (pings []Ping) {
	for i := range w.o.Hosts {
		h := w.host(i)
		h.live = w.live(&h, to)
		p := Ping{Host: h.Name, Key: PingKey}
		for n := range h.live {
			if h.Lastmod == LastmodLying && to.Truncate(time.Hour).After(from) ||
				h.Lastmod != LastmodLying && len(w.edits(&h, n, from, to)) > 0 {
				p.URLs = append(p.URLs, w.PageURL(i, n, port))
			}
		}
		if len(p.URLs) > 0 {
			p.KeyLocation = w.PageURL(i, 0, port) + PingKey + ".txt"
			pings = append(pings, p)
		}
	}
	return pings
}

// sendPings sends each second what has changed, until the context ends. What the receiver does not take is lost, as
// with most who ping.
func (w *Web) sendPings(ctx context.Context, to string, port uint16) error {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}} // which obeys no HTTP_PROXY
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for from := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := time.Now()
		for _, p := range w.Pings(from, now, port) {
			body, err := json.Marshal(p)
			if err != nil {
				return fmt.Errorf("write a ping: %w", err)
			}
			q, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
			if err != nil {
				return fmt.Errorf("send pings: %w", err)
			}
			q.Header.Set("Content-Type", "application/json")
			if answer, err := client.Do(q); err == nil {
				_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16))
				answer.Body.Close()
			}
		}
		from = now
	}
}
