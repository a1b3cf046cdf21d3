package main

import (
	"crypto/rand"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"henro/cluster"
	"henro/cmd/config"
	"henro/store/archive/wacz"
)

func newKeyCommand() *cobra.Command {
	key := &cobra.Command{
		Use: "key", Short: "Make and change keys and tokens",
		Long: `Make and change keys and tokens. Running nodes read their key file again when it changes. The key of a
cluster is changed without stopping it in three steps, each on all nodes before the next: add a new key, use it, remove
the old one. A node with a key file of its own (henro key node) can prove its name and no other, and can be revoked.`,
		Example: "  henro key new > cluster.key\n  henro key add\n  henro key use ID\n  henro key remove ID",
	}
	key.AddCommand(keyFileCommands()...)
	key.AddCommand(&cobra.Command{
		Use: "new", Short: "Print a new key file, to be given to every node as --key",
		Long: `Print a new key file. Every node of a cluster gets the same file as --key: it encrypts the
gossip and makes the certificates by which nodes know each other. Whoever has it belongs to the cluster, so
keep it to yourself: a file that it is printed into is made yours alone to read (mode 600), and nodes refuse
one that every user of the machine can read. scp -p keeps the mode on the way to the other nodes.`,
		Example: "  henro key new > cluster.key",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := cluster.NewKeys().MarshalText()
			if err != nil {
				return fmt.Errorf("make a key: %w", err)
			}
			return printSecret(cmd.OutOrStdout(), text)
		},
	})
	key.AddCommand(&cobra.Command{
		Use: "signing", Short: "Print a new private key, with which henro wacz --sign signs packages",
		Long: `Print a new private key as PEM (ECDSA on P-384). henro wacz --sign signs packages with it and prints
the public half, which you give to those who are to know your packages. Keep the private key to yourself: a file
that it is printed into is made yours alone to read (mode 600).`,
		Example: "  henro key signing > wacz.key\n  henro wacz --sign wacz.key crawl crawl.wacz",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := wacz.NewKey()
			if err != nil {
				return fmt.Errorf("make a key: %w", err)
			}
			return printSecret(cmd.OutOrStdout(), text)
		},
	})
	key.AddCommand(newKeyBotCommand())
	key.AddCommand(&cobra.Command{
		Use: "token", Short: "Print a new token, to be given to a node and to those who ask it as --token-file",
		Long: `Print a new token for HTTP. A node that is given it as --token-file may listen beyond loopback,
and answers only who knows it: other commands with the same --token-file, programs with "Authorization: Bearer
TOKEN", and browsers, which ask for a user (any) and a password (the token). It travels as it is: use it in a
private network, or behind a proxy that speaks TLS.`,
		Example: "  henro key token > henro.token\n  henro status --master 192.0.2.7:7780 --token-file " +
			"henro.token",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printSecret(cmd.OutOrStdout(), []byte(rand.Text()+"\n"))
		},
	})
	return key
}

// printSecret prints a key, and makes the file that it is printed into its owner's alone.
func printSecret(out io.Writer, text []byte) error {
	if f, ok := config.File(out); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			// the shell lets everybody read it; where that stays so, nodes refuse it
			_ = f.Chmod(0o600)
		}
	}
	_, err := out.Write(text)
	return err
}
