package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/console"
	"henro/cmd/config"
	"henro/master"
	"henro/messages/visible"
)

// control speaks to the HTTP interface of a running master: of the crawl in a directory of this machine, or of one that
// runs elsewhere.
type control struct{ dir, address, tokenFile string }

// register adds the flags of commands that ask it.
func (c *control) register(commands ...*cobra.Command) {
	for _, cmd := range commands {
		f := cmd.Flags()
		if f.Lookup("dir") == nil {
			f.StringVar(&c.dir, "dir", defaultCrawl, "`DIR` of the crawl")
		}
		f.StringVar(&c.address, "master", "",
			"`HOST:PORT` of a crawl that runs on another machine: its --listen-http")
		f.StringVar(&c.tokenFile, "token-file", "", "`FILE` with the token, if the crawl was given one")
	}
}

// find reads the address of the crawl from its directory, unless it was given.
func (c *control) find() error {
	if c.address != "" {
		return nil
	}
	if c.address = config.NotedAddress(c.dir); c.address == "" {
		return config.Usage("no crawl runs in %s: give its directory as --dir, or its --listen-http as --master "+
			"if it runs on another machine", c.dir)
	}
	return nil
}

// ask sends a request and reads the answer into out.
func (c *control) ask(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	answer, err := c.open(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer answer.Close()
	if err := json.NewDecoder(answer).Decode(out); err != nil {
		return fmt.Errorf("read the answer of the master at %s: %w", c.address, err)
	}
	return nil
}

// open sends a request and returns the body of the answer, to be closed.
func (c *control) open(ctx context.Context, method, path string, in any) (io.ReadCloser, error) {
	token, err := config.ReadToken(c.tokenFile)
	if err := errors.Join(err, c.find()); err != nil {
		return nil, err
	}
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("ask %s: %w", path, err)
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+c.address+path, body)
	if err != nil {
		return nil, config.Usage("--master %q: want HOST:PORT", c.address)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := direct.Do(request)
	if err != nil {
		var refused *net.OpError
		if errors.As(err, &refused) {
			return nil, fmt.Errorf("no crawl answers at %s: is it running?", c.address)
		}
		return nil, fmt.Errorf("ask the master at %s: %w", c.address, err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	var problem console.Problem
	if err := json.NewDecoder(response.Body).Decode(&problem); err != nil || problem.Error == "" {
		problem.Error = response.Status
	}
	if response.StatusCode == http.StatusUnauthorized {
		return nil, config.Usage("the master at %s wants its token: give --token-file with the file that it was given",
			c.address)
	}
	return nil, fmt.Errorf("the master at %s: %s", c.address, problem.Error)
}

// direct uses no proxy, whatever the environment says, since masters are near, and follows no redirect.
var direct = &http.Client{Transport: &http.Transport{},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// statusCommand makes a verb that the running crawl answers with its status.
func statusCommand(c *control, verb, short, method, path string) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb, Short: short, Args: cobra.NoArgs,
		Example: "  henro " + verb + "\n  henro " + verb + " --dir crawl --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var status master.Status
			if err := c.ask(cmd.Context(), method, path, nil, &status); err != nil {
				return err
			}
			return shown(cmd, &status, printStatus)
		},
	}
	c.register(cmd)
	cmd.Flags().Bool("json", false, "the whole answer as JSON")
	return cmd
}

func newStatusCommand() *cobra.Command {
	var c control
	var every time.Duration
	cmd := statusCommand(&c, "status", "Say how the crawl goes", http.MethodGet, "/api/status")
	cmd.Long = `Say how a running crawl goes: its pace, what waits, what went wrong, its slaves, and why nothing is
fetched if nothing is. With --watch it is asked again and again, until it ends or you interrupt: a terminal shows
the latest answer, anything else gets a line for each.`
	cmd.Example += "\n  henro status --watch 1s\n  henro status --watch 10s >> crawl.txt"
	once := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, arguments []string) error {
		switch {
		case every < 0:
			return config.Usage("--watch %v: want a span such as 2s", every)
		case every == 0:
			return once(cmd, arguments)
		}
		return c.watch(cmd.Context(), cmd.OutOrStdout(), every)
	}
	cmd.Flags().DurationVar(&every, "watch", 0, "how often the crawl is asked; 0 is once")
	return cmd
}

// newOrderCommand makes a verb that orders something of a running crawl, and prints its status then.
func newOrderCommand(verb, does string) *cobra.Command {
	return statusCommand(new(control), verb, does, http.MethodPost, "/api/"+verb)
}

