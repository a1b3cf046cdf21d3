package master

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/console"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/master/lending"
	"henro/messages/weburl"
)

// Routes is the table of what a master answers over HTTP, beside what every process does: JSON in, JSON out, errors as
// {"error": "…"}. docs/openapi.yaml describes each.
func (n *Node) Routes() []console.Route {
	return []console.Route{
		{Pattern: "GET /api/status", Serve: n.command(&StatusAsked{})},
		{Pattern: "POST /api/pause", Serve: n.command(&Pause{})}, // answered after the leases were asked back
		{Pattern: "POST /api/resume", Serve: n.command(&Resume{})},
		{Pattern: "POST /api/stop", Serve: n.command(&Stop{Why: Stopped})}, // the crawl ends, its state stays
		{Pattern: "POST /api/seeds", Body: maxSeedBytes, Serve: n.postSeeds},
		{Pattern: "GET /api/slaves", Serve: n.getSlaves},
		{Pattern: "POST /api/slaves/drain", Serve: n.postSlave(func(name string) any {
			return &lending.DrainSlave{Slave: name}
		})},
		{Pattern: "POST /api/slaves/resume", Serve: n.postSlave(func(name string) any {
			return &lending.ResumeSlave{Slave: name}
		})},
		{Pattern: "POST /api/hosts/exclude", Body: maxSeedBytes, Serve: n.postHost(true)},
		{Pattern: "POST /api/hosts/admit", Body: maxSeedBytes, Serve: n.postHost(false)},
		{Pattern: "GET /api/aliases", Serve: n.read(func(c *reading.Crawl, _ *http.Request) (any, error) {
			return c.Aliases()
		})},
		{Pattern: "POST /api/aliases", Body: maxSeedBytes, Serve: n.postAlias},
		{Pattern: "GET /api/url-rules", Serve: n.read(func(c *reading.Crawl, _ *http.Request) (any, error) {
			return c.URLRules()
		})},
		{Pattern: "POST /api/url-rules", Body: maxSeedBytes, Serve: n.postURLRule},
		{Pattern: "POST /api/revisit", Body: maxSeedBytes, Serve: n.postRevisit},
		{Pattern: "POST /api/changed", AtOnce: changedAtOnce, Body: maxSeedBytes, Serve: n.postChanged},
		{Pattern: "GET /api/page", Serve: n.getPage},
		{Pattern: "GET /api/host", Serve: n.read(func(c *reading.Crawl, r *http.Request) (any, error) {
			return c.Host(r.FormValue("host"))
		})},
		{Pattern: "GET /api/why", Serve: n.getWhy},
		{Pattern: "GET /api/missing", AtOnce: 1, Serve: n.getMissing},
		{Pattern: "GET /api/report", Serve: n.getReport},
		{Pattern: "GET /api/fetches", Serve: n.getFetches},
		{Pattern: "GET /api/backup", AtOnce: 2, Serve: n.getBackup},
	}
}

// Ready says why the master cannot lead, if it cannot.
func (n *Node) Ready(ctx context.Context) error {
	status, err := Ask[*Status](ctx, n, &StatusAsked{})
	if err != nil {
		return err
	}
	if !status.Stalled.IsZero() && status.Stalls == nil {
		return errors.New(status.Stalled.String())
	}
	return nil
}

// Traces lets readers look into the mailboxes of this node, of the slaves and of other masters, which answer through
// the cluster: so the master alone needs to reach them.
func (n *Node) Traces() *console.Traces {
	return &console.Traces{System: n.system, Nodes: func(ctx context.Context, node string) ([]*actor.PID, error) {
		status, err := Ask[*Status](ctx, n, &StatusAsked{})
		if err != nil {
			return nil, err
		}
		var pids []*actor.PID
		if node == "" || node == n.o.Name {
			pids = append(pids, floor.TracingAt(n.system.Address()))
		}
		for name, address := range n.o.others() {
			if node == "" || node == name {
				pids = append(pids, floor.TracingAt(address))
			}
		}
		for _, s := range status.Slaves {
			if s.Address != "" && (node == "" || node == s.Name) {
				pids = append(pids, floor.TracingAt(s.Address))
			}
		}
		return pids, nil
	}}
}

