package warc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// OpenSuffix ends the name of a file that still grows.
const OpenSuffix = ".open"

// WriterOptions say where the files of a Writer lie, and how they are called.
type WriterOptions struct {
	Dir    string // must exist
	Prefix string // begins every name; letters, digits, - and _. Default HENRO
	Host   string // of this machine, for the names. Default the system's
	Port   int    // of this process, for the names: tells apart several on one machine; 0 when it has none
	// MaxFile is the size in bytes from which a file is full. Default 1 GB: the field's custom, small enough to be
	// copied and checked in one go. A capture larger than that gets a file of its own.
	MaxFile int64
	// MaxAge is how long after its beginning a file is full, whatever its size. Default 0: it is not by that.
	MaxAge  time.Duration
	Info    Info    // for the warcinfo at the head of each file
	Records Options // must be those of the Builders whose bytes are appended
	Disk    Disk    // default OS
	Now     func() time.Time
}

// DefaultWriterOptions returns the defaults.
func DefaultWriterOptions() WriterOptions {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return WriterOptions{Prefix: "HENRO", Host: host, MaxFile: 1e9, Records: DefaultOptions(), Disk: OS{},
		Now: time.Now}
}

// Validate says what is wrong with o.
func (o WriterOptions) Validate() error {
	switch {
	case o.Dir == "":
		return errors.New("warc: no directory to write to")
	case o.Prefix == "" || strings.Trim(o.Prefix, nameChars) != "":
		return fmt.Errorf("warc: prefix %q is not made of letters, digits, - and _", o.Prefix)
	case o.MaxFile < 1<<10:
		return fmt.Errorf("warc: files of at most %d bytes are too small", o.MaxFile)
	case o.Disk == nil || o.Now == nil:
		return errors.New("warc: no disk or clock")
	}
	return o.Records.Validate()
}

const nameChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// A Writer appends the bytes of finished records to files of bounded size, one after the other. It belongs to one
// goroutine.
//
// Bytes count as stored once Sync has returned nil. When an Append or a Sync fails, what was appended since the last
// Sync is in doubt: Abandon cuts it off, and the next Append begins a new file. A file whose Sync failed is not written
// to again, because the system may have dropped the pages it could not write and will not say so twice.
type Writer struct {
	options WriterOptions
	builder *Builder
	serial  int      // of the next file
	file    DiskFile // nil: none is open
	name    string   // of the open file, without folder and OpenSuffix
	begun   time.Time
	size    int64 // appended
	synced  int64 // of these, known to be on the disk
	failed  error // since the last Sync: only Abandon is left; what fails later says it again
}

// NewWriter returns a Writer; it makes its first file when the first bytes come.
func NewWriter(o WriterOptions) (*Writer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	b, err := NewBuilder(o.Records)
	if err != nil {
		return nil, err
	}
	return &Writer{options: o, builder: b}, nil
}

// Describe changes what the files that are begun from now on say of themselves.
func (w *Writer) Describe(info Info) { w.options.Info = info }

// Name returns the name that the open file will have once it is finished, or "" when none is open.
func (w *Writer) Name() string { return w.name }

// Full reports whether n more bytes would make the open file too large, or it is too old, so that the owner should
// Finish it first.
func (w *Writer) Full(n int) bool {
	return w.file != nil && (w.size+int64(n) > w.options.MaxFile ||
		w.options.MaxAge > 0 && !w.options.Now().Before(w.Ripe()))
}

// Ripe is when the open file will be full by its age; zero: none is open, or there is no such age.
func (w *Writer) Ripe() time.Time {
	if w.file == nil || w.options.MaxAge <= 0 {
		return time.Time{}
	}
	return w.begun.Add(w.options.MaxAge)
}

// Append writes the bytes of finished records, which then outlive this process, and returns where they begin. It opens
// a file if none is open. It never closes one: the owner does, who wants to index it.
func (w *Writer) Append(records []byte) (offset int64, err error) {
	switch {
	case w.failed != nil:
		return 0, w.failed
	case w.file == nil:
		if err := w.open(); err != nil {
			return 0, err
		}
	}
	offset = w.size
	w.size += int64(len(records))
	if _, err := w.file.Write(records); err != nil {
		w.failed = fmt.Errorf("append to %s: %w", w.name, err)
		return offset, w.failed
	}
	return offset, nil
}

