package archivist_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/actortest"
	"henro/actors/archivist"
	"henro/messages/weburl"
	"henro/store/archive/cdxj"
	"henro/store/archive/folder"
	"henro/store/archive/warc"
	"henro/store/proof"
)

// faulty is a disk whose operations fail in a certain row of times, half done where they can be, and whose syncs may be
// held up.
type faulty struct {
	warc.OS
	mu         sync.Mutex
	n          int           // operations so far
	from, upTo int           // these fail; 0: none
	err        error         // with this
	hold       chan struct{} // if not nil, every sync of a file waits for one
}

func (d *faulty) fail() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.n++; d.n >= d.from && d.n < d.upTo {
		return d.err
	}
	return nil
}

// failNext has the next n operations fail.
func (d *faulty) failNext(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.from, d.upTo = d.n+1, d.n+1+n
}

func (d *faulty) Create(name string) (warc.DiskFile, error) {
	if err := d.fail(); err != nil {
		return nil, err
	}
	f, err := d.OS.Create(name)
	return &faultyFile{f, d}, err
}

func (d *faulty) Rename(from, to string) error {
	if err := d.fail(); err != nil {
		return err
	}
	return d.OS.Rename(from, to)
}

func (d *faulty) Remove(name string) error {
	if err := d.fail(); err != nil {
		return err
	}
	return d.OS.Remove(name)
}

type faultyFile struct {
	warc.DiskFile
	disk *faulty
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.disk.fail(); err != nil {
		n, _ := f.DiskFile.Write(p[:len(p)/2])
		return n, err
	}
	return f.DiskFile.Write(p)
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.disk.fail(); err != nil {
		return err
	}
	return f.DiskFile.Truncate(size)
}

func (f *faultyFile) Sync() error {
	if f.disk.hold != nil {
		<-f.disk.hold
	}
	return f.disk.fail() // without the real one, which costs the tests seconds and shows nothing
}

func archivistOptions(dir string, disk warc.Disk) archivist.Options {
	o := archivist.DefaultOptions()
	o.Writer.Dir, o.Writer.Disk, o.Proof = dir, disk, dir+".proof"
	return o
}

// capture is an order to archive page n.
func capture(t *testing.T, n int) *archivist.Archive {
	t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	url := weburl.MustParse(fmt.Sprintf("http://docs.test/%03d", 999-n))
	x := warc.Exchange{
		URI: url.String(), At: time.Now(), Request: []byte("GET / HTTP/1.1\r\n\r\n"),
		Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Body: []byte(url.String()),
	}
	records, m := b.AppendExchange(nil, &x)
	return &archivist.Archive{Records: records, Captures: []cdxj.Entry{cdxj.New(url, &x, m, 200, "text/html")},
		Members: m, Tag: n}
}

// archived returns the captures that a probe was told are stored, and the tags of those that failed, in order.
func archived(p *actortest.Probe) (stored []archivist.Archived, failed []any) {
	for _, r := range p.Received() {
		switch m := r.Message.(type) {
		case *archivist.ArchivedBatch:
			stored = append(stored, m.Captures...)
		case *archivist.Failed:
			failed = append(failed, m.Tags...)
		}
	}
	return stored, failed
}

