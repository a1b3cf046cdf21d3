// Package spool says when a slave has so many finished WARC files that wait to be collected that its pages must wait.
//
// A slave that is told so takes on no hosts. Files that still grow, and what is under way, come on top: the disk takes
// the bound, a --warc-size and some seconds of fetching at most.
package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// Every is how often the files are looked at, which costs the listing of a folder.
const Every = time.Second

// Spool watches the files of one slave. Says may be called from any goroutine, the others from one each.
type Spool struct {
	dir, prefix string
	most        int64
	says        atomic.Pointer[string]
	failed      atomic.Pointer[string] // of the latest pass of the sender
}

// New returns the watch of the files of a folder whose names begin with a prefix. most, in bytes, is what they may
// take, their indexes included; 0: there is no bound.
func New(dir, prefix string, most int64) *Spool { return &Spool{dir: dir, prefix: prefix, most: most} }

// Says is why pages wait; empty: they do not.
func (s *Spool) Says() string { return text(s.says.Load()) }

// Tried takes what became of a pass of the sender, for Says to tell.
func (s *Spool) Tried(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	s.failed.Store(&said)
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
	said := ""
	switch {
	case err != nil:
		said = "the files that wait to be collected cannot be counted: " + err.Error()
	case size >= s.most:
		said = fmt.Sprintf("%d WARC files (%d MB) wait to be collected, --spool allows %d MB", files, size/1e6,
			s.most/1e6)
		if why := text(s.failed.Load()); why != "" {
			said += ": " + strings.ToValidUTF8(why[:min(maxSaid, len(why))], "")
		}
	}
	s.says.Store(&said)
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
