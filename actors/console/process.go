package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"
)

// Process is what every node answers, whatever its role.
type Process struct {
	Ready func(context.Context) error // why the node cannot do its work, if it cannot
	Tail  *Tail
	// reaches the other nodes that this one answers for; nil: it answers for itself alone
	Traces *Traces
}

// readyWithin bounds the wait for Ready.
const readyWithin = 2 * time.Second

// Routes of a process:
//
//	GET /healthz          204 while the process lives
//	GET /readyz           204 while the node can do its work, 503 and why not otherwise
//	GET /api/log          the last lines of the log; ?after=SEQ; or those of another node, ?node=NAME
//	GET /debug/pprof/…    profiles, for go tool pprof
func (p *Process) Routes() []Route {
	return []Route{
		{Pattern: "GET /healthz", Open: true, Serve: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}},
		{Pattern: "GET /readyz", Open: true, Serve: p.ready},
		{Pattern: "GET /api/log", Serve: p.log},
		{Pattern: "GET /debug/pprof/", AtOnce: profilers, Serve: profiled(pprof.Index)},
		{Pattern: "GET /debug/pprof/cmdline", Serve: pprof.Cmdline},
		{Pattern: "GET /debug/pprof/profile", AtOnce: 1, Serve: profiled(pprof.Profile)},
		{Pattern: "GET /debug/pprof/symbol", Serve: pprof.Symbol},
		{Pattern: "GET /debug/pprof/trace", AtOnce: 1, Serve: profiled(pprof.Trace)},
	}
}

const (
	profilers = 2 // at once
	// profiledFor bounds a profile: it costs the whole node while it lasts.
	profiledFor = 5 * time.Minute
)

// profiled refuses profiles that would last too long.
func profiled(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.ParseFloat(cmp.Or(r.FormValue("seconds"), "0"), 64)
		if err != nil || !(seconds >= 0 && seconds <= profiledFor.Seconds()) {
			Fail(w, http.StatusBadRequest, fmt.Errorf("seconds=%q: want 0 to %v", r.FormValue("seconds"),
				profiledFor.Seconds()))
			return
		}
		serve(w, r)
	}
}

// log answers GET /api/log.
func (p *Process) log(w http.ResponseWriter, r *http.Request) {
	node := r.FormValue("node")
	if node == "" || p.Traces == nil {
		p.Tail.serve(w, r)
		return
	}
	lines, err := p.Traces.Log(r.Context(), node, tailLines)
	switch {
	case errors.Is(err, ErrNoNode):
		Fail(w, http.StatusNotFound, err)
	case err != nil:
		Fail(w, http.StatusServiceUnavailable, err)
	default:
		Reply(w, LogAnswer{Lines: lines})
	}
}

func (p *Process) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
	defer cancel()
	if err := p.Ready(ctx); err != nil {
		Fail(w, http.StatusServiceUnavailable, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