// check reads the finished files of dir and fails unless every capture told is where it was told, no page is there
// twice, only whole files are left, and every index is that of its file. It returns the number of captures in the
// files.
func check(t *testing.T, dir string, told []archivist.Archived) int {
	t.Helper()
	for _, c := range told {
		data, err := os.ReadFile(filepath.Join(dir, c.File))
		if err != nil {
			t.Fatal(err)
		}
		e, err := warc.At(bytes.NewReader(data[:c.Offset+c.Length]), c.Offset)
		if err != nil {
			t.Fatalf("capture %v at %d of %s: %v", c.Tag, c.Offset, c.File, err)
		}
		block, err := io.ReadAll(e)
		if want := fmt.Sprintf("http://docs.test/%03d", 999-c.Tag.(int)); err != nil ||
			!strings.HasSuffix(string(block), want) {
			t.Errorf("capture %v at %d of %s: %q %v", c.Tag, c.Offset, c.File, block, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	pages := make(map[string]int)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasSuffix(path, ".warc.gz"):
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			walked, err := warc.Walk(f, func(e *warc.Entry) error {
				if e.Type() == warc.Response {
					pages[e.TargetURI()]++
				}
				return nil
			})
			if err != nil || len(walked.Damaged) > 0 {
				t.Errorf("%s: %+v %v", e.Name(), walked, err)
			}
			f.Close()
			got, err := os.ReadFile(cdxj.Path(path))
			if err != nil {
				t.Error(err)
			}
			if err := cdxj.IndexFile(path); err != nil { // over the index of its writer
				t.Error(err)
			}
			want, err := os.ReadFile(cdxj.Path(path))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %v\n%s\nwant\n%s", cdxj.Path(e.Name()), err, got, want)
			}
		case strings.HasSuffix(path, ".cdxj"), strings.HasSuffix(path, ".lock"):
		default:
			t.Errorf("%s is left", e.Name())
		}
	}
	logged, err := proof.Check(proof.Disk(dir+".proof"), proof.Folder(dir), nil, func(uint64, uint64) {}, t.Errorf)
	if files, _ := warc.Files(dir); err != nil || len(logged) != 1 || logged[0].Files != len(files) {
		t.Errorf("%d files are there, logged is %+v; %v", len(files), logged, err)
	}
	for uri, n := range pages {
		if n > 1 {
			t.Errorf("%s is there %d times", uri, n)
		}
	}
	return len(pages)
}

func TestCapturesShareASyncAndItsAnswer(t *testing.T) {
	dir := t.TempDir()
	var told []archivist.Archived
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		one, two := actortest.NewProbe(t, system, "one"), actortest.NewProbe(t, system, "two")
		pid := system.Root.Spawn(archivist.Props(archivistOptions(dir, warc.OS{}), actortest.Log()))
		for n := range 6 {
			[]*actortest.Probe{one, two}[n%2].Tell(pid, capture(t, n))
			actortest.Pass(10 * time.Millisecond)
		}
		system.Root.Send(pid, capture(t, 6)) // from nobody: stored all the same
		start := time.Now()
		actortest.Pass(time.Second)
		for i, p := range []*actortest.Probe{one, two} {
			heard := p.Received()
			if len(heard) != 1 || heard[0].At.Sub(start) != 40*time.Millisecond {
				t.Fatalf("probe %d heard %v", i, heard)
			}
			batch := heard[0].Message.(*archivist.ArchivedBatch)
			for k, c := range batch.Captures {
				if c.Tag != 2*k+i {
					t.Errorf("probe %d: capture %d is %v", i, k, c.Tag)
				}
			}
			told = append(told, batch.Captures...)
		}
		if open, err := warc.Leftovers(dir, "HENRO"); err != nil || len(open) != 1 ||
			filepath.Base(open[0]) != told[0].File+warc.OpenSuffix {
			t.Errorf("open files are %v %v", open, err)
		}
	})
	if n := check(t, dir, told); n != 7 || len(told) != 6 {
		t.Errorf("%d captures, %d told", n, len(told))
	}
}

func TestAHurriedSyncWaitsForNobody(t *testing.T) {
	dir := t.TempDir()
	var told []archivist.Archived
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		p := actortest.NewProbe(t, system, "slave")
		pid := system.Root.Spawn(archivist.Props(archivistOptions(dir, warc.OS{}), actortest.Log()))
		p.Tell(pid, &archivist.Sync{}) // nothing waits: it is not for later ones
		p.Tell(pid, capture(t, 0))
		actortest.Pass(10 * time.Millisecond)
		if heard := p.Received(); len(heard) != 0 {
			t.Fatalf("stored without being hurried: %v", heard)
		}
		start := time.Now()
		p.Tell(pid, capture(t, 1))
		p.Tell(pid, &archivist.Sync{})
		actortest.Pass(0)
		told, _ = archived(p)
		if len(told) != 2 || time.Since(start) != 0 {
			t.Errorf("%d stored at once", len(told))
		}
		p.Tell(pid, capture(t, 2))
		actortest.Pass(99 * time.Millisecond)
		if heard := p.Received(); len(heard) != 1 {
			t.Errorf("the next is hurried too: %v", heard)
		}
		actortest.Pass(time.Millisecond)
		told, _ = archived(p)
	})
	if n := check(t, dir, told); n != 3 || len(told) != 3 {
		t.Errorf("%d captures, %d told", n, len(told))
	}
}