// open makes the next file and writes its warcinfo.
func (w *Writer) open() error {
	for {
		now := w.options.Now()
		name := w.fileName(now)
		w.serial++
		path := filepath.Join(w.options.Dir, name)
		f, err := w.options.Disk.Create(path + OpenSuffix)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
		info := w.builder.AppendInfo(nil, &w.options.Info, name, now)
		if _, err = f.Write(info); err == nil {
			err = w.options.Disk.SyncDir(w.options.Dir)
		}
		w.file, w.name, w.begun, w.size, w.synced = f, name, now, int64(len(info)), 0
		if err != nil {
			w.failed = fmt.Errorf("begin %s: %w", name, err)
			return w.failed
		}
		return nil
	}
}

// fileName returns PREFIX-timestamp17-serial-pid~host~port and the suffix. The timestamp has milliseconds.
func (w *Writer) fileName(now time.Time) string {
	host := strings.Map(func(r rune) rune {
		if r == '.' || strings.ContainsRune(nameChars, r) {
			return r
		}
		return '_'
	}, w.options.Host)
	stamp := strings.Replace(now.UTC().Format("20060102150405.000"), ".", "", 1)
	return fmt.Sprintf("%s-%s-%05d-%d~%s~%d%s",
		w.options.Prefix, stamp, w.serial, os.Getpid(), host, w.options.Port, w.options.Records.Compression.Suffix())
}

// Sync returns once everything appended is on the disk.
func (w *Writer) Sync() error {
	if w.file == nil || w.size == w.synced || w.failed != nil {
		return w.failed
	}
	if err := w.file.Sync(); err != nil {
		w.failed = fmt.Errorf("sync %s: %w", w.name, err)
		return w.failed
	}
	w.synced = w.size
	return nil
}

// Finish syncs the open file and gives it its final name, which it returns; "" when none was open. When it fails,
// Abandon is left.
func (w *Writer) Finish() (name string, err error) {
	if w.file == nil {
		return "", nil
	}
	if err := w.Sync(); err != nil {
		return "", err
	}
	return w.rename()
}

// Abandon cuts off what was appended since the last Sync and finishes the file with what it holds, whose name it
// returns; a file with nothing synced is removed. When it fails itself, it may be called again.
func (w *Writer) Abandon() (name string, err error) {
	if w.file == nil {
		return "", nil
	}
	w.failed = errors.New("warc: the file was abandoned")
	if w.synced == 0 {
		w.file.Close() // nothing in it counts, not even what closing might say
		path := filepath.Join(w.options.Dir, w.name) + OpenSuffix
		if err := w.options.Disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("remove %s: %w", w.name, err)
		}
		w.forget()
		return "", nil
	}
	if w.size != w.synced {
		if err := w.file.Truncate(w.synced); err != nil {
			return "", fmt.Errorf("cut %s: %w", w.name, err)
		}
		if err := w.file.Sync(); err != nil {
			return "", fmt.Errorf("cut %s: %w", w.name, err)
		}
		w.size = w.synced
	}
	return w.rename()
}

// rename closes the open file and takes away its suffix.
func (w *Writer) rename() (name string, err error) {
	path := filepath.Join(w.options.Dir, w.name)
	// A file that is already closed was closed by an earlier try; it is synced up to its end, so closing has nothing to
	// lose.
	if err := w.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		w.failed = fmt.Errorf("close %s: %w", w.name, err)
		return "", w.failed
	}
	if err := w.options.Disk.Rename(path+OpenSuffix, path); err != nil {
		w.failed = fmt.Errorf("finish %s: %w", w.name, err)
		return "", w.failed
	}
	name = w.name
	w.forget()
	// What the file holds is safe under either name: one that loses its new name with the power is repaired at the next
	// start.
	_ = w.options.Disk.SyncDir(w.options.Dir)
	return name, nil
}

func (w *Writer) forget() {
	w.file, w.name, w.size, w.synced, w.failed = nil, "", 0, 0, nil
}
