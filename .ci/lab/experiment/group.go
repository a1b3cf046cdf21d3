package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"henro/store"
	"henro/store/consensus"
)

// group is masters that share one state, over TCP of loopback. The first leads; the others keep copies.
type group struct {
	all  []*consensus.Group
	lead *consensus.Leadership
}

// unite founds a group beside a state, and returns when all have what the first has.
func unite(ctx context.Context, dir string, count int, o store.Options) (g *group, err error) {
	g = &group{}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	var others []consensus.Member
	for i := range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return g, err
		}
		c := consensus.DefaultOptions()
		c.State, c.Store = filepath.Join(dir, fmt.Sprintf("copy%d", i), "state"), o
		c.Name, c.Address, c.Found = fmt.Sprintf("master%d", i), l.Addr().String(), i == 0
		c.Timeout = 30 * time.Second // the machine is busy, and nobody dies
		if i == 0 {
			c.State, c.Timeout = filepath.Join(dir, "master", "state"), 10*time.Second
		}
		member, err := consensus.Start(l, consensus.Security{}, c)
		if err != nil {
			return g, err
		}
		if g.all = append(g.all, member); i > 0 {
			others = append(others, consensus.Member{Name: c.Name, Address: c.Address})
		}
	}
	for {
		if g.lead == nil {
			g.lead, _ = g.all[0].Lead() // until it is elected
		} else if there, err := g.tend(ctx, others); err != nil || there {
			return g, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return g, ctx.Err()
		}
	}
}

// tend adds the others, and reports whether all are there and as many of them as may vote do: an odd number.
func (g *group) tend(ctx context.Context, others []consensus.Member) (there bool, err error) {
	_ = g.lead.Tend(ctx, others) // what it could not do yet it does the next time
	all, err := g.lead.Members(ctx)
	voters, reached := 0, 0
	for _, m := range all {
		if m.Lost == "" {
			reached++
		}
		if m.Voter {
			voters++
		}
	}
	return reached == len(g.all) && voters == (len(g.all)-1)|1, err
}

func (g *group) close() (err error) {
	if g.lead != nil {
		g.lead.End()
	}
	for _, member := range g.all {
		err = errors.Join(err, member.Close())
	}
	return err
}
