// Package spool says when a slave has so many finished WARC files that wait to be collected that its pages must wait.
//
// A slave that is told so takes on no hosts. Files that still grow, and what is under way, come on top: the disk takes
// the bound, a --warc-size and some seconds of fetching at most. The log of the archive counts where it is brought
// away, too.
package spool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/proof"
)

// Every is how often the files are looked at, which costs the listing of a folder.
const Every = time.Second

// Spool watches the files of one slave. Says may be called from any goroutine, the others from one each.
type Spool struct {
	dir, prefix string
	logs        string // folder of those that leave, too; "": none does
	most        int64
	says        atomic.Pointer[string]
	failed      atomic.Pointer[string] // of the latest pass of the sender
	taken       atomic.Pointer[string] // the place is not ours
}

// New returns the watch of the files of a folder whose names begin with a prefix, and, if it leaves with them, of their
// log. most, in bytes, is what they may take, their indexes included; 0: there is no bound.
func New(dir, prefix string, logs bool, most int64) *Spool {
	s := &Spool{dir: dir, prefix: prefix, most: most}
	if logs {
		s.logs = proof.Path(dir)
	}
	return s
}

// Says is why pages wait; empty: they do not.
func (s *Spool) Says() string { return cmp.Or(text(s.taken.Load()), text(s.says.Load())) }

// Tried takes what became of a pass of the sender, for Says to tell.
func (s *Spool) Tried(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	s.failed.Store(&said)
	if err == nil || errors.Is(err, bucket.ErrTaken) {
		s.taken.Store(&said)
	}
}

func text(of *string) string {
	if of == nil {
		return ""
	}
	return *of
}

// Run looks again and again until the context ends.
func (s *Spool) Run(ctx context.Context) {
	if s.most <= 0 {
		return
	}
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		s.look()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// maxSaid bounds what Says tells of a failure, in bytes.
const maxSaid = 500

func (s *Spool) look() {
	size, files, err := s.size()
	if err == nil && files > 0 { // else the log has nothing that could go
		size += s.logged()
	}
	said, with := "", ""
	if s.logs != "" {
		with = " with their log"
	}
	switch {
	case err != nil:
		said = "the files that wait to be collected cannot be counted: " + err.Error()
	case size >= s.most:
		said = fmt.Sprintf("%d WARC files (%d MB%s) wait to be collected, --spool allows %d MB", files,
			size/1e6, with, s.most/1e6)
		if why := text(s.failed.Load()); why != "" {
			said += ": " + strings.ToValidUTF8(why[:min(maxSaid, len(why))], "")
		}
	}
	s.says.Store(&said)
}

// logged is what the logs take. Some hundred files are there, and many more only while the place does not take any.
func (s *Spool) logged() (size int64) {
	if s.logs == "" {
		return 0
	}
	_ = filepath.WalkDir(s.logs, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // it grows and goes meanwhile
	})
	return size
}

// size is what the finished files take.
func (s *Spool) size() (size int64, files int, err error) {
	names, err := warc.Files(s.dir)
	for _, name := range names {
		if !strings.HasPrefix(filepath.Base(name), s.prefix+"-") {
			continue
		}
		files++
		for _, part := range []string{name, cdxj.Path(name)} {
			switch info, err := os.Stat(part); {
			case err == nil:
				size += info.Size()
			case !errors.Is(err, fs.ErrNotExist): // it was collected right now, or has no index yet
				return size, files, err
			}
		}
	}
	return size, files, err
}
