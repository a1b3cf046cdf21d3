// Package indexnow reads the pings of the IndexNow protocol (https://www.indexnow.org/documentation): a host reports
// which of its pages have changed, are new or are gone.
//
// A ping comes from anybody. It says nothing that counts until the file of its key was read on the host itself, which
// is the Host's business; here its form is checked, and how often hosts and senders may ping.
//
// Invariants: a ping names URLs of one host, below the folder of its key; all tables have a bound.
package indexnow

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"henro/messages/weburl"
	"henro/store/fingerprint"
)

// Bounds of a ping, by the protocol but for the last: 10,000 URLs of 400 bytes.
const (
	maxURLs  = 10_000
	MaxBytes = 4 << 20
)

// Refusal is an error with the status that the protocol has for it.
type Refusal struct {
	Status int
	error
}

func refuse(status int, format string, values ...any) error {
	return &Refusal{status, fmt.Errorf(format, values...)}
}

// Unwrap returns what was wrong.
func (r *Refusal) Unwrap() error { return r.error }

// Ping is what was sent about one host, "scheme://name[:port]".
type Ping struct {
	Host   string
	Key    uint64 // as fingerprint.Key has it
	KeyURL string // on the host
	URLs   []string
}

// posted is the body of a POST.
type posted struct {
	Host        string   `json:"host"`
	Key         string   `json:"key"`
	KeyLocation string   `json:"keyLocation"`
	URLs        []string `json:"urlList"`
}

// Read reads a request. URLs of http and of https are pings of two hosts, each of which proves the key for itself. The
// error is a Refusal.
func Read(r *http.Request) ([]*Ping, error) {
	p, err := read(r)
	if err != nil {
		return nil, err
	}
	key, ok := fingerprint.Key([]byte(p.Key))
	if !ok || strings.TrimSpace(p.Key) != p.Key {
		return nil, refuse(http.StatusUnprocessableEntity, "key: want 8 to 128 letters, digits and dashes")
	}
	if len(p.URLs) == 0 || len(p.URLs) > maxURLs {
		return nil, refuse(http.StatusUnprocessableEntity, "%d URLs: want 1 to %d", len(p.URLs), maxURLs)
	}
	name := "" // of the host, without a port
	if p.Host != "" {
		if u, err := weburl.Parse("http://" + p.Host + "/"); err == nil {
			name = weburl.HostName(u.Host())
		}
	}
	path := "/" + p.Key + ".txt"
	if p.KeyLocation != "" {
		u, err := weburl.Parse(p.KeyLocation)
		if err != nil || name != "" && weburl.HostName(u.Host()) != name {
			return nil, refuse(http.StatusUnprocessableEntity, "keyLocation: want a URL of the host")
		}
		name, path = weburl.HostName(u.Host()), u.RequestURI()
	}
	folder := path[:strings.LastIndexByte(pathOf(path), '/')+1]
	var pings []*Ping
	of := map[string]*Ping{}
	for _, text := range p.URLs {
		u, err := weburl.Parse(text)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "%.100q is no URL", text)
		}
		if name == "" {
			name = weburl.HostName(u.Host()) // of a GET, which has one URL
		}
		if weburl.HostName(u.Host()) != name || !strings.HasPrefix(u.RequestURI(), folder) {
			return nil, refuse(http.StatusUnprocessableEntity,
				"%.100q is not of the host, or not below the folder of its key, %.100q", text, folder)
		}
		ping := of[u.Host()]
		if ping == nil {
			ping = &Ping{Host: u.Host(), Key: key, KeyURL: u.Host() + path}
			of[u.Host()] = ping
			pings = append(pings, ping)
		}
		ping.URLs = append(ping.URLs, u.String())
	}
	if len(pings) > 2 {
		return nil, refuse(http.StatusUnprocessableEntity, "URLs of %d ports: want one host", len(pings))
	}
	return pings, nil
}

func pathOf(target string) string {
	path, _, _ := strings.Cut(target, "?")
	return path
}

// read reads the query of a GET, or the body of a POST.
func read(r *http.Request) (*posted, error) {
	if r.Method != http.MethodPost {
		q := r.URL.Query()
		return &posted{Key: q.Get("key"), KeyLocation: q.Get("keyLocation"), URLs: q["url"]}, nil
	}
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" {
		return nil, refuse(http.StatusBadRequest, "Content-Type: want application/json")
	}
	var p posted
	body := json.NewDecoder(r.Body)
	var tooLarge *http.MaxBytesError
	switch err := body.Decode(&p); {
	case errors.As(err, &tooLarge):
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", MaxBytes)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "the body is no JSON of IndexNow: %w", err)
	}
	if _, err := body.Token(); err != io.EOF {
		return nil, refuse(http.StatusBadRequest, "want one JSON object")
	}
	if p.Host == "" {
		return nil, refuse(http.StatusBadRequest, "host is missing")
	}
	return &p, nil
}