func TestFilesSayWhoCrawlsFromWhenItWasSaid(t *testing.T) {
	dir := t.TempDir()
	var told []archivist.Archived
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		p := actortest.NewProbe(t, system, "slave")
		o := archivistOptions(dir, warc.OS{})
		o.SyncBytes, o.Writer.MaxFile, o.Writer.Info.Software = 1, 1<<10, "henro/test" // a file for each capture
		pid := system.Root.Spawn(archivist.Props(o, actortest.Log()))
		for n := range 3 {
			if n != 1 {
				p.Tell(pid, &archivist.Describe{Operator: fmt.Sprint("operator ", n),
					UserAgent: fmt.Sprint("agent/", n)})
			}
			p.Tell(pid, capture(t, n))
			actortest.Pass(time.Second)
		}
		told, _ = archived(p)
	})
	if n := check(t, dir, told); n != 3 {
		t.Fatalf("%d captures", n)
	}
	for n, said := range []int{0, 0, 2} {
		data, err := os.ReadFile(filepath.Join(dir, told[n].File))
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(unpacked)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), fmt.Sprintf("operator: operator %d\r\n", said)) ||
			!strings.Contains(string(text), fmt.Sprintf("http-header-user-agent: agent/%d\r\n", said)) ||
			!strings.Contains(string(text), "software: henro/test\r\n") {
			t.Errorf("file %d says %s", n, text[:min(len(text), 900)])
		}
	}
}

func TestManyBytesAreSyncedAtOnceAndFilesRoll(t *testing.T) {
	dir := t.TempDir()
	var told []archivist.Archived
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		p := actortest.NewProbe(t, system, "slave")
		o := archivistOptions(dir, warc.OS{})
		o.SyncBytes, o.Writer.MaxFile = 2000, 4000
		pid := system.Root.Spawn(archivist.Props(o, actortest.Log()))
		start := time.Now()
		for n := range 40 {
			p.Tell(pid, capture(t, n))
		}
		actortest.Pass(0)
		told, _ = archived(p)
		if len(told) < 30 || time.Since(start) != 0 {
			t.Errorf("%d stored at once", len(told))
		}
		actortest.Pass(time.Second)
		told, _ = archived(p)
	})
	files := make(map[string]bool)
	for i, c := range told {
		files[c.File] = true
		if c.Tag != i {
			t.Errorf("capture %d is %v", i, c.Tag)
		}
	}
	if n := check(t, dir, told); n != 40 || len(told) != 40 || len(files) < 5 {
		t.Errorf("%d captures in %d files, %d told", n, len(files), len(told))
	}
}

// TestFilesCloseByAge: a file is finished so long after its beginning, though nothing comes any more, also where the
// disk fails at it, and the next one is begun by the next capture.
func TestFilesCloseByAge(t *testing.T) {
	for faults := range 3 {
		dir, disk := t.TempDir(), &faulty{err: syscall.EIO}
		synctest.Test(t, func(t *testing.T) {
			system := actortest.System(t)
			p := actortest.NewProbe(t, system, "slave")
			o := archivistOptions(dir, disk)
			o.Writer.MaxAge = 10 * time.Minute
			pid := system.Root.Spawn(archivist.Props(o, actortest.Log()))
			p.Tell(pid, capture(t, 0))
			actortest.Pass(5 * time.Minute)
			p.Tell(pid, capture(t, 1))
			actortest.Pass(5*time.Minute - time.Second)
			if files, _ := warc.Files(dir); len(files) != 0 {
				t.Errorf("%v: finished after %v", files, 10*time.Minute-time.Second)
			}
			disk.failNext(faults)
			actortest.Pass(3 * time.Minute)
			told, failed := archived(p)
			if n := check(t, dir, told); n != 2 || len(told) != 2 || len(failed) > 0 {
				t.Errorf("%d captures in finished files, %d told, %d failed", n, len(told), len(failed))
			}
			p.Tell(pid, capture(t, 2))
			actortest.Pass(11 * time.Minute)
			told, _ = archived(p)
			files, _ := warc.Files(dir)
			if n := check(t, dir, told); n != 3 || len(told) != 3 || len(files) != 2 {
				t.Errorf("%d captures in %v, %d told", n, files, len(told))
			}
		})
	}
}

