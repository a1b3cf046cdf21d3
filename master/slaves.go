package master

import (
	"fmt"
	"net/http"

	"henro/actors/console"
	"henro/master/lending"
)

// getSlaves answers GET /api/slaves.
func (n *Node) getSlaves(w http.ResponseWriter, r *http.Request) {
	status, err := Ask[*Status](r.Context(), n, &StatusAsked{})
	if err != nil {
		reply(w, nil, err)
		return
	}
	reply(w, status.Slaves, nil)
}

// postSlave answers POST /api/slaves/drain and /api/slaves/resume with how the slave stands.
func (n *Node) postSlave(order func(name string) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.FormValue("slave")
		answer, err := Ask[*lending.SlaveAnswered](r.Context(), n, order(name))
		switch {
		case err != nil:
			reply(w, nil, err)
		case answer.Slave == nil:
			console.Fail(w, http.StatusNotFound, fmt.Errorf("no slave %q was ever here; henro slaves lists them", name))
		default:
			reply(w, answer.Slave, nil)
		}
	}
}
