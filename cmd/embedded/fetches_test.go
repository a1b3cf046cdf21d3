package embedded_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/actors/console"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

// fetchLines reads logs/fetch.jsonl.
func fetchLines(t *testing.T, dir string) (lines []master.Fetch) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "logs", "fetch.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(data) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		var line master.Fetch
		if err := decoder.Decode(&line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		lines = append(lines, line)
	}
	return lines
}

var startAndDuration = regexp.MustCompile(`^20\d{15}\+\d+$`)

// Every request that a web received is a line of the fetch log, with what the web knows of it, and a visit that sent
// none has a line with the reason.
func TestEveryFetchIsALineOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const asked = 20
		var latest []master.Fetch
		web, dir, status := crawltest.Bubble(t, fakeweb.Options{Seed: 5, Hosts: 5, Domains: 5, Pages: 30, Degree: 6,
			CrossShare:    0.2,
			RedirectShare: 0.1, Errors: fakeweb.Errors{NotFound: 0.1, Internal: 0.05},
			Robots: fakeweb.Robots{Folders: 0.5},
			Shape: func(h *fakeweb.Host) {
				if h.Index == 3 {
					h.State = fakeweb.Dead
				}
			}}, -1, nil, func(ctx context.Context, node *master.Node, _ *fakeweb.Web) {
			actortest.Pass(2 * time.Minute)
			handler := console.New(console.Options{}, node.Routes())
			for path, want := range map[string]int{"?most=20": asked, "?failed=true": -1, "?most=some": -1} {
				r := httptest.NewRequest("GET", "/api/fetches"+path, nil)
				r.Host = "localhost"
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				var answer master.FetchesReported
				if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
					t.Error(err)
				}
				if want >= 0 {
					if latest = answer.Fetches; len(latest) != want {
						t.Errorf("%s: %d fetches", path, len(latest))
					}
				}
				for _, f := range answer.Fetches {
					if strings.HasPrefix(path, "?failed") && f.Cause.IsZero() {
						t.Errorf("%+v has not failed", f)
					}
				}
			}
		})
		if status.End != master.Finished {
			t.Fatalf("ended with %q", status.End)
		}
		lines := fetchLines(t, dir)
		byURL := map[string][]master.Fetch{}
		for _, line := range lines {
			byURL[line.URL] = append(byURL[line.URL], line)
			if line.Slave != "local" || !strings.HasPrefix(line.URL, line.Host+"/") ||
				line.Start != "" && !startAndDuration.MatchString(line.Start) {
				t.Errorf("%+v", line)
			}
			if _, err := time.Parse("2006-01-02T15:04:05.000Z", line.Timestamp); err != nil {
				t.Error(err)
			}
		}
		hops := map[string]int{}
		for _, entry := range web.Log() {
			known := byURL[entry.URL()]
			if len(known) != 1 {
				t.Errorf("%s was asked for, and has %d lines", entry.URL(), len(known))
				continue
			}
			line := known[0]
			named := line.Cause.Word == fmt.Sprintf("HTTP %d", line.Status)
			if line.Status != entry.Status || line.Status >= 400 != named {
				t.Errorf("%+v, and the web answered with %d", line, entry.Status)
			}
			if start := entry.Start.UTC().Format("20060102150405"); !strings.HasPrefix(line.Start, start) {
				t.Errorf("%s began at %s, the web says %s", line.URL, line.Start, start)
			}
			if line.Status == 200 && line.Hops != "P" && (line.File == "" || len(line.Digest) != 37 || line.Size == 0) {
				t.Errorf("%+v is archived", line)
			}
			hops[line.Hops]++
			delete(byURL, entry.URL())
		}
		for _, path := range []string{"", "P", "L", "LL"} {
			if hops[path] == 0 {
				t.Errorf("no line has the hop path %q: %v", path, hops)
			}
		}
		reasons := map[string]int{}
		for _, known := range byURL {
			for _, line := range known {
				if line.Status >= 0 || line.Cause.IsZero() {
					t.Errorf("%+v was never asked for", line)
				}
				reasons[line.Cause.Word]++
			}
		}
		if reasons["ROBOTS_DENIED"] == 0 || len(reasons) < 2 {
			t.Errorf("visits without a request: %v", reasons)
		}
		newestFirst := func(a, b master.Fetch) int { return strings.Compare(b.Timestamp, a.Timestamp) }
		if !slices.IsSortedFunc(latest, newestFirst) {
			t.Error("the latest fetches are not in the order of time")
		}
	})
}
