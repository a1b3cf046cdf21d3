package embedded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/store/archive/cdxj"
	"henro/store/archive/folder"
	"henro/store/archive/warc"
	"henro/store/proof"
)

// maxKeptLog is how much of the log's end goes into the archive.
const maxKeptLog = 8 << 20

// KeepAbout writes the seeds, the settings, the summary and the log of a run into a WARC file of its own, as resource
// records. So an archive says by itself how it was made, wherever it is copied to.
func KeepAbout(dir string, work config.Work, info warc.Info, seeds []reading.Seed, flags *pflag.FlagSet) (err error) {
	o, err := work.Options(dir, func(string) {}) // said when the crawl began
	if err != nil {
		return err
	}
	to := o.Archive.Writer
	claim, err := folder.Claim(to.Dir, to.Prefix) // otherwise readers would take the file for that of a dead process
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, claim.Close()) }()
	to.Prefix, to.Info = to.Prefix+"-about", info
	writer, err := warc.NewWriter(to)
	if err != nil {
		return err
	}
	builder, err := warc.NewBuilder(to.Records)
	if err != nil {
		return err
	}
	var records []byte
	now := time.Now()
	put := func(name, contentType string, text []byte) {
		if len(text) > 0 {
			records = builder.Append(records, &warc.Record{
				Type: warc.Resource, Date: now, TargetURI: "urn:henro:" + name, ContentType: contentType, Head: text,
				PayloadDigest: warc.Sum(text),
			})
		}
	}
	var lines strings.Builder
	for _, s := range seeds {
		fmt.Fprintf(&lines, "%s depth=%d\n", s.URL, s.Depth)
	}
	put("seeds", "text/plain; charset=utf-8", []byte(lines.String()))
	put("settings", "text/plain; charset=utf-8", []byte(settingsOf(flags)))
	summary, err := readEnd(filepath.Join(dir, "summary.json"))
	if err != nil {
		return err
	}
	put("summary", "application/json", summary)
	log, err := readEnd(filepath.Join(dir, "logs", "henro.log"))
	if err != nil {
		return err
	}
	put("log", "application/jsonl; charset=utf-8", log)
	if _, err := writer.Append(records); err != nil {
		_, again := writer.Abandon()
		return errors.Join(err, again)
	}
	name, err := writer.Finish()
	if err != nil {
		return err
	}
	return errors.Join(cdxj.IndexFile(filepath.Join(to.Dir, name)), proof.Complete(proof.Options{
		Dir: o.Archive.Proof, Archive: to.Dir, Prefix: o.Archive.Writer.Prefix}))
}

// settingsOf lists all settings as henro.yaml would have them. Files with keys and tokens are named and not read.
func settingsOf(flags *pflag.FlagSet) string {
	var lines []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			lines = append(lines, fmt.Sprintf("%s: %s\n", f.Name, f.Value))
		}
	})
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// readEnd reads the end of a file; nothing if there is none.
func readEnd(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxKeptLog), maxKeptLog))
}