func newSeedsCommand() *cobra.Command {
	var c control
	seeds := &cobra.Command{Use: "seeds", Short: "Add seeds to a running crawl",
		Example: "  henro seeds add https://example.org/"}
	var crawl config.Crawl
	add := &cobra.Command{
		Use: "add SEED…", Short: "Add seeds to a running crawl",
		Example: "  henro seeds add --depth 2 https://example.org/",
		RunE: func(cmd *cobra.Command, arguments []string) error {
			parsed, err := crawl.Seeds(arguments, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if len(parsed) == 0 {
				return config.Usage("no seeds: give URLs or --seeds FILE")
			}
			byDepth := map[int][]string{}
			for _, seed := range parsed {
				byDepth[seed.Depth] = append(byDepth[seed.Depth], seed.URL.String())
			}
			added := 0
			for depth, urls := range byDepth {
				var answer master.SeedsAnswer
				if err := c.ask(cmd.Context(), http.MethodPost, "/api/seeds",
					master.SeedsPosted{Seeds: urls, Depth: depth}, &answer); err != nil {
					return err
				}
				added += answer.Added
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d seeds added\n", added)
			return nil
		},
	}
	add.Flags().IntVar(&crawl.Depth, "depth", master.DefaultOptions().Depth,
		"links followed from these seeds; -1 is without limit")
	add.Flags().StringVar(&crawl.SeedFile, "seeds", "", "seeds, one URL a line; - is standard input (`FILE`)")
	c.register(add)
	seeds.AddCommand(takesCrawl(add, anyNumber))
	return seeds
}

func printStatus(w io.Writer, s *master.Status) error {
	fmt.Fprintf(w, "%s: %s", s.Dir, strings.Join(s.Seeds, " "))
	if more := s.SeedCount - len(s.Seeds); more > 0 {
		fmt.Fprintf(w, " and %d more seeds", more)
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "%s%s\n", s.State, map[bool]string{true: ": " + string(s.End)}[s.End != ""])
	if !s.Opens.IsZero() {
		fmt.Fprintf(w, "window    opens %s\n", moment(s.Opens))
	}
	fmt.Fprintf(w, "pages     %d and %d requisites (%d revisits), %.1f/s over %s\n", s.Totals.Pages,
		s.Totals.Requisites, s.Totals.Revisits, s.PerSecond,
		time.Duration(s.Seconds*float64(time.Second)).Round(time.Second))
	if r := s.Round; r != nil {
		fmt.Fprintf(w, "round     %d, begun %s: %d new, %d changed, %d unchanged, %d failed\n", r.Number,
			moment(r.Begun), r.New, r.Changed, r.Unchanged, r.Gone)
	}
	fmt.Fprintf(w, "waiting   %d of %d known URLs\n", s.Waiting, s.Known)
	fmt.Fprintf(w, "hosts     %d, %d ready, %d lent; %d connections, %.0f %% in use of late\n", s.Hosts, s.Ready,
		s.Leases, s.Connections, 100*s.Busy)
	if f := s.Forecast; f != nil {
		fmt.Fprintf(w, "end       %s\n", f.Says())
		if !f.Bound.IsZero() {
			fmt.Fprintf(w, "bound     %s\n", f.Bound)
		}
	}
	fmt.Fprintf(w, "links     %d, payload %s\n", s.Totals.Links, sizeWords(s.Totals.Bytes))
	if words := wholeWords(s.Whole); words != "" {
		fmt.Fprintln(w, "whole    ", words)
	}
	if words := identicalWords(&s.Totals); words != "" {
		fmt.Fprintln(w, "stored once", words)
	}
	if !s.Stalled.IsZero() {
		fmt.Fprintf(w, "stalled   %s\n", s.Stalled)
	}
	for _, slave := range s.Slaves {
		why := ""
		if slave.Why != "" {
			why = "; " + visible.Line(slave.Why)
		}
		fmt.Fprintf(w, "slave     %s %s: %d hosts, %d of %d connections in use, last seen %s ago%s\n", slave.Name,
			slave.Address, slave.Leases, slave.UnderWay, slave.Connections, slave.Silent, why)
	}
	printErrors(w, s)
	if skipped := skipWords(&s.Totals); skipped != "" {
		fmt.Fprintln(w, "skipped ", skipped)
	}
	return nil
}