func TestTheArchivistRepairsWhatWasLeft(t *testing.T) {
	dir := t.TempDir()
	torn := capture(t, 1).Records
	if err := os.WriteFile(filepath.Join(dir, "HENRO-1.warc.gz.open"),
		append(capture(t, 0).Records, torn[:len(torn)-1]...), 0o600); err != nil {
		t.Fatal(err)
	}
	// died before its index was made
	if err := os.WriteFile(filepath.Join(dir, "HENRO-0.warc.gz"), capture(t, 5).Records, 0o600); err != nil {
		t.Fatal(err)
	}
	// and while another one was written
	if err := os.WriteFile(filepath.Join(dir, "HENRO-0.cdxj.7.tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		pid := system.Root.Spawn(archivist.Props(archivistOptions(dir, warc.OS{}), actortest.Log()))
		p := actortest.NewProbe(t, system, "slave")
		actortest.Pass(0)
		other := system.Root.Spawn(archivist.Props(archivistOptions(dir, warc.OS{}), actortest.Log()))
		p.Tell(other, capture(t, 3))
		actortest.Pass(1500 * time.Millisecond)
		if heard := p.Received(); len(heard) != 1 || !errors.Is(heard[0].Message.(*archivist.Failed).Err,
			folder.ErrInUse) {
			t.Errorf("the second archivist of a directory says %v", heard)
		}
		system.Root.Poison(pid)
		p.Tell(other, capture(t, 4))
		actortest.Pass(3 * time.Second)
		if stored, failed := archived(p); len(stored) != 1 || stored[0].Tag != 4 || len(failed) != 1 {
			t.Errorf("after the first has left, stored %v, failed %v", stored, failed)
		}
	})
	if n := check(t, dir, nil); n != 4 { // of the torn one only its request was torn
		t.Errorf("%d captures", n)
	}
}

func TestPoisonDrainsTheArchivist(t *testing.T) {
	for _, busy := range []bool{false, true} {
		dir := t.TempDir()
		var told []archivist.Archived
		synctest.Test(t, func(t *testing.T) {
			system := actortest.System(t)
			p := actortest.NewProbe(t, system, "slave")
			disk := &faulty{hold: make(chan struct{}, 10)}
			o := archivistOptions(dir, disk)
			o.SyncBytes = 1
			pid := system.Root.Spawn(archivist.Props(o, actortest.Log()))
			for n := range 5 {
				p.Tell(pid, capture(t, n))
				if busy {
					synctest.Wait() // the binder waits for its sync
				}
			}
			system.Root.Poison(pid)
			for range 10 {
				disk.hold <- struct{}{}
			}
			actortest.Pass(time.Second)
			told, _ = archived(p)
		})
		if n := check(t, dir, told); n != 5 || len(told) != 5 {
			t.Errorf("%d captures, %d told", n, len(told))
		}
	}
}

func TestTheArchivistNeverWaitsForTheDisk(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		p := actortest.NewProbe(t, system, "slave")
		disk := &faulty{hold: make(chan struct{}, 10)}
		o := archivistOptions(dir, disk)
		o.SyncBytes, o.MaxPending = 1, 3000
		pid := system.Root.Spawn(archivist.Props(o, actortest.Log()))
		for n := range 20 {
			p.Tell(pid, capture(t, n))
		}
		actortest.Pass(time.Second)
		stored, failed := archived(p)
		if len(stored) != 0 || len(failed) < 10 {
			t.Errorf("while the disk keeps still: %d stored, %d refused", len(stored), len(failed))
		}
		for _, r := range p.Received() {
			if m := r.Message.(*archivist.Failed); m.Err != archivist.ErrBehind || m.DiskFull {
				t.Errorf("refused with %v", m.Err)
			}
		}
		close(disk.hold)
		actortest.Pass(time.Second)
		if stored, again := archived(p); len(stored)+len(again) != 20 {
			t.Errorf("%d stored, %d refused", len(stored), len(again))
		}
	})
}

