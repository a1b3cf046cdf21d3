package main

import (
	"fmt"
	"net"
	"path/filepath"

	"github.com/spf13/cobra"

	"henro/cmd/config"
)

func newCollectCommand() *cobra.Command {
	var listen, key string
	log := config.Log{Level: "info"}
	cmd := &cobra.Command{
		Use:   "collect [flags] DIR",
		Short: "Take the finished WARC files of slaves into DIR/warc",
		Long: `Take the finished WARC files of slaves that run with --collect into DIR/warc, which may be the
directory of their master: henro replay and wacz then have them all. A file gets its name once it is on
this disk and its SHA-256 was compared; only then the slave removes its own. It runs until it is interrupted,
and either side may be killed at any moment. Beyond loopback both sides need the cluster's key, and nobody else
is let in.`,
		Example: `  henro nodes collect --key cluster.key --listen :7784 crawl
  henro-slave --key cluster.key --join master:7781 --collect master:7784`,
		Args: config.Takes(1, 1, "of which crawl? henro nodes collect crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			logger, err := log.Logger()
			if err != nil {
				return err
			}
			folder := filepath.Join(arguments[0], "warc")
			return config.Receive(cmd.Context(), folder, listen, key, logger, func(at net.Addr) {
				fmt.Fprintf(cmd.OutOrStdout(), "collecting into %s: %s\n", folder, at)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:7784", "bind `ADDR`; without --key only loopback")
	f.StringVar(&key, "key", "", "cluster key `FILE`, the same on every node")
	log.Register(f)
	return cmd
}
