package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"henro/actors/admission"
	"henro/actors/reading"
	"henro/cmd/config"
	"henro/cmd/replay"
	"henro/master/dashboard"
	"henro/store"
)

func newReplayCommand() *cobra.Command {
	var listen string
	var o replay.Options
	log := config.Log{Level: "warn"}
	cmd := &cobra.Command{
		Use:   "replay [flags] DIR|FILE.wacz",
		Short: "Show the archive of a crawl in a browser, without asking the live web",
		Long: `Serve the archive of a crawl on loopback: a start page with the hosts and a search, a calendar
of the captures of each page, and the captures themselves below a banner. DIR is the directory of a crawl,
running or ended, or any folder of WARC files; any program may have written a WACZ file. Mementos (RFC 7089):
/timegate/URL, /timemap/link/URL. No request ever leaves the machine.`,
		Example: `  henro replay crawl
  henro replay manuals.wacz
  henro replay --listen 127.0.0.1:8091 collected/warcs`,
		Args: config.Takes(1, 1, "of which crawl? henro replay crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			logger, err := log.Logger()
			if err != nil {
				return err
			}
			if store.Exists(filepath.Join(arguments[0], "state")) {
				o.Absence = func(ctx context.Context, url string) (replay.Absence, error) {
					return absence(ctx, arguments[0], url)
				}
			}
			return show(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), logger, arguments[0], o, listen)
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8090", "`ADDR` of the browser's side, on loopback")
	f.BoolVar(&o.NoScripts, "no-scripts", false, "do not run the scripts of captures")
	log.Register(f)
	return cmd
}

// absence says why an archive lacks a URL, from the state beside it or the crawl that runs there.
func absence(ctx context.Context, dir, wanted string) (a replay.Absence, err error) {
	l := look{control{dir: dir}}
	why, err := reading.Find(ctx, l.door(), "/api/why?of="+url.QueryEscape(wanted),
		func(c *reading.Crawl) (*reading.WhyFound, error) { return c.Why(ctx, wanted) })
	if err != nil {
		return a, lookError(dir, err)
	}
	a.Says = why.Answer
	refused := slices.ContainsFunc(why.Rules, func(f admission.Finding) bool { return f.Reason != admission.None })
	switch page := why.Page; {
	case page != nil && page.Page.Flags&store.Dropped != 0 && refused:
		a.Why = replay.WhyRefused
	case page != nil && !page.Cause.IsZero() && page.Page.CapturedAt.IsZero():
		a.Why, a.Cause = replay.WhyFailed, page.Cause
	case page != nil && page.Page.LastVisit.IsZero():
		a.Why = replay.WhyWaiting
		if why.Host != nil {
			a.Cause = why.Host.Cause.Cause
		}
	case page != nil:
		a.Why = replay.WhyElsewhere
	case refused:
		a.Why = replay.WhyRefused
	case why.Link != nil:
		a.Why = replay.WhyWaiting
	default:
		a.Why = replay.WhyUnknown
	}
	return a, nil
}

// show serves an archive until the context ends.
func show(ctx context.Context, out, notes io.Writer, log *logrus.Entry, path string, o replay.Options,
	listen string) (err error) {
	archive, err := openArchive(path, notes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	l, err := listenReplay(listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d WARC files: http://%s/\n", len(archive.Merged().Files), l.Own.Addr())
	// the dashboard links to it: not worth an error
	note := filepath.Join(filepath.Dir(archive.Merged().Path), dashboard.ReplayNote)
	if os.WriteFile(note, []byte(l.Own.Addr().String()+"\n"), 0o644) == nil {
		defer os.Remove(note)
	}
	return replay.NewServer(archive, o, log).Serve(ctx, l)
}

// listenReplay binds the ports of a replay.
func listenReplay(listen string) (l replay.Listeners, err error) {
	if l.Own, err = config.Listen("listen", listen); err != nil {
		return l, err
	}
	if l.Own == nil {
		return l, config.Usage("--listen %q: want HOST:PORT", listen)
	}
	l.Content, err = listenContent(l.Own.Addr().(*net.TCPAddr).Port)
	return l, err
}

// listenContent binds the port of captures: the one after that of our own pages, so that it can be forwarded, or else
// any. A browser tries both addresses of localhost, and must not find somebody else at the other.
func listenContent(own int) ([]net.Listener, error) {
	var failed error
	for _, port := range []int{own + 1, 0, 0, 0, 0} {
		first, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port%65536))
		if err != nil {
			failed = err
			continue
		}
		second, err := net.Listen("tcp6", fmt.Sprintf("[::1]:%d", first.Addr().(*net.TCPAddr).Port))
		switch {
		case err == nil:
			return []net.Listener{first, second}, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return []net.Listener{first}, nil // the machine has only one of the two
		}
		failed = errors.Join(err, first.Close())
	}
	return nil, fmt.Errorf("listen for captures: %w", failed)
}
