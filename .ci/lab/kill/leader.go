package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"henro/.ci/lab/process"
	"henro/.ci/lab/verdict"
	"henro/master"
	"henro/store/consensus"
)

// standby is a master that follows.
type standby struct {
	*process.Process
	api, dir string
}

func (r *round) startStandby(i int) (s standby, err error) {
	var at [4]string
	for j := range at {
		if at[j], err = process.FreePort(); err != nil {
			return s, err
		}
	}
	name := fmt.Sprintf("standby%d", i)
	s.api, s.dir = at[3], r.path(name)
	flags := append(slices.Clone(r.flags), "--dir", s.dir) // the last one counts
	s.Process, err = r.start(name, "henro-master", append([]string{"--standby", "--name", name, "--join", r.gossip,
		"--gossip", at[0], "--actors", at[1], "--masters", at[2], "--listen-http", s.api}, flags...)...)
	return s, err
}

// voters waits until so many masters have a vote and lack little.
func (r *round) voters(api string, want int) error {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		response, err := http.Get("http://" + api + "/api/masters")
		if err != nil {
			continue
		}
		var all []consensus.Member
		err = json.NewDecoder(response.Body).Decode(&all)
		response.Body.Close()
		there := 0
		for _, m := range all {
			if err == nil && m.Voter && m.Lost == "" {
				there++
			}
		}
		if there == want {
			return nil
		}
	}
	return fmt.Errorf("there are no %d masters with a vote", want)
}

// killLeader ends the master that leads; one of two others goes on with the crawl.
func killLeader(r *round) error {
	return loseLeader(r, func(c *cluster) (time.Time, func() error, error) {
		at, err := r.kill(c.master)
		if r.number%2 == 0 {
			return at, nil, err
		}
		return at, func() (err error) {
			r.note("back")
			if r.api, err = process.FreePort(); err == nil {
				c.master, err = r.startMaster()
			}
			return err
		}, err
	})
}

// freezeLeader stops the master that leads for a while, in which another one leads. It follows when it goes on.
func freezeLeader(r *round) error {
	return loseLeader(r, func(c *cluster) (time.Time, func() error, error) {
		at := time.Now()
		return at, func() error {
			time.Sleep(r.between(0, 3*time.Second))
			return r.signal(c.master, syscall.SIGCONT, "woke")
		}, r.signal(c.master, syscall.SIGSTOP, "froze")
	})
}

// loseLeader has three masters lead a crawl, and loses the one that leads. It may come back.
func loseLeader(r *round, lose func(*cluster) (at time.Time, back func() error, err error)) error {
	var err error
	if r.masters, err = process.FreePort(); err != nil {
		return err
	}
	c, err := r.startCluster()
	if err != nil {
		return err
	}
	var all []standby
	for i := range 2 {
		s, err := r.startStandby(i)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	if err := r.voters(r.api, 3); err != nil {
		_ = c.master.Signal(syscall.SIGQUIT) // its goroutines are in its log
		return errors.Join(err, c.master.AwaitEnd(r.ctx, process.Patience))
	}
	if err := c.master.Pause(r.ctx, r.moment()/2); err != nil {
		return err
	}
	at, back, err := lose(c)
	if err != nil {
		return err
	}
	r.crawl.AwaitProgress(r.ctx, at, c.running(), all[0].Running, func(ctx context.Context) (*master.Status, error) {
		for _, s := range all {
			r.api = s.api
			if status, err := r.status(ctx); err == nil && status.State != "" {
				return status, nil
			}
		}
		return nil, errors.New("none leads")
	})
	dirs := []string{filepath.Join(all[0].dir, "state"), filepath.Join(all[1].dir, "state")}
	if back != nil {
		if err := back(); err != nil {
			return err
		}
		dirs = append(dirs, r.path("crawl/state"))
		if err := c.master.Await(r.ctx, crawlMost, 0); err != nil {
			return err
		}
	}
	for _, s := range all {
		if err := s.Await(r.ctx, crawlMost, 0); err != nil {
			return err
		}
	}
	c.master = all[0].Process
	r.state = filepath.Join(all[0].dir, "state")
	if err := verdict.SameStates(dirs...); err != nil {
		return err
	}
	for i, p := range c.slaves {
		if !p.Running() {
			return fmt.Errorf("slave%d has ended", i)
		}
	}
	return process.EndSlaves(r.ctx, c.slaves[:]...)
}