// command makes a route of a command that is answered by the status.
func (n *Node) command(command any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, err := Ask[*Status](r.Context(), n, command)
		reply(w, answer, err)
	}
}

// read makes a route of a question to the reading room.
func (n *Node) read(find func(*reading.Crawl, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		found, err := find(n.Reading(), r)
		reply(w, found, err)
	}
}

// getPage answers ?url=URL with PageFound.
func (n *Node) getPage(w http.ResponseWriter, r *http.Request) {
	if _, err := weburl.Parse(r.FormValue("url")); err != nil {
		console.Fail(w, http.StatusBadRequest, fmt.Errorf("url=%q: %w", r.FormValue("url"), err))
		return
	}
	found, err := n.Reading().Page(r.FormValue("url"))
	reply(w, found, err)
}

// getMissing answers with the pages that are not whole, below ?prefix=URL if that is given, each a line of JSON, and
// last with the Wholeness of all. It is written to a file first, so that a slow reader holds nothing of the state.
func (n *Node) getMissing(w http.ResponseWriter, r *http.Request) {
	f, err := os.CreateTemp(n.o.Dir, "missing-*")
	if err != nil {
		reply(w, nil, err)
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	lines := bufio.NewWriter(f)
	encoder := json.NewEncoder(lines)
	whole, err := n.FindMissing(r.FormValue("prefix"), func(p *reading.PageMissing) error {
		return cmp.Or(r.Context().Err(), encoder.Encode(p))
	})
	if err == nil {
		err = cmp.Or(encoder.Encode(whole), lines.Flush())
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		reply(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	_, _ = io.Copy(w, f) // the reader is gone
}

// Fetches are the latest visits, the latest first.
func (n *Node) Fetches(ctx context.Context, asked FetchesAsked) ([]Fetch, error) {
	answer, err := Ask[*FetchesReported](ctx, n, &asked)
	if err != nil {
		return nil, err
	}
	return answer.Fetches, nil
}

// getFetches answers with FetchesReported, at most ?most=N of those kept, or with ?failed=true of those that failed.
func (n *Node) getFetches(w http.ResponseWriter, r *http.Request) {
	most, err := strconv.Atoi(cmp.Or(r.FormValue("most"), strconv.Itoa(latestFetches)))
	if err != nil || most < 0 {
		console.Fail(w, http.StatusBadRequest, fmt.Errorf("most=%q: want a number", r.FormValue("most")))
		return
	}
	fetches, err := n.Fetches(r.Context(), FetchesAsked{Most: most, Failed: r.FormValue("failed") == "true"})
	reply(w, FetchesReported{fetches}, err)
}

// backupPace is the least that a reader of a backup takes a second. As long as it lasts, the state keeps the pages of
// that moment, and grows by what is written meanwhile; a reader over a slower line copies it on the master's machine.
const backupPace = 1 << 20

// getBackup sends the state as of one moment as a tar archive.
func (n *Node) getBackup(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-tar")
	if _, err := n.state.Backup(console.Paced(w, backupPace)); err != nil {
		panic(http.ErrAbortHandler) // the reader sees that it is not whole
	}
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
	if !read(w, r, "the seeds", &posted) {
		return
	}
	var seeds []reading.Seed
	for _, raw := range posted.Seeds {
		u, err := weburl.Parse(raw)
		if err != nil {
			console.Fail(w, http.StatusBadRequest, fmt.Errorf("seed %q: %w", raw, err))
			return
		}
		seeds = append(seeds, reading.Seed{URL: u, Depth: posted.Depth})
	}
	if len(seeds) == 0 {
		console.Fail(w, http.StatusBadRequest, errors.New("no seeds given"))
		return
	}
	err := admitHosts(r.Context(), n.state, n.settings(), seeds)
	if err != nil {
		reply(w, nil, err)
		return
	}
	answer, err := Ask[*SeedsAdded](r.Context(), n, &AddSeeds{Seeds: seeds})
	if err != nil {
		reply(w, nil, err)
		return
	}
	reply(w, SeedsAnswer{Added: answer.Count}, nil)
}
