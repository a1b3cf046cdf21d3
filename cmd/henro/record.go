package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"henro/actors/floor"
	"henro/cmd/sequence"
)

// A recording looks every lookEvery into the lookRows longest mailboxes of each node.
const (
	lookEvery = 2 * time.Second
	lookRows  = "20"
)

// recordTrace writes what happens into a file until the context ends, the time is over or the file is full.
func (f *traceFlags) recordTrace(ctx context.Context, values url.Values, out io.Writer) (err error) {
	file, err := os.OpenFile(f.record, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // URLs may be secret
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	to := bufio.NewWriterSize(file, 1<<20)
	defer func() { err = errors.Join(err, to.Flush()) }()
	write := json.NewEncoder(to)
	if err := write.Encode(sequence.Head{Recording: sequence.Format, At: time.Now(), Filter: f.filter}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan sequence.Line, 4096)
	ended := make(chan error, 1)
	values.Set("causes", "true")
	values.Del("recent")
	go func() { ended <- f.readLines(ctx, values, lines) }()
	go func() {
		look := url.Values{"rows": {lookRows}, "inside": {"true"}}
		for _, name := range []string{"actor", "node"} {
			if value := values.Get(name); value != "" {
				look.Set(name, value)
			}
		}
		for ctx.Err() == nil {
			if err := f.readLines(ctx, look, lines); err != nil && ctx.Err() == nil {
				return // the other reader says why
			}
			select {
			case <-time.After(lookEvery):
			case <-ctx.Done():
			}
		}
	}()
	events, dropped := 0, map[string]uint64{}
	for end := false; !end; {
		select {
		case line := <-lines:
			switch r := line.Row; {
			case r != nil && r.Queue == 0:
				continue // of an actor at rest nothing is kept
			case r != nil:
				line.At = time.Now()
			case line.Event != nil:
				if events++; events >= f.most {
					cancel()
				}
			}
			dropped[line.Node] = max(dropped[line.Node], line.Dropped)
			if err := write.Encode(line); err != nil {
				return fmt.Errorf("write the recording: %w", err)
			}
		case err := <-ended:
			if err != nil && ctx.Err() == nil {
				return err
			}
			end = true
		}
	}
	lost := uint64(0)
	for _, n := range dropped {
		lost += n
	}
	fmt.Fprintf(out, "%d messages in %s", events, f.record)
	if lost > 0 {
		fmt.Fprintf(out, "; %d came faster than they could be taken: narrow --actor, or sample with --every", lost)
	}
	_, err = fmt.Fprintf(out, "\nhenro trace --replay %s shows them\n", f.record)
	return err
}

// replayTrace makes the page of a recording.
func (f *traceFlags) replayTrace(out io.Writer) (err error) {
	file, err := os.Open(f.replay)
	if err != nil {
		return fmt.Errorf("--replay: %w", err)
	}
	defer file.Close()
	recording, err := sequence.Read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", f.replay, err)
	}
	name := strings.TrimSuffix(f.replay, ".jsonl") + ".html"
	page, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	to := bufio.NewWriter(page)
	if err := errors.Join(recording.Page(to), to.Flush(), page.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = fmt.Fprintf(out, "%d messages, %d actors that stood still: open %s in a browser\n", len(recording.Events),
		len(recording.Stuck), name)
	return err
}

// printInside says what a mailbox holds and what its actor does.
func printInside(w io.Writer, in *floor.Inside) {
	if in.Holds != "" {
		fmt.Fprintf(w, "%20s  handles %s\n", "", in.Holds)
		if in.Waits != "" {
			fmt.Fprintf(w, "%20s  %s\n", "", in.Waits)
		}
		for _, at := range in.At {
			fmt.Fprintf(w, "%20s    at %s\n", "", at)
		}
	}
	if in.Head == "" {
		return
	}
	fmt.Fprintf(w, "%20s  next    %s\n", "", in.Head)
	var kinds []string
	for name, n := range in.Kinds {
		kinds = append(kinds, fmt.Sprintf("%d × %s", n, name))
	}
	slices.Sort(kinds)
	fmt.Fprintf(w, "%20s  waiting %s\n", "", strings.Join(kinds, ", "))
}
