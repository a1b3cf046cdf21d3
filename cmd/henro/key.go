package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"henro/cluster"
)

func newKeyCommand() *cobra.Command {
	key := &cobra.Command{
		Use: "key", Short: "The key file that makes nodes trust each other",
		Example: "  henro key new > cluster.key",
	}
	key.AddCommand(&cobra.Command{
		Use: "new", Short: "Print a new key file, to be given to every node as --key",
		Long: `Print a new key file. Every node of a cluster gets the same file as --key: it encrypts the gossip and makes the
certificates by which nodes know each other. Whoever has it belongs to the cluster, so keep it to yourself:
umask 077 before, and scp to the other nodes.`,
		Example: "  umask 077; henro key new > cluster.key",
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := cluster.NewKeys().MarshalText()
			if err != nil {
				return fmt.Errorf("make a key: %w", err)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	})
	return key
}
