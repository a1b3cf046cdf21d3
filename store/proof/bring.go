package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"henro/messages/ticks"
)

// Away is a place to which logs are brought.
type Away interface {
	Home
	// Put writes a file that has these bytes or none, and compares what is there then. ErrOther: there are others.
	Put(ctx context.Context, name string, data []byte) error
	// Renew is Put of one that is replaced.
	Renew(ctx context.Context, name string, data []byte) error
}

var (
	// ErrOther is returned where a log and what was brought of it do not fit each other.
	ErrOther = errors.New("two histories of one log: the copy that was brought away is not of the log here, which " +
		"was cut back or runs twice, or somebody wrote to the copy; henro check says more. To begin a new log, move " +
		"the folder proof aside")
	errLater = errors.New("it is not logged yet, and stays here until it is: henro check of this folder says more")
)

// logFor is how long a file that is finished has to be logged.
const logFor = time.Minute

// Bring brings the logs of a folder to another place, up to the newest checkpoint whose WARC files are there, as the
// one is whose name is given: files that are still here are not. It waits until that file is logged. Tiles come first,
// the checkpoint last, so that it may be cut off anywhere: the next goes on behind the checkpoint that is there. What
// is there, and of no WARC file that is still here, is removed here but for what the log goes on from. The private key
// stays.
func Bring(ctx context.Context, from Disk, to Away, archive, brought string) error {
	for waited := time.Duration(0); ; waited += logFor / 600 {
		names, err := Logs(from)
		logged := len(names) == 0 // nothing is
		for _, name := range names {
			b := &bringing{ctx: ctx, from: from, to: to, log: name, brought: brought, archive: archive,
				away: away(from, name)}
			if bad := b.run(); bad != nil {
				err = errors.Join(err, fmt.Errorf("log %s: %w", name, bad))
			}
			logged = logged || b.has
		}
		switch {
		case logged && err == nil:
			return nil
		case err == nil && waited >= logFor:
			err = errLater
		case err == nil || errors.Is(err, fs.ErrNotExist) && waited < logFor: // it has grown meanwhile
			err = ticks.Rest(ctx, logFor/600)
		}
		if err != nil {
			return fmt.Errorf("log of %s: %w", brought, err)
		}
	}
}

// bringing brings one log.
type bringing struct {
	ctx     context.Context
	from    Disk
	to      Away
	log     string
	archive string
	brought string
	away    int64
	has     bool // the file that was brought is in it
}

// here reports whether a WARC file is here, or may be.
func (b *bringing) here(file string) bool {
	_, err := os.Stat(filepath.Join(b.archive, file))
	return !errors.Is(err, fs.ErrNotExist)
}

func (b *bringing) run() error {
	if unbegun(b.from, b.log) {
		return nil
	}
	newest, err := checkpoint(b.from, b.log, checkpointFile)
	if err != nil {
		return err
	}
	there, err := b.there(newest)
	if err != nil {
		return err
	}
	var ends []int64 // of files behind what is there, the last one first
	f := &files{b.from, b.log, newest.Size, b.away}
	err = f.groups(func(g group) bool {
		if b.has = b.has || g.file == b.brought; g.end > there {
			ends = append(ends, g.end)
			if g.file != b.brought && b.here(g.file) {
				ends = ends[:0]
			}
		}
		return g.begin > there || !b.has
	})
	if err != nil {
		return err
	}
	for _, end := range slices.Backward(ends) {
		if err := b.file(f, there, end, newest); err != nil {
			return err
		}
		there = end
	}
	if err := b.stamps(there); err != nil {
		return err
	}
	return b.leave(f, there)
}

// stamps brings the timestamps of the checkpoints up to a size, whenever they came.
func (b *bringing) stamps(size int64) error {
	sizes := stamped(b.from, b.log)
	if len(sizes) == 0 {
		return nil
	}
	there, err := b.to.Names(path.Join(b.log, checkpoints))
	for _, of := range sizes {
		if of > size || slices.Contains(there, path.Base(stampFile(of))) || err != nil {
			continue
		}
		var answer []byte
		if answer, err = b.from.Read(path.Join(b.log, stampFile(of)), maxStamp); err == nil {
			err = b.to.Put(b.ctx, path.Join(b.log, stampFile(of)), answer)
		}
	}
	return err
}

// there is the size of what was brought already. A checkpoint that cannot be read, as a store that died may have it,
// counts as none: all that is here is compared again.
func (b *bringing) there(newest *Checkpoint) (int64, error) {
	text, err := b.to.Read(path.Join(b.log, checkpointFile), maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		kept, err := b.to.Names(path.Join(b.log, checkpoints))
		if b.away > 0 && len(kept) == 0 && err == nil {
			err = ErrOther // than the one where the rest is
		}
		return b.away, err
	} else if err != nil {
		return 0, err
	}
	c, err := ParseCheckpoint(text)
	if err != nil {
		return b.away, nil
	}
	ours, err := b.text(c.Size, newest)
	if err != nil || !bytes.Equal(ours, text) {
		return 0, ErrOther
	}
	return c.Size, nil
}

// text is the checkpoint of a size.
func (b *bringing) text(size int64, newest *Checkpoint) ([]byte, error) {
	if size == newest.Size {
		return newest.Note, nil
	}
	return b.from.Read(path.Join(b.log, keptFile(size)), maxNote)
}

// file brings what one file made of the log: so no checkpoint is ever there that the newest does not know.
func (b *bringing) file(f *files, before, size int64, newest *Checkpoint) error {
	if err := b.tiles(f, before, size); err != nil {
		return err
	}
	text, err := b.text(size, newest)
	if err != nil {
		return fmt.Errorf("%s: %w", keptFile(size), err)
	}
	if before > 0 {
		kept, err := b.text(before, newest)
		if err == nil {
			err = b.to.Put(b.ctx, path.Join(b.log, keptFile(before)), kept)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", keptFile(before), err)
		}
	}
	return b.to.Renew(b.ctx, path.Join(b.log, checkpointFile), text)
}

// tiles brings those that a log of a size has, and one of the size before has not. Here some have grown since.
func (b *bringing) tiles(f *files, before, size int64) error {
	for level := -1; level < top; level++ {
		at := max(level, 0)
		for n := before >> (height * (at + 1)); ; n++ {
			w := width(size, at, n)
			if w == 0 {
				break
			}
			if n == before>>(height*(at+1)) && w == width(before, at, n) {
				continue
			}
			data, err := f.tile(level, n, w)
			if err == nil {
				err = b.to.Put(b.ctx, path.Join(b.log, hashTile(level, n, w)), data)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
