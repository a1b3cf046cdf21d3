package master

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"henro/messages/weburl"
)

// API is the HTTP interface behind every control command: JSON in, JSON out, errors as {"error": "…"}.
//
//	GET  /api/status           Status
//	POST /api/pause            Status, after the leases were asked back
//	POST /api/resume           Status
//	POST /api/stop             Status; the crawl ends, its state stays
//	POST /api/seeds            {"seeds": ["http://…", …], "depth": 3}  →  {"added": n}
//	GET  /api/page?url=URL     PageFound
//	GET  /api/host?host=HOST   HostFound
//	GET  /api/backup           a tar archive of the state, as of one moment
//	GET  /healthz              204 while the process lives
func (n *Node) API() http.Handler {
	mux := http.NewServeMux()
	status := func(command any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			answer, err := Ask[*Status](r.Context(), n, command)
			reply(w, answer, err)
		}
	}
	mux.HandleFunc("GET /api/status", status(&StatusAsked{}))
	mux.HandleFunc("POST /api/pause", status(&Pause{}))
	mux.HandleFunc("POST /api/resume", status(&Resume{}))
	mux.HandleFunc("POST /api/stop", status(&Stop{Why: Stopped}))
	mux.HandleFunc("POST /api/seeds", n.postSeeds)
	mux.HandleFunc("GET /api/page", func(w http.ResponseWriter, r *http.Request) {
		found, err := FindPage(n.state, r.FormValue("url"))
		reply(w, found, err)
	})
	mux.HandleFunc("GET /api/host", func(w http.ResponseWriter, r *http.Request) {
		found, err := FindHost(n.state, r.FormValue("host"))
		reply(w, found, err)
	})
	mux.HandleFunc("GET /api/backup", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-tar")
		if _, err := n.state.Backup(w); err != nil {
			panic(http.ErrAbortHandler) // the reader sees that it is not whole
		}
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return mux
}

// SeedsPosted is the body of POST /api/seeds.
type SeedsPosted struct {
	Seeds []string `json:"seeds"`
	Depth int      `json:"depth"`
}

// SeedsAnswer is what POST /api/seeds answers.
type SeedsAnswer struct {
	Added int `json:"added"`
}

// maxSeedBytes bounds one POST of seeds: some 100,000 URLs.
const maxSeedBytes = 8 << 20

func (n *Node) postSeeds(w http.ResponseWriter, r *http.Request) {
	posted := SeedsPosted{Depth: n.o.Depth}
	if err := json.NewDecoder(io.LimitReader(r.Body, maxSeedBytes)).Decode(&posted); err != nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("read the seeds: %w", err))
		return
	}
	var seeds []Seed
	for _, raw := range posted.Seeds {
		u, err := weburl.Parse(raw)
		if err != nil {
			fail(w, http.StatusBadRequest, fmt.Errorf("seed %q: %w", raw, err))
			return
		}
		seeds = append(seeds, Seed{URL: u, Depth: posted.Depth})
	}
	if len(seeds) == 0 {
		fail(w, http.StatusBadRequest, errors.New("no seeds given"))
		return
	}
	answer, err := Ask[*SeedsAdded](r.Context(), n, &AddSeeds{Seeds: seeds})
	if err != nil {
		reply(w, nil, err)
		return
	}
	reply(w, SeedsAnswer{Added: answer.Count}, nil)
}

func reply(w http.ResponseWriter, answer any, err error) {
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the reader is gone: nobody to tell
}

func fail(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
}

// ServeHTTP answers the API on a listener until the context ends.
func (n *Node) ServeHTTP(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: n.API(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() {
		shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(shutdown)
	})
	defer stop()
	if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer HTTP: %w", err)
	}
	return nil
}
