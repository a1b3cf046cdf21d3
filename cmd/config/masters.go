package config

import (
	"context"
	"net/http"

	"henro/actors/console"
	"henro/store/consensus"
)

// GroupOfMasters is what the routes of masters need of a consensus.Group.
type GroupOfMasters interface {
	Members(ctx context.Context) ([]consensus.Member, error)
	Move(name string) error
	Remove(name string) error
}

// MasterRoutes is the table of what a master answers of all masters of its crawl:
//
//	GET  /api/masters                     all of them
//	POST /api/masters/move?master=NAME    has another one lead
//	POST /api/masters/remove?master=NAME  takes one out of the group
func MasterRoutes(g GroupOfMasters) []console.Route {
	list := func(w http.ResponseWriter, r *http.Request, err error) {
		var all []consensus.Member
		if err == nil {
			all, err = g.Members(context.WithoutCancel(r.Context())) // the end of a lead ends requests
		}
		if err != nil {
			console.Fail(w, http.StatusConflict, err)
			return
		}
		console.Reply(w, all)
	}
	order := func(do func(name string) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { list(w, r, do(r.FormValue("master"))) }
	}
	return []console.Route{
		{Pattern: "GET /api/masters", Serve: func(w http.ResponseWriter, r *http.Request) { list(w, r, nil) }},
		{Pattern: "POST /api/masters/move", Serve: order(g.Move)},
		{Pattern: "POST /api/masters/remove", Serve: order(g.Remove)},
	}
}
