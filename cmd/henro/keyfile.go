package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"henro/cluster"
	"henro/cmd/config"
)

// keyFileCommands show and change the key file of a cluster.
func keyFileCommands() []*cobra.Command {
	var path string
	var undo bool
	change := func(use, short, long, example string,
		do func(cmd *cobra.Command, keys *cluster.Keys, word string) error) *cobra.Command {
		cmd := &cobra.Command{
			Use: use, Short: short, Long: long, Example: example,
			Args: func(_ *cobra.Command, given []string) error {
				if len(given)+1 != len(strings.Fields(use)) {
					return config.Usage("want henro key %s, and --key FILE where the file is not in the settings", use)
				}
				return nil
			},
			RunE: func(cmd *cobra.Command, given []string) error {
				keys, err := cluster.ReadKeys(path)
				if err == nil {
					err = do(cmd, keys, strings.Join(given, ""))
				}
				if err != nil {
					return config.Usage("--key: %v", err)
				}
				return nil
			},
		}
		cmd.Flags().StringVar(&path, "key", "cluster.key", "key `FILE`")
		return cmd
	}
	revoke := change("revoke NODE", "Refuse a node of this name from now on",
		`Write into a key file that the certificate of a node is refused. Nodes with this file end the connections of
the node within seconds, lend it nothing, and let its leases end; the master must have it. A node that has the whole
key could make itself another certificate, and every node knows the key of the gossip: if you distrust the node, change
the key, and give the new one to the others.`, "  henro key revoke pc7",
		func(cmd *cobra.Command, keys *cluster.Keys, name string) error {
			if err := keys.Revoke(name, undo); err != nil {
				return err
			}
			return keys.Write(path)
		})
	revoke.Flags().BoolVar(&undo, "undo", false, "take it back")
	return []*cobra.Command{revoke,
		change("list", "Show the keys of a file, and the nodes that are revoked",
			"Show the ids of the keys of a file, the one that is used first, and the nodes that are revoked.",
			"  henro key list --key cluster.key",
			func(cmd *cobra.Command, keys *cluster.Keys, _ string) error {
				use := "used"
				for _, id := range keys.IDs() {
					fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", id, use)
					use = "accepted"
				}
				for _, name := range keys.Revoked() {
					fmt.Fprintf(cmd.OutOrStdout(), "%s  revoked\n", name)
				}
				return nil
			}),
		change("add", "Add a new key to a file: it is accepted, and not used yet",
			"Add a new key to a file, and print its id. Copy the file to all nodes before the new key is used.",
			"  henro key add --key cluster.key",
			func(cmd *cobra.Command, keys *cluster.Keys, _ string) error {
				fresh := cluster.NewKeys()
				if err := keys.With(fresh).Write(path); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), fresh.IDs()[0])
				return nil
			}),
		change("use ID", "Use a key of a file, which all nodes accept already",
			"Put a key of a file first. Copy the file to all nodes before the old key is removed.",
			"  henro key use abcdefgh --key cluster.key",
			func(cmd *cobra.Command, keys *cluster.Keys, id string) error {
				if err := keys.Use(id); err != nil {
					return err
				}
				return keys.Write(path)
			}),
		change("remove ID", "Remove a key from a file, which no node uses any more",
			"Remove a key from a file. Connections that were made with it end, and are made again.",
			"  henro key remove abcdefgh --key cluster.key",
			func(cmd *cobra.Command, keys *cluster.Keys, id string) error {
				if err := keys.Remove(id); err != nil {
					return err
				}
				return keys.Write(path)
			}),
		change("node NAME", "Print the key file of one node, which can prove this name and no other",
			`Print the key file of one node. It holds what the node needs of each key: a certificate of its name, by
which it can be revoked, and not the key itself, so it can neither take another name nor let others in. The name
is that of its --name.`, "  henro key node pc7 > pc7.key",
			func(cmd *cobra.Command, keys *cluster.Keys, name string) error {
				node, err := keys.ForNode(name)
				if err != nil {
					return err
				}
				text, err := node.MarshalText()
				if err != nil {
					return err
				}
				return printSecret(cmd.OutOrStdout(), text)
			}),
	}
}
