package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"henro/messages/ticks"
)

// part is a piece of a page that has changed.
type part struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// stream keeps what is shown on one page up to date, by server-sent events:
//
//	event: part      {"id": "figures", "html": "…"}: the element with this id has other content now
//	event: samples   [[unix ms, pages/s, bytes/s, errors/s, waiting], …]: points of the charts; id: is the moment
//	of the last
//	: beat           nothing has changed
//
// The page is named by ?of=PATH, its own address. A browser that comes back after a break says in Last-Event-ID up to
// where it has samples.
func (d *Dashboard) stream(w http.ResponseWriter, r *http.Request) {
	select {
	case d.streams <- struct{}{}:
		defer func() { <-d.streams }()
	default:
		w.Header().Set("Retry-After", "60")
		http.Error(w, "as many streams are open as may be", http.StatusServiceUnavailable)
		return
	}
	of, err := url.Parse(local(r.URL.Query().Get("of")))
	v := viewAt(of)
	if err != nil || v == nil {
		http.NotFound(w, r)
		return
	}
	about := r.Clone(r.Context())
	about.URL = of
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	out := &streamWriter{w: w, control: http.NewResponseController(w), within: d.o.WriteWithin,
		sent: map[string]uint64{}, seed: maphash.MakeSeed()}
	_ = out.control.SetReadDeadline(time.Time{}) // that of the server is for requests
	fmt.Fprint(&out.buffer, "retry: 2000\n\n")
	minutes := of.Query().Get("range") == "day"
	if ms, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		out.drawn = time.UnixMilli(ms)
	}
	var rendered time.Time
	for range ticks.FromNow(r.Context(), d.o.Every) {
		if time.Since(rendered) >= v.every-d.o.Every/2 {
			rendered = time.Now()
			if d.render(out, about, v) != nil {
				return
			}
		}
		if v.name == "now" {
			out.samples(d.history.after(out.drawn, minutes))
		}
		if out.flush(d.o.Heartbeat) != nil {
			return // gone, or too slow: it may come back
		}
	}
}

func viewAt(of *url.URL) *view {
	for _, v := range views {
		if of != nil && (v.path == of.Path || v.path == "/{$}" && of.Path == "/") {
			return v
		}
	}
	return nil
}

// render writes the parts that have changed.
func (d *Dashboard) render(out *streamWriter, r *http.Request, v *view) (err error) {
	p := d.newPage(r, v)
	if p.V, err = v.build(d, r, p); err != nil {
		return err
	}
	for _, name := range v.parts {
		var html bytes.Buffer
		if err := d.pages[p.words.code][v.name].ExecuteTemplate(&html, name, p); err != nil {
			return err
		}
		out.part(name, html.Bytes())
	}
	return nil
}

// streamWriter gathers events and writes them in one go.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
	buffer  bytes.Buffer
	sent    map[string]uint64 // hash of each part as it was sent last
	seed    maphash.Seed
	drawn   time.Time // of the last sample sent
	wrote   time.Time
}

func (o *streamWriter) part(name string, html []byte) {
	if hash := maphash.Bytes(o.seed, html); o.sent[name] != hash {
		o.sent[name] = hash
		data, _ := json.Marshal(part{name, string(html)}) // strings only
		fmt.Fprintf(&o.buffer, "event: part\ndata: %s\n\n", data)
	}
}

func (o *streamWriter) samples(samples []Sample) {
	if len(samples) == 0 {
		return
	}
	points := make([][5]float64, len(samples))
	for i, s := range samples {
		points[i] = [5]float64{float64(s.At.UnixMilli()), round3(s.Pages), round3(s.Bytes), round3(s.Errors),
			float64(s.Waiting)}
	}
	o.drawn = samples[len(samples)-1].At
	data, _ := json.Marshal(points) // finite numbers only
	fmt.Fprintf(&o.buffer, "id: %d\nevent: samples\ndata: %s\n\n", o.drawn.UnixMilli(), data)
}

func round3(v float64) float64 { return float64(int64(v*1000+0.5)) / 1000 }

// flush writes what was gathered, or a beat when nothing was written for long.
func (o *streamWriter) flush(beat time.Duration) error {
	if o.buffer.Len() == 0 && time.Since(o.wrote) < beat {
		return nil
	}
	if o.buffer.Len() == 0 {
		o.buffer.WriteString(": beat\n\n")
	}
	defer o.buffer.Reset()
	o.wrote = time.Now()
	if err := o.control.SetWriteDeadline(o.wrote.Add(o.within)); err != nil {
		return err
	}
	if _, err := o.w.Write(o.buffer.Bytes()); err != nil {
		return err
	}
	return o.control.Flush()
}
