package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"henro/messages/ticks"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// SenderOptions say what goes where.
type SenderOptions struct {
	Dir    string // of the archive
	Prefix string // of the files that are ours
	Place  Place  // where they go
	// Every is how often finished files are looked for. Default 2 s: it costs the listing of a folder.
	Every time.Duration
	// RetryAfter is the rest after a failure, doubled up to RetryMax while it fails again. Default 1 s and 1 min.
	RetryAfter, RetryMax time.Duration
	// First comes before the files of each pass; what it returns ends the pass. nil: nothing does.
	First func(context.Context) error
	// Tried is told how each pass of Run ended; nil: nobody is.
	Tried func(error)
}

// DefaultSenderOptions returns the defaults.
func DefaultSenderOptions() SenderOptions {
	return SenderOptions{Every: 2 * time.Second, RetryAfter: time.Second, RetryMax: time.Minute}
}

// Validate says what is wrong with o.
func (o *SenderOptions) Validate() error {
	switch {
	case o.Dir == "" || o.Prefix == "" || o.Place == nil:
		return errors.New("collect: no folder, prefix or place")
	case o.Every <= 0 || o.RetryAfter <= 0 || o.RetryMax < o.RetryAfter:
		return errors.New("collect: times must be above 0, and the longest rest not below the first")
	}
	return nil
}

// Sender gives the finished files of an archive away. It belongs to one goroutine.
type Sender struct {
	o   SenderOptions
	log *logrus.Entry
}

// NewSender returns a Sender.
func NewSender(o SenderOptions, log *logrus.Entry) (*Sender, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Sender{o: o, log: log.WithField("actor", "sender")}, nil
}

// Run passes over the archive until the context ends.
func (s *Sender) Run(ctx context.Context) {
	failed := time.Duration(0)
	for {
		rest := s.o.Every
		_, err := s.Pass(ctx)
		if s.o.Tried != nil {
			s.o.Tried(err)
		}
		if err != nil && ctx.Err() == nil {
			failed = min(max(2*failed, s.o.RetryAfter), s.o.RetryMax)
			rest = failed
			s.log.WithFields(logrus.Fields{"err": err,
				"rest": rest}).Warn("files are not collected; they stay here until they are")
		} else {
			failed = 0
		}
		if ticks.Rest(ctx, rest) != nil {
			return
		}
	}
}

// Pass sends the files that are finished, and returns how many were collected. A file that is refused holds up no
// other.
func (s *Sender) Pass(ctx context.Context) (sent int, err error) {
	paths, err := warc.Files(s.o.Dir)
	if err != nil {
		return 0, fmt.Errorf("look for finished files: %w", err)
	}
	if s.o.First != nil {
		if err := s.o.First(ctx); err != nil {
			return 0, err
		}
	}
	var refused error
	for _, path := range paths {
		if !strings.HasPrefix(filepath.Base(path), s.o.Prefix+"-") {
			continue
		}
		if _, err := os.Stat(cdxj.Path(path)); err != nil {
			continue // it is being finished, or the next start of the slave indexes it
		}
		switch err := s.send(ctx, path); {
		case err == nil:
			sent++
		case errors.Is(err, ErrConflict), errors.Is(err, ErrDigest):
			refused = errors.Join(refused, err)
		default:
			return sent, errors.Join(refused, err)
		}
	}
	return sent, refused
}

// send brings one file across and removes it here.
func (s *Sender) send(ctx context.Context, path string) error {
	name := filepath.Base(path)
	file, err := open(path, name)
	if err != nil {
		return fmt.Errorf("collect %s: %w", name, err)
	}
	defer file.here.Close()
	if err := s.o.Place.Bring(ctx, file); err != nil {
		return err
	}
	// The index first: a file without one is found by the next start, an index without its file is not. And again: the
	// start of an Archivist takes the file for one that has no index yet, and may have made it meanwhile.
	index := cdxj.Path(path)
	err = errors.Join(file.here.Close(), os.Remove(index), os.Remove(path))
	if again := os.Remove(index); !errors.Is(again, fs.ErrNotExist) {
		err = errors.Join(err, again)
	}
	if err != nil {
		return fmt.Errorf("collect: %w", err)
	}
	s.log.WithFields(logrus.Fields{"file": name, "bytes": file.Size}).Info("a file was collected and removed here")
	return nil
}
