// Command hostile serves a host of each hostile kind on loopback, until it is interrupted:
//
//	hostile FOLDER
//
// seeds.txt, resolve.txt and access.log are written into FOLDER as .ci/lab/fakeweb does, and "ready" is printed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"henro/cmd/fakeweb"
	"henro/cmd/fakeweb/hostile"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: hostile FOLDER")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := fakeweb.ServeOptions{Web: fakeweb.DefaultOptions(), Folder: os.Args[1]}
	o.Web.Hosts, o.Web.Domains, o.Web.Pages, o.Web.Guests = 1, 1, 1, hostile.Guests(hostile.All()...)
	if err := fakeweb.Serve(ctx, os.Stdout, o); err != nil && !errors.Is(err, ctx.Err()) {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}
