package browser

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"
)

// Record is what is kept of a rendering, as a resource record of a WARC file.
type Record struct {
	URI, Type string
	Body      []byte
}

// asked is how Browsertrix-crawler writes a request of a page.
type asked struct {
	Status int    `json:"status"`
	Mime   string `json:"mime,omitempty"`
	Type   string `json:"type,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Records are what others read of a rendering of the page at url: urn:view:, urn:thumbnail:, urn:text: and
// urn:pageinfo:, the last as Browsertrix-crawler's recorder writes it, and urn:view-390:, what a phone shows. A page
// without text or pictures has fewer.
func (r *Rendering) Records(url string) []Record {
	var all []Record
	add := func(kind, mime string, body []byte) {
		if len(body) > 0 {
			all = append(all, Record{"urn:" + kind + ":" + url, mime, body})
		}
	}
	add("view", "image/png", r.Screenshot)
	add("view-390", "image/png", r.Narrow)
	add("thumbnail", "image/jpeg", r.Thumbnail)
	add("text", "text/plain", []byte(r.Text))
	at := r.At
	if at.IsZero() {
		at = time.Now()
	}
	state := 2 // the page is loaded; 3: its network came to rest; 4: behaviours are done
	if r.Rested {
		state = 4
	}
	urls, status := map[string]asked{}, 0
	for _, a := range r.Asked {
		one := asked{Status: a.Status, Mime: a.Mime, Type: a.Kind}
		if !a.Answered {
			one.Error = "net::ERR_FAILED"
		}
		if _, twice := urls[a.URL]; !twice || a.Method == "GET" {
			urls[a.URL] = one
		}
		if a.URL == url && a.Answered {
			status = a.Status
		}
	}
	var id [16]byte
	_, _ = rand.Read(id[:])
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	info, err := json.MarshalIndent(map[string]any{
		"pageid": fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]), "urls": urls, "url": url,
		"ts": at.UTC().Format("2006-01-02T15:04:05.000Z"), "tsStatus": status, "title": r.Title, "loadState": state,
		"counts": map[string]int{"jsErrors": r.Errors, "webSockets": r.Tried.Sockets, "eventStreams": r.Tried.Streams,
			"unkeptBodies": r.Tried.Posts, "beacons": r.Tried.Beacons}}, "", "  ")
	if err == nil {
		add("pageinfo", "application/json", info)
	}
	return all
}
