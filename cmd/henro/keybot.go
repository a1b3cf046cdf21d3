package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/console"
	"henro/cmd/config"
	"henro/slave/botauth"
)

func newKeyBotCommand() *cobra.Command {
	var listen string
	c := &cobra.Command{
		Use: "bot [FILE]", Short: "Print a new private key that requests are signed with, or the directory of one",
		Long: `Without FILE, print a new private key as PEM (Ed25519), with which henro crawl --bot-key signs every
request as Web Bot Auth has it: hosts that ask for signatures then know who crawls, whatever User-Agent others send.

With the FILE of such a key, print its directory: the public half, as hosts look for it at
https://YOUR.HOST` + botauth.Path + `
Put it there with any web server, and have every request name it by a line in FILE, Signature-Agent: https://YOUR.HOST.
With --listen, henro serves it, each answer signed, behind a server that speaks TLS and passes Host on. Nobody but you
may read FILE (mode 600).`,
		Example: "  henro key bot > bot.key\n  henro key bot bot.key > http-message-signatures-directory\n" +
			"  henro key bot bot.key --listen 127.0.0.1:8080\n" +
			"  echo 'Signature-Agent: https://bot.example.org' >> bot.key\n" +
			"  henro crawl --bot-key bot.key https://example.com/",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if listen != "" {
					return config.Usage("--listen needs the FILE of the key whose directory is served")
				}
				text, err := botauth.NewKey()
				if err != nil {
					return fmt.Errorf("make a key: %w", err)
				}
				return printSecret(cmd.OutOrStdout(), text)
			}
			text, err := config.ReadSecret("bot-key", args[0])
			if err != nil {
				return err
			}
			signer, err := botauth.New(text, "")
			if err != nil {
				return config.Usage("%s: %v", args[0], err)
			}
			if listen == "" {
				_, err := cmd.OutOrStdout().Write(signer.Directory())
				return err
			}
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return config.Usage("--listen: %v", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "http://%s%s\n", l.Addr(), botauth.Path)
			server := &http.Server{Handler: directory(signer), ReadTimeout: 10 * time.Second,
				WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
			return console.Serve(cmd.Context(), server, time.Second, l)
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "serve the directory of FILE here, `HOST:PORT`")
	return c
}

// directory serves the public half of a key.
func directory(signer *botauth.Signer) http.Handler {
	text := signer.Directory()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+botauth.Path, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", botauth.MediaType)
		h.Set("Cache-Control", "max-age=86400")
		input, signature := signer.SignDirectory(r.Host, time.Now())
		h.Set("Signature-Input", input)
		h.Set("Signature", signature)
		_, _ = w.Write(text) // the reader is gone: the error has no receiver
	})
	return mux
}
