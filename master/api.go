package master

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/console"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/master/changefeed"
	"henro/master/lending"
	"henro/messages/weburl"
)

// Routes is the table of what a master answers over HTTP, beside what every process answers: JSON in, JSON out, errors
// as {"error": "…"}. docs/openapi.yaml describes each.
func (n *Node) Routes() []console.Route {
	command := func(command any) http.HandlerFunc { // the answer is the status
		return get(func(r *http.Request) (any, error) { return Ask[*Status](r.Context(), n, command) })
	}
	drain := func(on bool) http.HandlerFunc { // the answer is how the slave stands
		return get(func(r *http.Request) (any, error) { return n.Drain(r.Context(), r.FormValue("slave"), on) })
	}
	exclude := func(on bool) http.HandlerFunc {
		return post("the host", func(ctx context.Context, p *HostPosted) (*HostPosted, error) {
			return n.Exclude(ctx, p.Host, on)
		})
	}
	return []console.Route{
		{Pattern: "GET /api/status", Serve: command(&StatusAsked{})},
		{Pattern: "POST /api/pause", Serve: command(&Pause{})}, // answered when the leases are asked back, not yet back
		{Pattern: "POST /api/resume", Serve: command(&Resume{})},
		{Pattern: "POST /api/stop", Serve: command(&Stop{Why: Stopped})}, // the crawl ends, its state stays
		{Pattern: "POST /api/seeds", Body: maxSeedBytes, Serve: n.postSeeds},
		{Pattern: "GET /api/slaves", Serve: get(func(r *http.Request) (any, error) { return n.Slaves(r.Context()) })},
		{Pattern: "POST /api/slaves/drain", Serve: drain(true)},
		{Pattern: "POST /api/slaves/resume", Serve: drain(false)},
		{Pattern: "POST /api/hosts/exclude", Body: maxSeedBytes, Serve: exclude(true)},
		{Pattern: "POST /api/hosts/admit", Body: maxSeedBytes, Serve: exclude(false)},
		{Pattern: "GET /api/aliases", Serve: get(func(*http.Request) (any, error) { return n.Reading().Aliases() })},
		{Pattern: "POST /api/aliases", Body: maxSeedBytes, Serve: post("the hosts", n.OrderAlias)},
		{Pattern: "GET /api/url-rules", Serve: get(func(*http.Request) (any, error) { return n.Reading().URLRules() })},
		{Pattern: "POST /api/url-rules", Body: maxSeedBytes, Serve: post("the rule", n.OrderURLRule)},
		{Pattern: "POST /api/revisit", Body: maxSeedBytes, Serve: post("the order", n.Revisit)},
		{Pattern: "POST /api/changed", AtOnce: changedAtOnce, Body: maxSeedBytes, Serve: n.postChanged},
		{Pattern: "GET /api/page", Serve: get(func(r *http.Request) (any, error) {
			if _, err := weburl.Parse(r.FormValue("url")); err != nil {
				return nil, wrong("url=%q: %w", r.FormValue("url"), err)
			}
			return n.Reading().Page(r.FormValue("url"))
		})},
		{Pattern: "GET /api/host", Serve: get(func(r *http.Request) (any, error) {
			return n.Reading().Host(r.FormValue("host"))
		})},
		{Pattern: "GET /api/why", Serve: get(func(r *http.Request) (any, error) {
			return n.FindWhy(r.Context(), r.FormValue("of"))
		})},
		{Pattern: "GET /api/missing", AtOnce: 1, Serve: n.getMissing},
		{Pattern: "GET /api/report", AtOnce: 1, Serve: get(func(r *http.Request) (any, error) {
			return n.Reading().Report(r.Context(), time.Now())
		})},
		{Pattern: "GET /api/fetches", Serve: get(n.getFetches)},
		{Pattern: "GET /api/changes", AtOnce: changefeed.AtOnce, Serve: changefeed.Serve(n.o.Dir, n.system, n.Slaves)},
		{Pattern: "GET /api/backup", AtOnce: 2, Serve: n.getBackup},
	}
}

// Slaves are those that are there.
func (n *Node) Slaves(ctx context.Context) ([]lending.SlaveStatus, error) {
	status, err := Ask[*Status](ctx, n, &StatusAsked{})
	if err != nil {
		return nil, err
	}
	return status.Slaves, nil
}

// Ready says why the master cannot do its work: it does not answer, or nothing can be stored. nil: it can.
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

// Traces lets readers look into the mailboxes of this node, of the slaves and of other masters. These answer through
// the cluster, so the reader need not reach them.
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
	_, _ = io.Copy(w, f) // an error means that the reader is gone
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
func (n *Node) getFetches(r *http.Request) (any, error) {
	most, err := strconv.Atoi(cmp.Or(r.FormValue("most"), strconv.Itoa(latestFetches)))
	if err != nil || most < 0 {
		return nil, wrong("most=%q: want a number", r.FormValue("most"))
	}
	fetches, err := n.Fetches(r.Context(), FetchesAsked{Most: most, Failed: r.FormValue("failed") == "true"})
	return FetchesReported{fetches}, err
}

// backupPace is how many bytes a second the reader of a backup must take at least. While it lasts the state cannot use
// the pages of that moment again, and grows by what is written. Over a slower line, back up on the master's machine and
// copy that.
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
			reply(w, nil, wrong("seed %q: %w", raw, err))
			return
		}
		seeds = append(seeds, reading.Seed{URL: u, Depth: posted.Depth})
	}
	if len(seeds) == 0 {
		reply(w, nil, wrong("no seeds given"))
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
