package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/cmd/replay"
	"henro/master/dashboard"
)

func newReplayCommand() *cobra.Command {
	var listen, proxy string
	o := replay.DefaultOptions()
	log := config.Log{Level: "warn"}
	cmd := &cobra.Command{
		Use:   "replay [flags] DIR",
		Short: "Show the archive of a crawl in a browser, as it was, without asking the live web",
		Long: `Serve the archive of a crawl on loopback: a start page with the sites and a search, a calendar
of the captures of each page, and the captures themselves below a banner. DIR is the directory of a crawl,
running or ended, or any folder of WARC files. Mementos (RFC 7089): /timegate/URL, /timemap/link/URL. With
--proxy, captures are also answered exactly as they were to a browser that uses that address as its HTTP proxy;
Accept-Datetime chooses the moment. No request ever leaves the machine.`,
		Example: `  henro replay crawl
  henro replay --listen 127.0.0.1:8091 --proxy 127.0.0.1:8092 collected/warcs`,
		Args: dirArgument("henro replay crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			logger, err := log.Logger()
			if err != nil {
				return err
			}
			folder, err := archiveFolder(arguments[0])
			if err != nil {
				return err
			}
			return show(cmd.Context(), cmd.OutOrStdout(), logger, folder, o, listen, proxy)
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8090", "`ADDR` of the browser's side, on loopback")
	f.StringVar(&proxy, "proxy", "off", "`ADDR` of a forward proxy that answers from the archive, on loopback")
	f.BoolVar(&o.NoScripts, "no-scripts", false, "do not run the scripts of captures")
	log.Register(f)
	return cmd
}

// show serves an archive until the context ends.
func show(ctx context.Context, out io.Writer, log *logrus.Entry, folder string, o replay.Options, listen,
	proxy string) (err error) {
	archive, err := replay.Open(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	server := replay.NewServer(archive, o, log)
	listeners, err := listenLocal(listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d WARC files: http://%s/\n", len(archive.Merged().Files), listeners[0].Addr())
	note := filepath.Join(folder, dashboard.ReplayNote) // a help for who looks at the crawl: not worth an error
	if os.WriteFile(note, []byte(listeners[0].Addr().String()+"\n"), 0o644) == nil {
		defer os.Remove(note)
	}
	var proxies []net.Listener
	if through, err := config.Listen("proxy", proxy); err != nil {
		return err
	} else if through != nil {
		proxies = append(proxies, through)
		fmt.Fprintf(out, "proxy: http://%s/\n", through.Addr())
	}
	return server.Serve(ctx, listeners, proxies)
}

// listenLocal binds an address, and if it is 127.0.0.1 the same port of ::1 too: a browser tries both for localhost,
// where captures live, and must not find somebody else there.
func listenLocal(address string) ([]net.Listener, error) {
	first, err := config.Listen("listen", address)
	if err != nil {
		return nil, err
	}
	if first == nil {
		return nil, config.Usage("--listen %q: want HOST:PORT", address)
	}
	other := "::1"
	bound := first.Addr().(*net.TCPAddr)
	if bound.IP.To4() == nil {
		other = "127.0.0.1"
	}
	second, err := net.Listen("tcp", net.JoinHostPort(other, fmt.Sprint(bound.Port)))
	switch {
	case err == nil:
		return []net.Listener{first, second}, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil,
			errors.Join(config.Usage("--listen %s: a browser may look for localhost at %s, whose port is taken: "+
				"give another port", address, other), first.Close())
	}
	return []net.Listener{first}, nil // the machine has only one of the two
}
