package config

import (
	"context"

	"golang.org/x/sync/errgroup"

	"henro/actors/console"
	"henro/master"
	"henro/master/dashboard"
)

// Lead serves the API and the dashboard of a master, until the context ends.
func (e *Endpoint) Lead(ctx context.Context, node *master.Node, telemetry *Telemetry, tables ...[]console.Route) error {
	if e == nil {
		<-ctx.Done()
		return nil
	}
	board, err := dashboard.New(dashboard.DefaultOptions(), dashboard.Of(node, telemetry.Tracer), telemetry.Tail)
	if err != nil {
		return err
	}
	defer telemetry.Metrics.Read(node.Figures)()
	group, ctx := errgroup.WithContext(ctx)
	telemetry.Go(group, "the dashboard", func() error { return board.Run(ctx, telemetry.Go) })
	telemetry.Go(group, "HTTP", func() error {
		return e.Serve(ctx, console.Process{Ready: node.Ready, Tail: telemetry.Tail, Traces: node.Traces()},
			append(tables, node.Routes(), node.Traces().Routes(), telemetry.Routes(), board.Routes())...)
	})
	return group.Wait()
}
