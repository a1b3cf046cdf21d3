package config

import (
	"context"

	"golang.org/x/sync/errgroup"

	"henro/actors/console"
	"henro/master"
	"henro/master/dashboard"
)

// Lead serves what a master answers, with its dashboard, until the context ends. Sight is that of its process.
func (d *Door) Lead(ctx context.Context, node *master.Node, sight *Sight, tables ...[]console.Route) error {
	if d == nil {
		<-ctx.Done()
		return nil
	}
	board, err := dashboard.New(dashboard.DefaultOptions(), dashboard.Of(node, sight.Tracer), d.Tail)
	if err != nil {
		return err
	}
	sight.Metrics.Register(node.Collector())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return board.Run(ctx) })
	group.Go(func() error {
		return d.Serve(ctx, console.Process{Ready: node.Ready},
			append(tables, node.Routes(), node.Traces().Routes(), sight.Routes(), board.Routes())...)
	})
	return group.Wait()
}