func TestAFullDiskIsSaidAndWaitedFor(t *testing.T) {
	for from := 3; from < 6; from++ {
		dir := t.TempDir()
		var told []archivist.Archived
		synctest.Test(t, func(t *testing.T) {
			system := actortest.System(t)
			p := actortest.NewProbe(t, system, "slave")
			disk := &faulty{from: from, upTo: 14, err: &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}}
			pid := system.Root.Spawn(archivist.Props(archivistOptions(dir, disk), actortest.Log()))
			start := time.Now()
			p.Reply(func(c actor.Context, message any) { // what failed is sent again
				if m, ok := message.(*archivist.Failed); ok {
					if !m.DiskFull {
						t.Errorf("failed with %v", m.Err)
					}
					for _, tag := range m.Tags {
						c.Request(pid, capture(t, tag.(int)))
					}
				}
			})
			for n := range 3 {
				p.Tell(pid, capture(t, n))
				synctest.Wait() // it is written, or was to be
			}
			actortest.Pass(time.Hour)
			told, _ = archived(p)
			tries := len(p.Received()) - 1
			if tries < 3 || tries > 12 {
				t.Errorf("tried %d times in %v", tries, time.Since(start))
			}
		})
		if n := check(t, dir, told); n != 3 || len(told) != 3 {
			t.Errorf("%d captures, %d told", n, len(told))
		}
	}
}

// TestAFileThatCouldNotBeIndexedIsIndexedLater, when captures can be stored again: a slave may run for months before
// its next start.
func TestAFileThatCouldNotBeIndexedIsIndexedLater(t *testing.T) {
	dir := t.TempDir()
	var told []archivist.Archived
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		p := actortest.NewProbe(t, system, "slave")
		o := archivistOptions(dir, warc.OS{})
		o.Writer.MaxFile = 1500
		pid := system.Root.Spawn(archivist.Props(o, actortest.Log()))
		store := func(n int) {
			p.Tell(pid, capture(t, n))
			actortest.Pass(time.Second)
			told, _ = archived(p)
		}
		store(0)
		first := cdxj.Path(filepath.Join(dir, told[0].File))
		if err := os.Mkdir(first, 0o755); err != nil { // no file can have this name now
			t.Fatal(err)
		}
		for n := 1; told[len(told)-1].File == told[0].File; n++ {
			store(n)
		}
		if err := os.Remove(first); err != nil {
			t.Fatal(err)
		}
		actortest.Pass(time.Minute)
		store(len(told))
		if _, err := os.Stat(first); err != nil {
			t.Errorf("while it runs: %v", err)
		}
	})
	check(t, dir, told)
}

