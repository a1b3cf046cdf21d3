// Package proving holds the commands that prove what is in an archive, and check such proofs.
package proving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/messages/visible"
	"henro/messages/weburl"
	"henro/store/archive/bucket"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/fsync"
	"henro/store/proof"
)

// NewProveCommand returns henro prove. open opens the archive of a directory.
func NewProveCommand(open func(dir string, notes io.Writer) (*captures.Archive, error)) *cobra.Command {
	var to, authority string
	cmd := &cobra.Command{
		Use:   "prove [flags] DIR [URL]",
		Short: "Write a small file that proves the last capture of a page, without the archive",
		Long: `Write a small file that shows that the archive had this capture, as it is, when a checkpoint of its log
was signed: the digest of its record, its path in the tree of all records, the checkpoint, and the timestamp of an
authority if there is one. Anyone checks it with henro verify, or with openssl and sha256sum. The record itself
is not in it.

With --timestamp an authority (RFC 3161) is asked first for a timestamp of the newest checkpoint, if that has none. So
the moment does not rest on the clock of this machine. Without URL nothing else is done: once a day is enough.`,
		Example: "  henro prove crawl https://example.org/ -o example.proof\n  henro verify example.proof\n" +
			"  henro prove --timestamp http://timestamp.example crawl",
		Args: config.Takes(1, 2, "which page of which crawl? henro prove crawl https://example.org/"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if authority != "" {
				if err := stamp(cmd, authority, arguments[0]); err != nil || len(arguments) == 1 {
					return err
				}
			} else if len(arguments) == 1 {
				return config.Usage("which page? henro prove %s https://example.org/", arguments[0])
			}
			page, err := weburl.Parse(arguments[1])
			if err != nil {
				return config.Usage("page %q: %v", arguments[1], err)
			}
			archive, err := open(arguments[0], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			p, err := last(cmd.Context(), arguments[0], archive, page)
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
	cmd.Flags().StringVar(&authority, "timestamp", "", "`URL` of an authority that stamps the newest checkpoint")
	return cmd
}

// stamp has the newest checkpoints of a crawl stamped.
func stamp(cmd *cobra.Command, authority, dir string) error {
	if u, err := url.Parse(authority); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return config.Usage("--timestamp %s: want an http or https URL", authority)
	} else if strings.HasPrefix(dir, bucket.Scheme) {
		return config.Usage("--timestamp: give the folders of the slaves; what they get comes to %s with their next "+
			"file", dir)
	}
	from := proof.Path(filepath.Join(dir, "warc"))
	if names, err := proof.Logs(proof.Disk(from)); err != nil || len(names) == 0 {
		return config.Usage("%s has no log of its archive: nothing was archived there", dir)
	}
	a := proof.Authority{URL: authority, Client: http.DefaultClient}
	done, err := a.Stamp(cmd.Context(), from)
	for _, c := range done {
		fmt.Fprintf(cmd.ErrOrStderr(), "the checkpoint of %d leaves of %s has a timestamp\n", c.Size, c.Log)
	}
	return err
}

// logs are those of an archive.
func logs(ctx context.Context, address string, archive *captures.Archive) (proof.Home, error) {
	if !strings.HasPrefix(address, bucket.Scheme) {
		return proof.Disk(proof.Path(archive.Dir())), nil
	}
	where, err := config.FindBucket(address)
	if err != nil {
		return nil, err
	}
	there, err := bucket.OpenLogs(ctx, where)
	if err != nil {
		return nil, err
	}
	return proof.Stand(there)
}

// last proves the last capture of a page that is in a finished file.
func last(ctx context.Context, address string, archive *captures.Archive, page weburl.URL) (*proof.Proof, error) {
	archive.Finished()
	var newest cdxj.Entry
	if err := archive.Captures(page, func(e cdxj.Entry) bool { newest = e; return true }); err != nil {
		return nil, err
	}
	if newest.URL == "" {
		return nil, fmt.Errorf("%s: %w", page, captures.ErrNotArchived)
	}
	from, err := logs(ctx, address, archive)
	if err != nil {
		return nil, err
	}
	p, err := proof.Prove(from, newest.Filename, newest.Offset)
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
