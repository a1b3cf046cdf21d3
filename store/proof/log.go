package proof

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/fsync"
)

const (
	keyFile        = "key"         // below the folder of the logs: the private key of the one that is written here
	checkpointFile = "checkpoint"  // below that of a log: the newest
	checkpoints    = "checkpoints" // those before it, by size
	openSuffix     = ".leaves"     // of the leaves of a file that still grows
)

// keptFile is where a checkpoint goes when a newer one takes its place.
func keptFile(size int64) string { return path.Join(checkpoints, fmt.Sprint(size)) }

// Path is the folder of the logs of an archive, beside that of its WARC files.
func Path(archive string) string {
	return filepath.Join(filepath.Dir(filepath.Clean(archive)), "proof")
}

// Options say where a log is, and of what.
type Options struct {
	Dir     string // of the logs
	Archive string // folder of the WARC files, which are claimed (package folder)
	Prefix  string // of the names of the files that are logged
	// Failed is told of what could not be logged; it is tried again. From any goroutine.
	Failed func(file string, err error)
	Now    func() time.Time // default time.Now
}

// Log is the log that a process writes. Its methods may be called on nil, which logs nothing. One goroutine at a time
// calls them; another one, of its own, adds finished files to the tree.
type Log struct {
	o    Options
	dir  string // of the log
	key  note.Signer
	last *Checkpoint
	tree *tree
	text []byte // leaves of the tile that is not full

	open   *bufio.Writer // of the leaves of the file that grows; nil: there is none
	file   *os.File
	count  int64
	size   int64
	line   []byte // kept for the next leaf
	broken bool   // they are not all there

	mu      sync.Mutex // of queue and working
	queue   []job
	working bool  // a goroutine is taking jobs from the queue; it ends with them
	again   []job // of that goroutine: what could not be logged
	ended   sync.WaitGroup
}

// job is a file that is finished. leaves is where its leaves are; "": they are read from the file.
type job struct {
	name, leaves   string
	records, bytes int64
	gone           bool // it is logged also when it is not there any more
}

// Open takes over the log of a folder, or begins one, and logs the files of the prefix that are not in it yet, without
// waiting for that. Close it.
func Open(o Options) (*Log, error) {
	l, err := takeOver(o)
	if err != nil {
		return nil, err
	}
	missing, err := l.missing()
	if err != nil {
		return nil, fmt.Errorf("log in %s: %w", l.dir, err)
	}
	for _, name := range missing {
		l.enqueue(job{name: name})
	}
	return l, nil
}

// Complete logs the finished files of the prefix that are not in the log yet.
func Complete(o Options) (err error) {
	o.Failed = func(file string, failed error) { err = errors.Join(err, fmt.Errorf("log %s: %w", file, failed)) }
	l, bad := Open(o)
	if bad != nil {
		return bad
	}
	bad = l.Close()
	return errors.Join(err, bad)
}

func takeOver(o Options) (*Log, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := warc.MakeDir(o.Dir); err != nil {
		return nil, err
	}
	l := &Log{o: o}
	public, err := l.takeKey()
	if err != nil {
		return nil, err
	}
	if err := l.load(public); err != nil {
		return nil, fmt.Errorf("log in %s: %w", l.dir, err)
	}
	left, err := filepath.Glob(filepath.Join(o.Dir, "*"+openSuffix))
	for _, path := range left { // of a process that died: of what is finished they may lack some
		err = errors.Join(err, os.Remove(path))
	}
	return l, err
}