// What has been answered is found by a reader of the files that still grow, in the order in which it came.
func TestWhatIsStoredIsFoundInTheIndexThatGrows(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		p := actortest.NewProbe(t, system, "slave")
		pid := system.Root.Spawn(archivist.Props(archivistOptions(dir, warc.OS{}), actortest.Log()))
		for n := range 5 {
			p.Tell(pid, capture(t, n))
			actortest.Pass(time.Second)
			told, _ := archived(p)
			file, err := os.Open(filepath.Join(dir, told[0].File+warc.OpenSuffix))
			if err != nil {
				t.Fatal(err)
			}
			index, err := os.Open(cdxj.Path(file.Name()) + warc.OpenSuffix)
			if err != nil {
				t.Fatal(err)
			}
			lines := 0
			if err := cdxj.ScanOpen(index, func(line []byte) bool {
				e, err := cdxj.Parse(line)
				if err != nil || lines >= len(told) || e.Offset != told[lines].Offset ||
					e.Filename != told[lines].File {
					t.Fatalf("line %d is %q, %v; told was %+v", lines, line, err, told)
				}
				record, err := warc.At(file, e.Offset)
				if err != nil || record.TargetURI() != e.URL {
					t.Errorf("the record of %s is %+v, %v", e.URL, record, err)
				}
				lines++
				return true
			}); err != nil || lines != n+1 {
				t.Errorf("%d lines of %d, %v", lines, n+1, err)
			}
			if err := errors.Join(file.Close(), index.Close()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestWhatCameIsWrittenBeforeItsSync: kill -9 leaves in the file what nobody was told of yet, and what came while the
// disk was busy is written once it is free.
func TestWhatCameIsWrittenBeforeItsSync(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		p := actortest.NewProbe(t, system, "slave")
		disk := &faulty{hold: make(chan struct{}, 10)}
		pid := system.Root.Spawn(archivist.Props(archivistOptions(dir, disk), actortest.Log()))
		written := func() (pages int) {
			synctest.Wait()
			open, _ := warc.Leftovers(dir, "HENRO")
			if len(open) != 1 {
				t.Fatalf("open is %v", open)
			}
			left, err := os.Open(open[0])
			if err != nil {
				t.Fatal(err)
			}
			defer left.Close()
			if _, err = warc.Walk(left, func(e *warc.Entry) error {
				if e.Type() == warc.Response {
					pages++
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			return pages
		}
		for n := range 3 {
			p.Tell(pid, capture(t, n))
			if found := written(); found != n+1 || len(p.Received()) > 0 {
				t.Errorf("at once: %d of %d captures, told %v", found, n+1, p.Received())
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond) // the disk is asked to sync, and does not come back
		for n := range 2 {
			p.Tell(pid, capture(t, 3+n))
			if found := written(); found != 3 {
				t.Errorf("while the disk is busy: %d", found)
			}
		}
		disk.hold <- struct{}{}
		if told, _ := archived(p); written() != 5 || len(told) != 3 {
			t.Errorf("when it was: %d, told %v", written(), told)
		}
		close(disk.hold)
		actortest.Pass(time.Second)
	})
	if n := check(t, dir, nil); n != 5 {
		t.Errorf("%d captures", n)
	}
}

// TestNoCaptureIsLostOrThereTwiceWhateverFails lets every operation of the disk fail once, alone and with the two that
// follow. A sender sends again what failed.
func TestNoCaptureIsLostOrThereTwiceWhateverFails(t *testing.T) {
	for _, length := range []int{1, 3} {
		for from := 1; ; from++ {
			dir := t.TempDir()
			disk := &faulty{from: from, upTo: from + length, err: errors.New("the disk says no")}
			var told []archivist.Archived
			synctest.Test(t, func(t *testing.T) {
				system := actortest.System(t)
				p := actortest.NewProbe(t, system, "slave")
				o := archivistOptions(dir, disk)
				o.Writer.MaxFile = 3000
				pid := system.Root.Spawn(archivist.Props(o, actortest.Log()))
				p.Reply(func(c actor.Context, message any) {
					if m, ok := message.(*archivist.Failed); ok {
						for _, tag := range m.Tags {
							c.Request(pid, capture(t, tag.(int)))
						}
					}
				})
				for n := range 8 {
					p.Tell(pid, capture(t, n))
					if n%3 == 2 {
						actortest.Pass(200 * time.Millisecond)
					}
				}
				actortest.Pass(time.Minute)
				told, _ = archived(p)
				system.Root.Poison(pid)
				actortest.Pass(time.Second)
			})
			// The last file may have been left open by a disk that failed at the very end; the next start finishes it.
			if open, err := warc.Leftovers(dir, "HENRO"); err != nil {
				t.Fatal(err)
			} else if len(open) == 1 && from+length > disk.n {
				_, err := cdxj.Repair(open[0])
				log, bad := proof.Open(proof.Options{Dir: dir + ".proof", Archive: dir, Prefix: "HENRO"})
				if err := errors.Join(err, bad, log.Close()); err != nil {
					t.Fatal(err)
				}
			}
			if n := check(t, dir, told); n != 8 || len(told) != 8 {
				t.Fatalf("operation %d failing: %d captures, %d told", from, n, len(told))
			}
			if from > disk.n {
				break
			}
		}
	}
}
