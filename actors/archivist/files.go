package archivist

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"henro/store/archive/cdxj"
	"henro/store/archive/folder"
	"henro/store/archive/payloads"
	"henro/store/archive/warc"
	"henro/store/proof"
)

// files are the files of an Archivist. One goroutine at a time uses them: the binder's, and after its end the
// Archivist's.
type files struct {
	o        warc.WriterOptions
	log      *logrus.Entry
	payloads *payloads.Index
	proofs   string // folder of the log
	proof    *proof.Log
	claim    io.Closer // to the files of the prefix
	mended   func([]folder.Repaired)
	writer   *warc.Writer
	index    *os.File  // of the open file: its lines in the order in which captures came
	lost     bool      // the index lacks lines: it is made from the file at its end
	bare     []string  // names of files that were finished and could not be indexed
	bareAt   time.Time // when that was last tried
	line     []byte
	broken   bool // something was appended that must not stay
	ahead    bool // the next batch may be written before its turn: the last is stored, and the file has room
}

// open takes possession of the directory, and repairs what a process that died left there. Of files that are open it
// cuts off what was appended in vain.
func (s *files) open() error {
	if s.writer != nil {
		return s.mend()
	}
	if s.claim == nil {
		claim, err := folder.Claim(s.o.Dir, s.o.Prefix)
		if err != nil {
			return err
		}
		s.claim = claim
	}
	repaired, err := folder.RecoverPrefix(s.o.Dir, s.o.Prefix)
	for _, r := range repaired {
		log := s.log.WithFields(logrus.Fields{"file": r.File, "records": r.Records, "cut": r.Cut})
		if r.Err != nil {
			log.WithField("err", r.Err).Error("file that was left by a process that died cannot be repaired")
			continue
		}
		log.Info("file left open is repaired")
	}
	if s.mended != nil {
		s.mended(repaired)
	}
	if err != nil {
		return err
	}
	aside, err := s.payloads.Open()
	if aside != "" {
		s.log.WithField("damaged", aside).Warn("index of payloads is damaged: it was set aside and made again")
	}
	if err != nil {
		s.log.WithField("err", err).Warn("index of payloads is not open; those that come again are stored again")
	}
	if s.proof, err = s.openProof(); err != nil {
		s.log.WithField("err", err).Warn("what is stored is not logged, so that changes to it cannot be shown; " +
			"the next start logs it")
	}
	s.writer, err = warc.NewWriter(s.o)
	return err
}

// describe changes what the files that are begun from now on say of who crawls.
func (s *files) describe(m *Describe) {
	s.o.Info.Operator, s.o.Info.UserAgent = m.Operator, m.UserAgent
	if s.writer != nil {
		s.writer.Describe(s.o.Info)
	}
}

// store appends the captures of b and syncs them. What of them is not on the disk in the end is cut off again; it is
// stored again only if it is sent again.
func (s *files) store(b *binding) (again error) {
	if b.describes != nil {
		s.describe(b.describes)
	}
	b.err = s.open()
	if s.ahead, b.shut = b.err == nil, s.writer == nil; b.err != nil {
		return nil
	}
	defer func() { b.ripe = s.writer.Ripe() }()
	if len(b.items) == 0 && !s.writer.Full(0) {
		return nil
	}
	s.broken = true // until it is known not to be
	b.err = s.append(b.items)
	if s.ahead = b.err == nil; s.ahead {
		s.broken = false
		if len(s.bare) > 0 && time.Since(s.bareAt) >= indexRest { // there is room again
			s.indexBare()
		}
		return nil
	}
	b.err = errors.Join(b.err, s.mend())
	return nil
}

// write writes the next capture of a batch before its turn, if it can.
func (s *files) write(item *bindItem) {
	s.ahead = s.ahead && !s.writer.Full(len(item.order.Records)) && s.place(item) == nil
}

func (s *files) append(items []*bindItem) error {
	if len(items) == 0 {
		return s.finish()
	}
	synced := 0
	for i, item := range items {
		if item.File != "" {
			continue
		}
		if s.writer.Full(len(item.order.Records)) {
			if err := s.sync(items[synced:i]); err != nil {
				return err
			}
			synced = i
			if err := s.finish(); err != nil {
				return err
			}
		}
		if err := s.place(item); err != nil {
			return err
		}
	}
	return s.sync(items[synced:])
}