// Mend logs what was done to the files of an archive that nobody writes now: those that are gone, and those that were
// rewritten, by name. So their records are what is there now, and that they were others stays in the log. A log whose
// key is elsewhere cannot be mended.
func Mend(o Options, rewritten []string) (mended []string, err error) {
	if _, err := os.Stat(filepath.Join(o.Dir, keyFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	l, err := takeOver(o)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	if err := l.files().groups(func(g group) bool {
		_, gone := os.Stat(filepath.Join(o.Archive, g.file))
		lost := errors.Is(gone, fs.ErrNotExist) && g.end > g.begin+1
		if !seen[g.file] && (lost || slices.Contains(rewritten, g.file)) {
			mended = append(mended, g.file)
		}
		seen[g.file] = true
		return true
	}); err != nil {
		return nil, err
	}
	for i, name := range mended {
		if err := l.log(job{name: name, gone: true}); err != nil {
			return mended[:i], err
		}
	}
	return mended, nil
}

// Lengths are those of the WARC files in the logs of a folder, as they were logged last, in bytes. What stands behind
// them in a file was not stored by its archivist. A log that is damaged has none.
func Lengths(dir string) map[string]int64 {
	lengths := map[string]int64{}
	home := Disk(dir)
	names, _ := Logs(home)
	for _, name := range names {
		last, err := checkpoint(home, name, checkpointFile)
		if err != nil {
			continue
		}
		f := files{home, name, last.Size, away(home, name)}
		_ = f.groups(func(g group) bool {
			if _, later := lengths[g.file]; !later {
				lengths[g.file] = g.bytes
			}
			return true
		})
	}
	return lengths
}

// takeKey reads the private key, or makes one, and returns the public one. The key comes first: without a checkpoint a
// log is empty.
func (l *Log) takeKey() (public string, err error) {
	path := filepath.Join(l.o.Dir, keyFile)
	text, err := readBounded(path, maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		var private string
		if private, public, err = newKey(); err != nil {
			return "", err
		}
		text = []byte(private + "\n" + public + "\n")
		err = fsync.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("key of the log: %w", err)
	}
	private, public, _ := strings.Cut(string(text), "\n")
	public = strings.TrimSpace(public)
	key, err := note.NewSigner(private)
	verifier, bad := note.NewVerifier(public)
	if err != nil || bad != nil || verifier.Name() != key.Name() || verifier.KeyHash() != key.KeyHash() ||
		!isLog(key.Name()) {
		return "", fmt.Errorf("%s is no key of a log; move it aside, and a new log begins", path) // and never the text
	}
	l.key, l.dir = key, filepath.Join(l.o.Dir, key.Name())
	return public, nil
}

// files are its tiles on the disk.
func (l *Log) files() *files {
	disk := Disk(l.o.Dir)
	return &files{disk, l.key.Name(), l.last.Size, away(disk, l.key.Name())}
}

// load reads what the newest checkpoint names. A log without one is empty.
func (l *Log) load(public string) error {
	if err := warc.MakeDir(filepath.Join(l.dir, checkpoints)); err != nil {
		return err
	}
	text, err := readBounded(filepath.Join(l.dir, checkpointFile), maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		if some, _ := os.ReadDir(filepath.Join(l.dir, checkpoints)); len(some) > 0 {
			return errors.New("its newest checkpoint is gone; henro check says more")
		}
		l.last, l.tree = &Checkpoint{Log: l.key.Name(), Key: public}, new(tree)
		return nil
	}
	if err != nil {
		return err
	}
	c, err := ParseCheckpoint(text)
	if err != nil {
		return fmt.Errorf("checkpoint %w", err)
	}
	if c.Key != public {
		return errors.New("its checkpoint is by another key")
	}
	l.last, l.text = c, nil
	f := l.files()
	if l.tree, err = f.load(l.last); err != nil {
		return err
	}
	if l.last.Size%perTile > 0 {
		var lines [][]byte
		if lines, err = f.leaves(l.last.Size / perTile); err == nil {
			l.text = bytes.Join(lines, nil)
		}
	}
	return err
}

// missing are the finished files that are not logged, by name.
func (l *Log) missing() (names []string, err error) {
	known := map[string]bool{}
	f := l.files()
	if err := f.groups(func(g group) bool { known[g.file] = true; return true }); err != nil {
		return nil, err
	}
	paths, err := warc.Files(l.o.Archive)
	for _, path := range paths {
		if name := filepath.Base(path); strings.HasPrefix(name, l.o.Prefix+"-") && !known[name] {
			names = append(names, name)
		}
	}
	return names, err
}

// Part is a record among those that were stored together.
type Part struct {
	Length    int
	Type      warc.Type
	At        time.Time
	TargetURI string
}

// AppendParts appends the records of an exchange, or, without its members, each of the captures.
func AppendParts(parts []Part, captures []cdxj.Entry, m warc.Members) []Part {
	if m.Capture == 0 || len(captures) != 1 {
		for _, c := range captures {
			parts = append(parts, Part{int(c.Length), warc.Resource, c.At, c.URL})
		}
		return parts
	}
	c, kinds := &captures[0], [...]warc.Type{warc.Response, warc.Request, warc.Metadata}
	if m.Revisit {
		kinds[0] = warc.Revisit
	}
	for i, n := range []int{m.Capture, m.Request, m.Metadata} {
		if n > 0 {
			parts = append(parts, Part{n, kinds[i], c.At, c.URL})
		}
	}
	return parts
}

// Add takes in records that lie one behind the other from an offset of the file that grows. Of a file of which
// something was not taken in, or without its parts, the records are read when it is finished.
func (l *Log) Add(name string, offset int64, records []byte, parts []Part) {
	if l == nil || l.broken {
		return
	}
	if l.file == nil {
		if err := l.begin(name, offset); err != nil {
			l.lose(name, err)
			return
		}
	}
	var leaf Leaf
	for i, p := range parts {
		if l.size != offset || p.Length > len(records) {
			l.lose(name, errors.New("records are not one behind the other"))
			return
		}
		if i > 0 && p.At.Equal(parts[i-1].At) && p.TargetURI == parts[i-1].TargetURI { // as in most exchanges
			leaf.Type = typed(p.Type)
		} else {
			leaf = record(name, p.Type, stamp(p.At), p.TargetURI)
		}
		leaf.Offset, leaf.Length, leaf.Sum = offset, int64(p.Length), sha256.Sum256(records[:p.Length])
		l.line = leaf.Append(l.line[:0])
		if _, err := l.open.Write(l.line); err != nil {
			l.lose(name, err)
			return
		}
		records, offset = records[p.Length:], offset+int64(p.Length)
		l.count, l.size = l.count+1, offset
	}
	if len(records) > 0 {
		l.lose(name, nil)
	}
}

// begin makes the file of the leaves, with those of what is in the WARC file already: a warcinfo.
func (l *Log) begin(name string, before int64) (err error) {
	if l.file, err = os.Create(filepath.Join(l.o.Dir, name+openSuffix)); err != nil {
		return err
	}
	l.open = bufio.NewWriterSize(l.file, 1<<16)
	l.count, l.size = 0, 0
	f, err := os.Open(filepath.Join(l.o.Archive, name+warc.OpenSuffix))
	if err != nil {
		return err
	}
	defer f.Close()
	l.count, l.size, err = walked(l.open, io.NewSectionReader(f, 0, before), name)
	return err
}

// lose notes that the leaves of the file that grows are not all there.
func (l *Log) lose(name string, err error) {
	if l.broken = true; err != nil {
		l.o.Failed(name, err)
	}
}

// Finish logs the file that grew, under its name; without one there is none. It does not wait for that. cut: what was
// added last may not be there any more.
func (l *Log) Finish(name string, cut bool) {
	if l == nil {
		return
	}
	j := job{name: name, records: l.count, bytes: l.size}
	if l.file != nil {
		if err := errors.Join(l.open.Flush(), l.file.Close()); err != nil {
			l.lose(name, err)
		}
		if j.leaves = l.file.Name(); l.broken || cut || name == "" {
			_ = os.Remove(j.leaves) // else the next start does
			j.leaves = ""
		}
	}
	l.open, l.file, l.broken = nil, nil, false
	if name != "" {
		l.enqueue(j)
	}
}

// Close waits until what is finished is logged.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.Finish("", true)
	l.ended.Wait()
	for _, j := range takeAll(&l.again) {
		l.do(j)
	}
	return nil
}

// enqueue has a file logged beside what the process does.
func (l *Log) enqueue(j job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue = append(l.queue, j); !l.working {
		l.working = true
		l.ended.Go(l.work)
	}
}

// work logs files until none is left.
func (l *Log) work() {
	for {
		l.mu.Lock()
		if l.working = len(l.queue) > 0; !l.working {
			l.mu.Unlock()
			return
		}
		j := l.queue[0]
		l.queue = l.queue[1:]
		l.mu.Unlock()
		for _, j := range append(takeAll(&l.again), j) {
			l.do(j)
		}
	}
}

func (l *Log) do(j job) {
	if err := l.log(j); err != nil {
		l.o.Failed(j.name, err)
		l.again = append(l.again, j)
	}
}

func takeAll(jobs *[]job) []job {
	all := *jobs
	*jobs = nil
	return all
}

// log adds the leaves of one file, and signs what is there then. After an error the log is what it was.
func (l *Log) log(j job) (err error) {
	if l.tree == nil {
		if err := l.load(l.last.Key); err != nil {
			return err
		}
	}
	defer func() {
		if err != nil {
			l.tree = nil // what is on disk counts
		}
	}()
	a := &appender{log: l, dirs: map[string]bool{}}
	if j.leaves == "" {
		err = a.fromFile(j.name, j.gone)
	} else {
		err = a.fromLeaves(j)
	}
	if err == nil {
		err = a.commit()
	}
	err = errors.Join(err, a.sync())
	if err == nil && j.leaves != "" {
		_ = os.Remove(j.leaves) // else the next start does
	}
	return err
}
