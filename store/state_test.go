package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func openState(t *testing.T, dir string, o store.Options) *store.State {
	t.Helper()
	s, err := store.OpenState(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// filled makes a state with some pages visited and some waiting.
func filled(t *testing.T, pages int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state")
	o := testOptions()
	o.Partitions = 2
	s := openState(t, dir, o)
	for k, p := range s.Partitions {
		b := store.NewBatch(noon)
		for i := range 2 * pages {
			url := fmt.Sprintf("http://h%d.example/%d", i%14, i)
			if s.PartitionOf(weburl.HostOf(url)) != k {
				continue
			}
			if i%2 == 0 {
				b.Admit(store.Candidate{URL: url, DepthLeft: 3})
				continue
			}
			b.Visit(store.Visited{Page: store.Page{URL: url, Next: noon.Add(time.Duration(i) * time.Hour), Status: 200,
				Timing: store.Timing{Interval: 3600}},
				Links: []outlink.Outlink{{URL: url + "/next", Kind: outlink.Anchor}}})
		}
		if _, err := p.Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	openState(t, dir, testOptions())
	if _, err := store.OpenState(dir, testOptions()); !errors.Is(err, store.ErrInUse) {
		t.Errorf("second opening: %v", err)
	}
	o := testOptions()
	o.LockTimeout = 0 // does not wait
	refused := make(chan error)
	go func() {
		_, err := store.OpenState(dir, o)
		refused <- err
	}()
	select {
	case err := <-refused:
		if !errors.Is(err, store.ErrInUse) {
			t.Errorf("without waiting: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it waits")
	}
}

func TestPartitionsAreFixedAtCreation(t *testing.T) {
	dir := filled(t, 10)
	o := testOptions()
	o.Partitions = 3
	if _, err := store.OpenState(dir, o); !errors.Is(err, store.ErrMismatch) {
		t.Errorf("opened with another number of partitions: %v", err)
	}
	o.Partitions = 0
	if s := openState(t, dir, o); len(s.Partitions) != 2 {
		t.Errorf("%d partitions", len(s.Partitions))
	}
}

func TestHostsOfOneDomainShareAPartition(t *testing.T) {
	o := testOptions()
	o.Partitions = 16
	s := openState(t, filepath.Join(t.TempDir(), "state"), o)
	for _, pair := range [][2]string{
		{"http://www.example.co.jp", "https://shop.example.co.jp:8443"},
		{"http://a.b.c.example.com", "http://example.com"},
		{"http://127.0.0.1:8001", "http://127.0.0.1:8002"},
		{"http://[::1]:8001", "http://[::1]"},
	} {
		if a, b := s.PartitionOf(pair[0]), s.PartitionOf(pair[1]); a != b {
			t.Errorf("%s is in %d, %s in %d", pair[0], a, pair[1], b)
		}
	}
	used := map[int]bool{}
	for i := range 200 {
		used[s.PartitionOf(fmt.Sprintf("http://example%d.org", i))] = true
	}
	if len(used) != 16 {
		t.Errorf("200 domains use %d of 16 partitions", len(used))
	}
}

// Hosts that today's list of registrable domains would put elsewhere are where the list put them by which the state was
// divided.
func TestHostsStayWhereAnOlderListPutThem(t *testing.T) {
	dir, o := filepath.Join(t.TempDir(), "state"), testOptions()
	o.Partitions = 3
	s := openState(t, dir, o)
	var names []string
	for i := range 30 {
		name := fmt.Sprintf("http://host%d.example", i)
		home := s.PartitionOf(name)
		names = append(names, fmt.Sprint(name, " ", (home+i)%3))
		b := store.NewBatch(noon)
		b.PutHost(store.HostRecord{ID: store.IDOf(name), Name: name})
		if _, err := s.Partitions[(home+i)%3].Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range s.Partitions {
		if err := p.DividedBy("of 2001"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openState(t, dir, o)
	for i, want := range names {
		name := fmt.Sprintf("http://host%d.example", i)
		if got := fmt.Sprint(name, " ", s.PartitionOf(name)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestFilesOfTwoStatesAreNotMixed(t *testing.T) {
	a, b := filled(t, 10), filled(t, 10)
	if err := os.Rename(filepath.Join(a, "p001.db"), filepath.Join(b, "p001.db")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{a, b} {
		if _, err := store.OpenState(dir, testOptions()); !errors.Is(err, store.ErrMismatch) {
			t.Errorf("opened %v", err)
		}
	}
}

// contents reads everything a state holds.
func contents(s *store.State) (string, error) {
	var all strings.Builder
	for _, p := range s.Partitions {
		if err := errors.Join(
			p.Pages.Each(func(page store.Page, place store.Place) error {
				fmt.Fprintln(&all, page, place)
				return nil
			}),
			p.Links.Each(func(h store.HostID, fp uint64, l []outlink.Outlink) error {
				fmt.Fprintln(&all, h, fp,
					l)
				return nil
			}),
			p.Hosts.Each(func(h store.HostRecord) error {
				fps, _, err := p.Seen.Host(h.ID, 1<<30)
				fmt.Fprintln(&all, h, fps)
				return err
			}),
		); err != nil {
			return "", err
		}
	}
	return all.String(), nil
}

func TestDamageIsReportedAndNeverCrashes(t *testing.T) {
	dir := filled(t, 1000)
	path := filepath.Join(dir, "p000.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := len(whole)
	for used > 0 && whole[used-1] == 0 {
		used--
	}
	s := openState(t, dir, testOptions())
	was, err := contents(s)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	noticed := 0
	for i := range 60 {
		damaged := bytes.Clone(whole)
		name := ""
		if i%3 == 0 {
			damaged = damaged[:used*i/60/4096*4096]
			name = fmt.Sprintf("cut at %d", len(damaged))
		} else {
			at := used * i / 60
			damaged[at] ^= 0x10
			name = fmt.Sprintf("bit flipped at %d", at)
		}
		if err := os.WriteFile(path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		report, err := store.Check(dir, nil)
		if err != nil {
			t.Errorf("%s: check: %v", name, err)
		}
		is := ""
		s, err := store.OpenState(dir, testOptions())
		if err == nil {
			is, err = contents(s)
			if cerr := s.Close(); cerr != nil {
				t.Errorf("%s: close: %v", name, cerr)
			}
		}
		switch {
		case err == nil && is != was:
			t.Errorf("%s: read without an error, but not what was written", name)
		case err != nil && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrMismatch):
			t.Errorf("%s: %v", name, err)
		case err != nil && len(report.Problems) == 0:
			t.Errorf("%s: not found by the check: %v", name, err)
		case err != nil:
			noticed++
		}
	}
	t.Logf("%d of 60 damages noticed", noticed) // the others lie in pages that are free, and in what bbolt does not use
	if noticed < 25 {
		t.Errorf("%d of 60 damages noticed", noticed)
	}
}

func TestAnotherSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	for schema, want := range map[uint32]error{store.Schema + 1: store.ErrNewerSchema,
		store.Schema - 1: store.ErrOlderSchema, 0: store.ErrOlderSchema} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		p, err := store.Open(path, testOptions())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.SetSchema(schema); err != nil {
			t.Fatal(err)
		}
		p.Close()
		before, _ := os.ReadFile(path)
		for _, readOnly := range []bool{true, false} {
			o := testOptions()
			o.ReadOnly = readOnly
			if _, err := store.Open(path, o); !errors.Is(err, want) {
				t.Errorf("schema %d, read only %v: opened: %v", schema, readOnly, err)
			}
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("the refused file of schema %d was written to", schema)
		}
	}
}

func TestBackupOfARunningPartitionOpens(t *testing.T) {
	dir := filled(t, 1000)
	s := openState(t, dir, testOptions())
	var b bytes.Buffer
	if _, err := s.Partitions[0].Backup(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := store.Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	was, _ := s.Partitions[0].Stats()
	if is, err := p.Stats(); err != nil || is.Known != was.Known {
		t.Errorf("%+v %v, not %+v", is, err, was)
	}
}

func TestBackupOfARunningStateIsAState(t *testing.T) {
	s := openState(t, filled(t, 1000), testOptions())
	var b bytes.Buffer
	if _, err := s.Backup(&b); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "state")
	unpack(t, &b, dir)
	clean(t, dir)
	if copied := openState(t, dir, testOptions()); len(copied.Partitions) != len(s.Partitions) {
		t.Errorf("%d partitions", len(copied.Partitions))
	}
}

// unpack makes a state of a backup.
func unpack(t *testing.T, backup io.Reader, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := store.Unpack(backup, dir); err != nil {
		t.Fatal(err)
	}
}

// TestATermIsGreaterThanAllBefore: of this state and of what it was copied from, however it ended, and whatever was
// done to its files.
func TestATermIsGreaterThanAllBefore(t *testing.T) {
	dir := filled(t, 1000) // which opened it
	term := func(dir string) uint64 {
		s := openState(t, dir, testOptions())
		defer s.Close()
		return s.Term()
	}
	if is := term(dir); is != 2 {
		t.Errorf("opened for the second time it is in term %d", is)
	}
	readOnly := testOptions()
	readOnly.ReadOnly = true
	if s := openState(t, dir, readOnly); s.Term() != 2 {
		t.Errorf("reading raised the term to %d", s.Term())
	} else {
		s.Close()
	}
	if _, _, err := store.Compact(dir, nil); err != nil { // an opening, too
		t.Fatal(err)
	}
	s := openState(t, dir, testOptions())
	if s.Term() != 4 {
		t.Errorf("compacted it is in term %d", s.Term())
	}
	copied := filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil { // of a master that is frozen
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := s.Backup(&b); err != nil {
		t.Fatal(err)
	}
	unpack(t, &b, filepath.Join(copied, "..", "backup"))
	crawl := s.Crawl()
	for _, dir := range []string{copied, filepath.Join(copied, "..", "backup")} {
		again := openState(t, dir, testOptions())
		if again.Term() != 5 || again.Crawl() != crawl {
			t.Errorf("a copy of crawl %s in term %d is of crawl %s in term %d", crawl, s.Term(), again.Crawl(),
				again.Term())
		}
		again.Close()
	}
	s.Close()
	clean(t, dir)
}

func TestCompactKeepsEverything(t *testing.T) {
	dir := filled(t, 5000)
	s := openState(t, dir, testOptions())
	was, err := contents(s)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	before, after, err := store.Compact(dir, nil)
	if err != nil || after == 0 || after > before+1<<20 { // small files are rounded up
		t.Errorf("compacted %d to %d bytes: %v", before, after, err)
	}
	clean(t, dir)
	s = openState(t, dir, testOptions())
	if is, err := contents(s); err != nil || is != was {
		t.Error("the state changed", err)
	}
	b := store.NewBatch(noon)
	b.Admit(store.Candidate{URL: "http://h1.example/new", DepthLeft: 1})
	if _, err := s.Partitions[0].Commit(b); err != nil {
		t.Error(err)
	}
}

func TestCheckFindsWhatWasChanged(t *testing.T) {
	for name, change := range map[string]func(*store.Partition) error{
		"a seen URL without a page": func(p *store.Partition) error {
			return p.Forge("http://h1.example/forged",
				false)
		},
		"a page that is not seen": func(p *store.Partition) error {
			return p.Forge("http://h1.example/forged",
				true)
		},
		"counts that do not add up": func(p *store.Partition) error { return p.ForgeCounts("http://h1.example") },
		"totals that do not add up": func(p *store.Partition) error { return p.ForgeTotals() },
		"a flipped bit in a lease":  func(p *store.Partition) error { return p.FlipLease() },
	} {
		dir := filled(t, 100)
		clean(t, dir)
		s := openState(t, dir, testOptions())
		if err := change(s.Partitions[0]); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if r, err := store.Check(dir, nil); err != nil || len(r.Problems) == 0 {
			t.Errorf("%s: not found, %v", name, err)
		}
	}
}

func TestFullDiskStopsTheCommitAndNothingElse(t *testing.T) {
	p, err := store.Open(filepath.Join(t.TempDir(), "p000.db"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	batch := func(n int) *store.Batch {
		b := store.NewBatch(noon)
		for i := range 50 {
			b.Admit(store.Candidate{URL: fmt.Sprintf("http://a.example/%d/%d", n, i)})
		}
		return b
	}
	if _, err := p.Commit(batch(1)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		heal := p.FailWrite(1, syscall.ENOSPC)
		if _, err := p.Commit(batch(2)); !errors.Is(err, store.ErrDiskFull) {
			t.Errorf("commit on a full disk: %v", err)
		}
		heal()
		if s, err := p.Stats(); err != nil || s.Known != 50 {
			t.Errorf("after it %d pages, %v", s.Known, err)
		}
	}
	if _, err := p.Commit(batch(2)); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	if s, err := p.Stats(); err != nil || s.Known != 100 {
		t.Errorf("%d pages, %v", s.Known, err)
	}
}

func TestPartitionOfBoundedSizeRefusesAndLivesOn(t *testing.T) {
	o := testOptions()
	o.MaxBytes = 24 << 20
	p, err := store.Open(filepath.Join(t.TempDir(), "p000.db"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for n := 0; err == nil && n < 100; n++ {
		b := store.NewBatch(noon)
		for i := range 8000 {
			b.Visit(store.Visited{Page: store.Page{URL: fmt.Sprintf("http://a.example/%d/%0200d", n, i),
				Next: noon.Add(time.Hour)}})
		}
		_, err = p.Commit(b)
	}
	if !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("filled up: %v", err)
	}
	if _, err := contents(&store.State{Partitions: []*store.Partition{p}}); err != nil {
		t.Error(err)
	}
}

func TestReadOnlyStateIsReadAndNotWritten(t *testing.T) {
	o := testOptions()
	dir := filled(t, 10)
	o.ReadOnly = true
	s := openState(t, dir, o)
	if _, err := contents(s); err != nil {
		t.Error(err)
	}
	b := store.NewBatch(noon)
	b.Admit(store.Candidate{URL: "http://a.example/"})
	if _, err := s.Partitions[0].Commit(b); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("commit: %v", err)
	}
}

// continued commits a page to one partition, as a crawl that goes on does.
func continued(t *testing.T, dir string, partition int, name string) {
	t.Helper()
	o := testOptions()
	o.NoSync, o.MapBytes = false, 1<<30 // files get room to grow, as those of a crawl
	s := openState(t, dir, o)
	visit(t, s, partition, name)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func visit(t *testing.T, s *store.State, partition int, name string) {
	t.Helper()
	for i := range 100 {
		host := fmt.Sprintf("http://%s%d.example", name, i)
		if s.PartitionOf(host) == partition {
			b := store.NewBatch(noon)
			b.Admit(store.Candidate{URL: host + "/", DepthLeft: 3})
			if _, err := s.Partitions[partition].Commit(b); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

func TestFilesOfDifferentDaysAreNotMixed(t *testing.T) {
	first, second := "p000.db", "p001.db"
	day := func(dir string) map[string][]byte {
		files := map[string][]byte{}
		for _, name := range []string{first, second} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = data
		}
		return files
	}
	for sentence, c := range map[string]struct {
		after func(dir string) map[string][]byte // what is put back
		says  string
	}{
		"one file of a day before, of a state that was closed": {func(dir string) map[string][]byte {
			before := day(dir)
			continued(t, dir, 0, "a")
			continued(t, dir, 1, "b")
			return map[string][]byte{first: before[first]}
		}, "p000.db is older than p001.db"},
		"and where nothing else was committed since": {func(dir string) map[string][]byte {
			before := day(dir)
			continued(t, dir, 1, "b")
			return map[string][]byte{second: before[second]}
		}, "p001.db is older than p000.db"},
		"a state that was killed": {func(dir string) map[string][]byte {
			before := day(dir)
			s := openState(t, dir, testOptions())
			visit(t, s, 0, "a")
			visit(t, s, 1, "b")
			killed := day(dir)
			s.Close()
			return map[string][]byte{first: before[first], second: killed[second]}
		}, "p000.db is older than p001.db"},
		"two continuations of one backup": {func(dir string) map[string][]byte {
			before := day(dir)
			continued(t, dir, 0, "a")
			one := day(dir)
			for name, data := range before {
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			continued(t, dir, 0, "b")
			return map[string][]byte{second: one[second]}
		}, "is of another day than p001.db"},
		"a file of a day before to which nothing was committed since": {func(dir string) map[string][]byte {
			before := day(dir)
			continued(t, dir, 1, "b")
			return map[string][]byte{first: before[first]}
		}, "p000.db is of another day than p001.db"},
		"the last file of a day before, likewise": {func(dir string) map[string][]byte {
			before := day(dir)
			continued(t, dir, 0, "b")
			return map[string][]byte{second: before[second]}
		}, "p000.db is of another day than p001.db"},
		"a file that was cut off within its room to grow": {func(dir string) map[string][]byte {
			for i := range 9 {
				continued(t, dir, 0, fmt.Sprint("a", i))
			}
			data := day(dir)[first]
			if len(data) < 1<<20 {
				t.Fatalf("%d bytes are no room to grow", len(data))
			}
			return map[string][]byte{first: data[:len(data)/2]}
		}, "p000.db: cut off at"},
		"a state that was killed, as a whole": {func(dir string) map[string][]byte {
			s := openState(t, dir, testOptions())
			visit(t, s, 0, "a")
			visit(t, s, 1, "b")
			visit(t, s, 1, "c")
			killed := day(dir)
			s.Close()
			return killed
		}, ""},
		"a state that was killed twice, in two sessions": {func(dir string) map[string][]byte {
			var killed map[string][]byte
			for _, name := range []string{"a", "b"} {
				s := openState(t, dir, testOptions())
				visit(t, s, 1, name)
				killed = day(dir)
				s.Close()
				for file, data := range killed {
					if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			return killed
		}, ""},
	} {
		dir := filled(t, 10)
		for name, data := range c.after(dir) {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		report, err := store.Check(dir, nil)
		if err != nil {
			t.Fatalf("%s: %v", sentence, err)
		}
		s, err := store.OpenState(dir, testOptions())
		if err == nil {
			s.Close()
		}
		if c.says == "" {
			if err != nil || len(report.Problems) > 0 {
				t.Errorf("%s: open %v, check %q", sentence, err, report.Problems)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: opened %v", sentence, err)
		}
		if !strings.Contains(strings.Join(report.Problems, "\n"), c.says) {
			t.Errorf("%s: check %q", sentence, report.Problems)
		}
		done, mended := store.Reconcile(dir)
		if !errors.Is(err, store.ErrMixed) {
			if mended == nil {
				t.Errorf("%s: reconciled %+v", sentence, done)
			}
			continue
		}
		if mended != nil || done == nil || done.Why.Error() != err.Error() {
			t.Fatalf("%s: reconciled %+v, %v", sentence, done, mended)
		}
		if report, err = store.Check(dir, nil); err != nil || len(report.Problems) > 0 ||
			report.Stats.Relaxations != report.Stats.Linked || done.Pages != report.Stats.Linked || done.Pages == 0 {
			t.Errorf("%s: afterwards %d pages, %+v, %v", sentence, done.Pages, report, err)
		}
		if again, err := store.Reconcile(dir); again != nil || err != nil {
			t.Errorf("%s: reconciled again, %+v, %v", sentence, again, err)
		}
		continued(t, dir, 0, "c")
	}
}

func TestBackupsAndCompactedStatesAreWhole(t *testing.T) {
	dir := filled(t, 1000)
	for i := range 4 { // each is longer than what the one before noted
		continued(t, dir, i%2, fmt.Sprint("a", i))
	}
	s := openState(t, dir, testOptions())
	var archive bytes.Buffer
	if _, err := s.Backup(&archive); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "state")
	unpack(t, &archive, restored)
	for _, dir := range []string{dir, restored} {
		if _, _, err := store.Compact(dir, nil); err != nil {
			t.Fatal(err)
		}
		clean(t, dir)
		continued(t, dir, 0, "b")
		clean(t, dir)
	}
}

// A file that is as the last close left it is not looked through; one that was changed since, or was not closed, is.
func TestOnlyFilesThatChangedAreLookedThrough(t *testing.T) {
	dir := filled(t, 1000)
	synced := testOptions()
	synced.NoSync = false
	openState(t, dir, synced).Close()
	path := filepath.Join(dir, "p000.db")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opens := func() error {
		s, err := store.OpenState(dir, testOptions())
		if err == nil {
			err = s.Close()
		}
		return err
	}
	at := 2 * 4096 // the first page behind those of meta that holds a leaf
	for ; at < len(data) && data[at+8] != 2; at += 4096 {
	}
	data[at+10]++ // it says to have more elements than lie in it
	data[at+11] = 0xff
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := opens(); !errors.Is(err, store.ErrCorrupt) {
		t.Error("a file that was changed since it was closed:", err)
	}
	if err := os.Chtimes(path, time.Now(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	o := synced
	o.ReadOnly = true
	s, err := store.OpenState(dir, o)
	if err != nil {
		t.Error("a file that is as the last close left it was looked through:", err)
	} else {
		if _, err := contents(s); !errors.Is(err, store.ErrCorrupt) {
			t.Error("the damage was not met:", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := opens(); !errors.Is(err, store.ErrCorrupt) {
		t.Error("a file in which damage was met:", err)
	}
	if report, err := store.Check(dir, nil); err != nil || len(report.Problems) == 0 {
		t.Error("check trusts the last close:", err)
	}
}

// After a crash the first to open a state looks through its files, also if it may not write to it, and no reader after
// it.
func TestReadersLookThroughACrashedStateOnce(t *testing.T) {
	dir := filled(t, 1000)
	path, closed := filepath.Join(dir, "p000.db"), filepath.Join(dir, "closed.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(data)
	at := 2 * 4096
	for ; at < len(data) && data[at+8] != 2; at += 4096 {
	}
	damaged[at+10]++
	damaged[at+11] = 0xff
	o := testOptions()
	o.ReadOnly, o.NoSync = true, false
	reads := func() error {
		s, err := store.OpenState(dir, o)
		if err == nil {
			err = s.Close()
		}
		return err
	}
	if _, err := os.Stat(closed); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("it was closed in order:", err)
	}
	if err := os.WriteFile(path, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := reads(); !errors.Is(err, store.ErrCorrupt) {
			t.Error("a damaged file was not looked through:", err)
		}
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := reads(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	noted, err := os.Stat(closed)
	if err != nil {
		t.Fatal(err)
	}
	// Were it looked through again, this were found.
	err = errors.Join(os.WriteFile(path, damaged, 0o644), os.Chtimes(path, time.Now(), info.ModTime()))
	if err != nil {
		t.Fatal(err)
	}
	if err := reads(); err != nil {
		t.Error("the next reader looked through it again:", err)
	}
	if again, err := os.Stat(closed); err != nil || !os.SameFile(again, noted) {
		t.Error("what is known was noted again:", err)
	}
	err = errors.Join(os.Truncate(path, info.Size()+4096), os.Chtimes(path, time.Now(), info.ModTime()))
	if err != nil {
		t.Fatal(err)
	}
	if err := reads(); !errors.Is(err, store.ErrCorrupt) {
		t.Error("a file that is longer was not looked through:", err)
	}
	err = errors.Join(os.Truncate(path, info.Size()), os.Chtimes(path, time.Now(), info.ModTime()))
	if err != nil {
		t.Fatal(err)
	}
	note, err := os.ReadFile(closed)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(note, []byte(": 0")) {
		t.Errorf("a field is not noted: %s", note)
	}
	for _, field := range []string{`"size": `, `"modified_ns": `, `"transaction": `} { // each of them counts
		other := bytes.ReplaceAll(note, []byte(field), []byte(field+"1"))
		if err := os.WriteFile(closed, other, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := reads(); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("another %s: %v", field, err)
		}
	}
	if err := os.WriteFile(closed, note, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := reads(); err != nil {
		t.Error("the same note:", err)
	}
	if err := os.Chtimes(path, time.Now(), info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := reads(); !errors.Is(err, store.ErrCorrupt) {
		t.Error("a file that was changed since was not looked through:", err)
	}
}

// A snapshot of one partition begins beside a commit, which the Committer makes while its Partition reads: what a
// snapshot copies is nothing that commits write.
func TestASnapshotBeginsBesideCommits(t *testing.T) {
	s := openState(t, t.TempDir(), testOptions())
	defer s.Close()
	p := s.Partitions[0]
	const commits = 20
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		for i := range commits {
			b := store.NewBatch(noon)
			b.Admit(store.Candidate{URL: fmt.Sprintf("http://h.example/%d", i)})
			if _, err := p.Commit(b); err != nil {
				failed <- err
				return
			}
		}
	}()
	for last := uint64(0); last < commits; {
		if err := p.Snapshot(func(p *store.Partition) error {
			stats, err := p.Stats()
			if stats.Known < last {
				t.Errorf("%d pages are known, %d were a moment ago", stats.Known, last)
			}
			last = stats.Known
			return err
		}); err != nil {
			t.Fatal(err)
		}
		select {
		case err, more := <-failed:
			if more {
				t.Fatal(err)
			}
			failed = nil
		default:
		}
	}
}