// place writes a capture to the open file.
func (s *files) place(item *bindItem) error {
	records := item.order.Records
	offset, err := s.writer.Append(records)
	if err != nil {
		return err
	}
	item.Archived = Archived{Tag: item.order.Tag, File: s.writer.Name(), Offset: offset, Length: int64(len(records))}
	if c := item.order.Captures; len(c) > 0 {
		item.Offset, item.Length = offset+c[0].Offset, c[0].Length
	}
	return nil
}

// finish ends the open file; the next is begun when captures come.
func (s *files) finish() error {
	name, err := s.writer.Finish()
	if err == nil && name != "" {
		s.finishIndex(name)
		s.proof.Finish(name, false)
	}
	return err
}

// sync syncs the open file, which ends with items, and lists them in its index.
func (s *files) sync(items []*bindItem) error {
	if len(items) == 0 {
		return nil
	}
	proved := s.prove(items) // while the disk works
	err := s.writer.Sync()
	proved()
	if err != nil {
		return err
	}
	s.line = s.line[:0]
	for _, item := range items {
		item.stored = true
		base := item.begin()
		for _, entry := range item.order.Captures {
			entry.Filename = item.File
			entry.Offset += base
			s.line = entry.Append(s.line)
		}
	}
	s.list(s.line)
	for _, item := range items {
		if order := item.order; order.Whole && len(order.Captures) > 0 {
			if err := s.payloads.Add(&order.Captures[0]); err != nil {
				s.log.WithField("err", err).Warn(
					"index of payloads is not written; those that come again are stored again")
			}
		}
	}
	return nil
}

// list appends the lines of captures that are synced to the index of the open file, where readers find them
// (cdxj.ScanOpen). It is not synced itself: after a crash it is made again from the file.
func (s *files) list(lines []byte) {
	if s.lost {
		return
	}
	var err error
	if s.index == nil {
		s.index, err = os.Create(s.path(s.writer.Name()) + warc.OpenSuffix)
	}
	if err == nil {
		_, err = s.index.Write(lines)
	}
	if err != nil {
		s.lost = true
		s.log.WithFields(logrus.Fields{"file": s.writer.Name(),
			"err": err}).Warn("index is not written; it is made from the file at its end")
	}
}

// path is where the index of a file lies.
func (s *files) path(name string) string { return cdxj.Path(filepath.Join(s.o.Dir, name)) }

// finishIndex sorts the index of a finished file; name is "" for one that was removed. Should it fail, indexBare and
// the next start make it.
func (s *files) finishIndex(name string) {
	var err error
	whole := s.index != nil && !s.lost
	unsorted := ""
	if s.index != nil {
		unsorted = s.index.Name()
		err = s.index.Close()
	}
	switch {
	case err != nil || name == "":
	case whole:
		err = cdxj.SortFile(s.path(name), unsorted)
	default:
		err = cdxj.IndexFile(filepath.Join(s.o.Dir, name))
	}
	if unsorted != "" {
		if e := os.Remove(unsorted); !errors.Is(e, fs.ErrNotExist) { // IndexFile writes and removes it, too
			err = errors.Join(err, e)
		}
	}
	s.index, s.lost = nil, false
	if err != nil {
		s.bare, s.bareAt = append(s.bare, name), time.Now()
		s.log.WithFields(logrus.Fields{"file": name,
			"err": err}).Error("file is not indexed; trying again when captures are stored, at the end, and at the " +
			"next start")
	}
}

// indexRest is how long a file is left alone that could not be indexed: reading a large one takes seconds.
const indexRest = 10 * time.Second

// indexBare tries again to index the files for which there was no room when they were finished.
func (s *files) indexBare() {
	s.bareAt = time.Now()
	s.bare = slices.DeleteFunc(s.bare, func(name string) bool {
		return cdxj.IndexFile(filepath.Join(s.o.Dir, name)) == nil
	})
}

// mend cuts off what was appended in vain and finishes that file.
func (s *files) mend() error {
	if !s.broken {
		return nil
	}
	open := s.writer.Name() != ""
	name, err := s.writer.Abandon()
	if err != nil {
		return err
	}
	if open {
		s.finishIndex(name)
		s.proof.Finish(name, true)
	}
	s.broken = false
	return nil
}

// close finishes the open file and lets go of the directory.
func (s *files) close() error {
	var err error
	s.indexBare()
	if s.writer != nil {
		s.mend() // should it fail, finish does too, and mend has its second chance
		if s.finish() != nil {
			s.broken = true
			err = s.mend()
		}
		s.writer = nil
	}
	err = errors.Join(err, s.payloads.Close(), s.proof.Close())
	if s.claim != nil {
		err = errors.Join(err, s.claim.Close())
		s.claim = nil
	}
	return err
}
