package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/actors/reading/audit"
	"henro/cmd/config"
	"henro/messages/visible"
	"henro/store"
	"henro/store/archive/bucket"
	"henro/store/proof"
	"henro/store/report/tables"
)

func newCheckCommand() *cobra.Command {
	var repair bool
	var signer, since string
	cmd := &cobra.Command{
		Use:   "check DIR|FILE.wacz|s3://BUCKET/FOLDER",
		Short: "Verify the state and the WARC files of a crawl that is not running, a WACZ file, or a bucket",
		Long: `Read the whole state of a crawl and compare its tables with each other; read every record of its WARC
files and compare their indexes with them, both ways; and look for the record of every captured page. What is damaged
is listed, and the exit code is 4. Without --repair only WARC files that a killed process left open are repaired.

With --repair, a WARC file with damage goes to warc/damaged, and its whole records stay; wrong and missing indexes are
made again; pages whose capture is in no file wait for a new visit; and state files from different days become one
state, whose links are judged again. Have all WARC files here first (with slaves: henro nodes collect). A state that is
clean then is written again without its free space. A folder of WARC files without a state, by whatever program, gets
the indexes that it lacks.

What was stored is logged, and the log has signed checkpoints. Whoever keeps one elsewhere sees by --since that
nothing was removed or altered since then, also by somebody who has the key of the log.

Of a WACZ file, by whatever program, every part is compared with its digest, every record is read, every line of its
index is followed, and its signature is verified; one of henro's is compared with the log in it, and by --since
too. With --signer it must be signed by that key.

Of a bucket every object is read once: records, indexes, tables, the digests that were written when they were brought,
and the logs of the slaves.`,
		Example: "  henro check crawl\n  henro check --repair crawl\n  henro check --since kept/checkpoint crawl\n" +
			"  henro check --signer MHYwEAYH… crawl.wacz\n  henro check --since kept/checkpoint s3://archive/crawl",
		Args: config.Takes(1, 1, "of which crawl? henro check crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			out, bar := cmd.OutOrStdout(), newBar(cmd.ErrOrStderr())
			info, err := os.Stat(arguments[0])
			isFile := err == nil && info.Mode().IsRegular()
			before, bad := earlier(since)
			switch {
			case bad != nil:
				return bad
			case isFile && repair:
				return config.Usage("--repair: a WACZ file is not repaired; pack the crawl again: henro wacz DIR FILE")
			case isFile:
				return checkPackage(out, bar, arguments[0], signer, before)
			case signer != "":
				return config.Usage("--signer: want a WACZ file, %s is none", arguments[0])
			}
			if far := strings.HasPrefix(arguments[0], bucket.Scheme); !repair && far {
				return checkBucket(cmd, bar, arguments[0], before)
			} else if far {
				return index(cmd, arguments[0])
			} else if !repair {
				return check(out, bar, arguments[0], before)
			}
			if store.Exists(filepath.Join(arguments[0], "state")) {
				mended, err := audit.Mend(arguments[0], bar.show)
				bar.end()
				for _, m := range mended {
					fmt.Fprintln(out, "mended:  "+visible.Line(m))
				}
				if err != nil {
					return lookError(arguments[0], err)
				}
				if err := check(out, bar, arguments[0], before); err != nil {
					return err
				}
				if err := compact(cmd, arguments[0]); err != nil {
					return err
				}
				if _, err := reading.ArchiveFolder(arguments[0]); err != nil {
					return nil // its WARC files are elsewhere, or there are none yet
				}
			}
			return index(cmd, arguments[0])
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false,
		"make wrong and missing indexes again, move damaged files aside, plan new visits for lost captures")
	cmd.Flags().StringVar(&signer, "signer", "", "of a WACZ file: the public `KEY` that must have signed it, "+
		"as henro wacz --sign prints it")
	cmd.Flags().StringVar(&since, "since", "",
		"compare with this `CHECKPOINT` of the log, a file kept elsewhere or its text")
	return cmd
}

// earlier reads the checkpoint of --since, if there is one.
func earlier(since string) (*proof.Checkpoint, error) {
	if since == "" {
		return nil, nil
	}
	before, err := proof.ReadCheckpoint(since)
	if err != nil {
		err = config.Usage("--since: %v", err)
	}
	return before, err
}

func check(out io.Writer, bar *bar, dir string, before *proof.Checkpoint) error {
	r, err := audit.Check(dir, before, bar.show)
	bar.end()
	if err != nil {
		return lookError(dir, err)
	}
	for _, repaired := range r.Repaired {
		fmt.Fprintln(out, "repaired "+visible.Line(repaired))
	}
	s := r.State.Stats
	fmt.Fprintf(out, "state    %d URLs of %d hosts, %d visited, %d waiting, %s\narchive  %d records\n", s.Known,
		s.Hosts, s.Visited, s.Waiting, sizeWords(uint64(s.Bytes)), r.Records)
	for _, digest := range r.State.Digests {
		fmt.Fprintln(out, "digest   "+digest)
	}
	if !r.IsHere && s.Visited > 0 {
		fmt.Fprintln(out, "no WARC files are here: henro nodes collect brings those of slaves")
	} else if !r.ArchivesAll && s.Visited > 0 {
		fmt.Fprintln(out, "captured pages were not looked for: the crawl left some out of its archive "+
			"(--lang, --mime, --obey), or an older henro began it")
	}
	proof.Print(out, r.Logs, before, r.Altered)
	return verdict(out, r)
}

func checkBucket(cmd *cobra.Command, bar *bar, address string, before *proof.Checkpoint) error {
	where, err := config.FindBucket(address)
	if err != nil {
		return err
	}
	c, err := bucket.Check(cmd.Context(), where, before, bar.show)
	bar.end()
	if err != nil {
		return err
	}
	c.Print(cmd.OutOrStdout())
	proof.Print(cmd.OutOrStdout(), c.Logs, before, c.Altered)
	return verdict(cmd.OutOrStdout(), &audit.Result{Problems: c.Problems, Count: c.Count, Advice: bucket.Advice})
}

// checkPackage verifies a WACZ file, whatever program wrote it.
func checkPackage(out io.Writer, bar *bar, file, signer string, before *proof.Checkpoint) error {
	r, err := audit.CheckPackage(file, signer, before, bar.show)
	bar.end()
	if err != nil {
		return config.Usage("%v", err)
	}
	p := r.Package
	fmt.Fprintf(out, "package  %d parts, %s; %q, made by %q on %q\n", p.About.Parts, sizeWords(uint64(p.About.Bytes)),
		p.About.Title, p.About.Software, p.About.Created)
	fmt.Fprintf(out, "archive  %d WARC files, %d records, %d lines of the index\n", p.Files, r.Records, p.Lines)
	switch {
	case p.About.Signed != nil:
		fmt.Fprintf(out, "signed   by %s (on %q, which is not signed)\n", p.About.Signed.PublicKey,
			p.About.Signed.Created)
	case p.About.Domain != "":
		fmt.Fprintf(out, "signed   for %q by a certificate, which henro does not verify\n", p.About.Domain)
	default:
		fmt.Fprintln(out, "signed   not at all")
	}
	for _, c := range r.Logs {
		if c.Checkpoint != nil {
			fmt.Fprintf(out, "log      %s until %s: %d records were compared\n", visible.Line(c.Path),
				c.Checkpoint.At.UTC().Format(time.RFC3339), c.Records)
		}
	}
	if p.Elsewhere > 0 {
		fmt.Fprintf(out, "%d revisits refer to captures that are not in the package\n", p.Elsewhere)
	}
	return verdict(out, r)
}

// verdict lists what is damaged.
func verdict(out io.Writer, r *audit.Result) error {
	if r.Count == 0 {
		fmt.Fprintln(out, "clean")
		return nil
	}
	for _, problem := range r.Problems {
		fmt.Fprintln(out, "damaged: "+visible.Line(problem))
	}
	if more := r.Count - len(r.Problems); more > 0 {
		fmt.Fprintf(out, "and %d more\n", more)
	}
	return &config.Exit{Code: config.ExitDamaged, Err: fmt.Errorf("%d damages found; %s", r.Count, r.Advice)}
}

func compact(cmd *cobra.Command, dir string) error {
	bar := newBar(cmd.ErrOrStderr())
	before, after, err := store.Compact(filepath.Join(dir, "state"),
		func(done, all int) { bar.show("state", uint64(done), uint64(all)) })
	bar.end()
	if err != nil {
		return lookError(dir, err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s before, %s after\n", sizeWords(uint64(before)), sizeWords(uint64(after)))
	return nil
}

// lookError gives an error of opening the crawl in a directory its exit code.
func lookError(dir string, err error) error {
	if errors.Is(err, store.ErrNoState) || errors.Is(err, fs.ErrNotExist) {
		if strings.HasPrefix(dir, bucket.Scheme) {
			return config.Usage("%s: %v", dir, tables.ErrNoState)
		}
		return config.Usage("%s holds no crawl: give its directory (%v)", dir, err)
	}
	return config.StateError(dir, err)
}
