// Package proving holds the commands that prove what is in an archive, and check such proofs.
package proving

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/messages/visible"
	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/fsync"
	"henro/store/proof"
)

// NewProveCommand returns henro prove. open opens the archive of a directory.
func NewProveCommand(open func(dir string, notes io.Writer) (*captures.Archive, error)) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "prove [flags] DIR URL",
		Short: "Write a small file that proves the last capture of a page, without the archive",
		Long: `Write a small file that shows that the archive had this capture, as it is, when a checkpoint of its log
was signed: the digest of its record, its path in the tree of all records, the checkpoint, and the timestamp of an
authority if there is one. Anyone checks it with henro verify, or with openssl and sha256sum. The record itself
is not in it.`,
		Example: "  henro prove crawl https://example.org/ -o example.proof\n  henro verify example.proof",
		Args:    config.Takes(2, 2, "which page of which crawl? henro prove crawl https://example.org/"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			url, err := weburl.Parse(arguments[1])
			if err != nil {
				return config.Usage("page %q: %v", arguments[1], err)
			}
			archive, err := open(arguments[0], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			p, err := last(archive, url)
			if err = errors.Join(err, archive.Close()); err != nil {
				return err
			}
			if to == "" || to == "-" {
				_, err = visible.Exact(cmd.OutOrStdout()).Write(p.Format())
				return err
			}
			if err := fsync.WriteFile(to, p.Format(), 0o644); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s proves %s of %s\n", to, p.Leaf.Type, visible.Line(p.Leaf.URI))
			return nil
		},
	}
	cmd.Flags().StringVarP(&to, "output", "o", "-", "`FILE` of the proof; - is standard output")
	return cmd
}

// last proves the last capture of a page that is in a finished file.
func last(archive *captures.Archive, url weburl.URL) (*proof.Proof, error) {
	archive.Finished()
	var newest cdxj.Entry
	if err := archive.Captures(url, func(e cdxj.Entry) bool { newest = e; return true }); err != nil {
		return nil, err
	}
	if newest.URL == "" {
		return nil, fmt.Errorf("%s: %w", url, captures.ErrNotArchived)
	}
	p, err := proof.Prove(proof.Path(archive.Dir()), newest.Filename, newest.Offset)
	if err != nil {
		return nil, fmt.Errorf("capture of %s at %s: %w", newest.URL, newest.At.UTC().Format(time.RFC3339), err)
	}
	return p, nil
}

// NewVerifyCommand returns henro verify.
func NewVerifyCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "verify [flags] PROOF [WARC]",
		Short: "Check a file of henro prove, without the archive",
		Long: `Check what henro prove wrote: that its record is in the tree of its checkpoint, that this is signed by
the key that it names, and that its timestamp is one of this checkpoint. With WARC, the file that the record
is in or the stored bytes of the record alone, compare these with it as well.

Whose key it is, a proof does not say: compare it with the one that whoever crawled has published (--key).`,
		Example: "  henro verify example.proof\n  henro verify example.proof HENRO-20261127040000000-00001.warc.gz",
		Args:    config.Takes(1, 2, "which proof? henro verify example.proof"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			p, err := proof.ReadProof(arguments[0])
			if err == nil && key != "" && key != p.Checkpoint.Key {
				err = fmt.Errorf("%w: it is signed by %s", proof.ErrProof, p.Checkpoint.Key)
			}
			if err == nil && len(arguments) > 1 {
				err = p.CheckRecord(arguments[1])
			}
			switch {
			case errors.Is(err, os.ErrNotExist):
				return config.Usage("%v", err)
			case err != nil:
				return &config.Exit{Code: config.ExitDamaged, Err: err}
			}
			out := cmd.OutOrStdout()
			p.Print(out)
			if len(arguments) == 1 {
				fmt.Fprintln(out, "the record was not compared: give its WARC file, or its stored bytes")
			}
			fmt.Fprintln(out, "proved")
			return nil
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "the public `KEY` that must have signed it, as it prints it")
	return cmd
}
