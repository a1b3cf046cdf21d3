package dashboard

import (
	"context"
	"time"

	"henro/actors/console"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/master"
	"henro/master/changefeed"
	"henro/master/lending"
	"henro/master/pictures"
)

// Crawl is what a dashboard shows and steers.
type Crawl interface {
	node

	Status(ctx context.Context) (*master.Status, error)
	// the end of the log of a slave, oldest line first; console.ErrNoNode: no node has the name
	Log(ctx context.Context, slave string) ([]console.Line, error)
	Changes() *changefeed.Latest  // of this crawl and its slaves
	Pictures() *pictures.Album    // likewise
	Actors(limit int) []floor.Row // of this process, the longest mailbox first
	Kinds() []floor.KindRow       // of this process

	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	Stop(ctx context.Context) error
	AddSeeds(ctx context.Context, seeds []reading.Seed) (int, error)
}

// node is what a master's node answers by itself.
type node interface {
	Options() master.Options
	Reading() *reading.Crawl // beside its actors, in short transactions
	Fetches(ctx context.Context, asked master.FetchesAsked) ([]master.Fetch, error)
	FindMissing(prefix string, fn func(*reading.PageMissing) error) (*reading.Wholeness, error)
	Exclude(ctx context.Context, host string, on bool) (*master.HostPosted, error)
	Revisit(ctx context.Context, posted *master.RevisitPosted) (*master.RevisitAnswer, error)
	Drain(ctx context.Context, slave string, on bool) (*lending.SlaveStatus, error)
}

// Of is the crawl of a master; the tracer looks into the mailboxes of its process.
func Of(node *master.Node, tracer *floor.Tracer) Crawl {
	dir, system := node.Options().Dir, node.Traces().System
	return &running{node: node, master: node, tracer: tracer, latest: changefeed.NewLatest(dir, system, node.Slaves),
		album: pictures.New(dir, system, node.Slaves)}
}

type running struct {
	node
	master *master.Node
	tracer *floor.Tracer
	latest *changefeed.Latest
	album  *pictures.Album
}

func (r *running) Changes() *changefeed.Latest { return r.latest }
func (r *running) Pictures() *pictures.Album   { return r.album }

func (r *running) Log(ctx context.Context, slave string) ([]console.Line, error) {
	return r.master.Traces().Log(ctx, slave, logShown)
}

// answerWithin bounds the wait for the master's answer.
const answerWithin = 5 * time.Second

func (r *running) Status(ctx context.Context) (*master.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return master.Ask[*master.Status](ctx, r.master, &master.StatusAsked{})
}

func (r *running) Actors(limit int) []floor.Row {
	if r.tracer == nil {
		return nil
	}
	return r.tracer.Table("", limit)
}

func (r *running) Kinds() []floor.KindRow {
	if r.tracer == nil {
		return nil
	}
	return r.tracer.Kinds()
}

func (r *running) command(ctx context.Context, command any) error {
	_, err := master.Ask[*master.Status](ctx, r.master, command)
	return err
}

func (r *running) Pause(ctx context.Context) error  { return r.command(ctx, &master.Pause{}) }
func (r *running) Resume(ctx context.Context) error { return r.command(ctx, &master.Resume{}) }
func (r *running) Stop(ctx context.Context) error {
	return r.command(ctx, &master.Stop{Why: master.Stopped})
}

func (r *running) AddSeeds(ctx context.Context, seeds []reading.Seed) (int, error) {
	added, err := master.Ask[*master.SeedsAdded](ctx, r.master, &master.AddSeeds{Seeds: seeds})
	if err != nil {
		return 0, err
	}
	return added.Count, nil
}
