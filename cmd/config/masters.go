package config

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"time"

	"henro/actors/console"
	"henro/store/consensus"
)

// GroupOfMasters is what the routes of masters need of a consensus.Group.
type GroupOfMasters interface {
	Members(ctx context.Context) ([]consensus.Member, error)
	Move(name string) error
	Remove(name string) error
}

// GroupFollowed is what a master that follows needs of it, too.
type GroupFollowed interface {
	GroupOfMasters
	DialLeader(ctx context.Context) (net.Conn, error)
	Status() consensus.Status
}

// MasterRoutes is the table of what a master answers of all masters of its crawl:
//
//	GET  /api/masters                     all of them
//	POST /api/masters/move?master=NAME    has another one lead
//	POST /api/masters/remove?master=NAME  takes one out of the group
func MasterRoutes(g GroupOfMasters) []console.Route {
	list := func(w http.ResponseWriter, r *http.Request, patience time.Duration, err error) {
		var all []consensus.Member
		looking := time.NewTicker(untilLed / 20)
		defer looking.Stop()
		for end := time.Now().Add(patience); err == nil; <-looking.C {
			all, err = g.Members(context.WithoutCancel(r.Context())) // the end of a lead ends requests
			if !time.Now().Before(end) || slices.ContainsFunc(all, func(m consensus.Member) bool { return m.Leads }) {
				break
			}
		}
		if err != nil {
			console.Fail(w, http.StatusConflict, err)
			return
		}
		console.Reply(w, all)
	}
	order := func(do func(name string) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { list(w, r, untilLed, do(r.FormValue("master"))) }
	}
	return []console.Route{
		{Pattern: "GET /api/masters", Serve: func(w http.ResponseWriter, r *http.Request) { list(w, r, 0, nil) }},
		{Pattern: "POST /api/masters/move", Serve: order(g.Move)},
		{Pattern: "POST /api/masters/remove", Serve: order(g.Remove)},
	}
}

// untilLed is how long the answer to an order waits for a master that leads: one to which the lead was moved needs a
// moment.
const untilLed = time.Second

// passedBody bounds a request that is passed on: as much as any route of the master that leads takes.
const passedBody = 8 << 20

// FollowerRoutes is the table of what a master that follows answers beside what every process does: all else is passed
// on to the one that leads, through the port of the consensus, since its HTTP may be bound to loopback. While nobody
// leads it lists the masters itself.
func FollowerRoutes(g GroupFollowed) []console.Route {
	proxy := &httputil.ReverseProxy{
		// the header Host stays: by it the other master sees whether a page of another site asks
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "leader" },
		// a connection each: one that is kept may lead to a master that was deposed
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return g.DialLeader(ctx) }},
		FlushInterval: -1, // events
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			switch {
			case errors.Is(err, consensus.ErrLeadLost):
				err = consensus.ErrLeadLost // without the name of what read it in net/http, if that was first to know
			case !errors.Is(err, consensus.ErrNoLeader):
				err = fmt.Errorf("the master that leads, %s, does not answer (it may have just been elected, or its "+
					"--listen-http is off): %w", g.Status().Leader, err)
			}
			w.Header().Set("Retry-After", "2")
			console.Fail(w, http.StatusServiceUnavailable, err)
		},
	}
	list := MasterRoutes(g)[0].Serve
	return []console.Route{
		{Pattern: "GET /api/masters", Serve: func(w http.ResponseWriter, r *http.Request) {
			if g.Status().Leader == "" {
				list(w, r)
				return
			}
			proxy.ServeHTTP(w, r)
		}},
		// which of them other sites may link to is judged by the master that leads
		{Pattern: "/", Linked: true, Body: passedBody, Serve: func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost { // an order: one by which this master leads ends what it does until then
				r = r.WithContext(context.WithoutCancel(r.Context()))
			}
			proxy.ServeHTTP(w, r)
		}},
	}
}
