// Package audit compares what is on the disk of a crawl: the state, the WARC files, their indexes, and the pages that
// the state says were captured; or the parts of a WACZ file. It mends what can be made again, and plans new visits for
// what is lost.
package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"henro/actors/reading"
	"henro/messages/posted"
	"henro/store"
	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
	"henro/store/archive/folder"
	"henro/store/archive/payloads"
	"henro/store/archive/warc"
	"henro/store/proof"
)

// Progress is told how much of something has been read.
type Progress func(what string, done, all uint64)

// Result is what was read, and what of it is damaged.
type Result struct {
	Problems []string // the damages, as many as are listed
	Count    int      // all of them
	Advice   string   // what can be done
	Records  uint64   // of the archive
	Repaired []string // files that a process which died had left open

	// of a crawl
	State       *store.Report
	IsHere      bool // there are WARC files
	ArchivesAll bool // each page that was captured is looked for in them

	Logs    []proof.Checked // of the archive
	Altered int             // damages that its logs show

	Package *Package // of a WACZ file
}

// Check looks through the crawl in a directory, which is not running. What a process that died left of its archive is
// finished; nothing else is written. since is an earlier checkpoint of its log, or nil.
func Check(dir string, since *proof.Checkpoint, progress Progress) (*Result, error) {
	state := filepath.Join(dir, "state")
	report, err := store.Check(state, func(done, all uint64) { progress("state", done, all) })
	if err != nil {
		return nil, err
	}
	a := archive{dir: filepath.Join(dir, "warc"), progress: progress}
	d, err := reading.ReadDefinition(dir)
	if err != nil {
		a.note("%v", err)
	}
	r := &Result{State: report, ArchivesAll: err == nil && d.InForce.ArchivesAll}
	err = a.files()
	if err == nil && len(report.Problems) == 0 && a.isHere && r.ArchivesAll {
		err = a.pages(dir, report.Stats.Visited)
	}
	if err == nil {
		r.Logs, err = proof.Check(proof.Disk(proof.Path(a.dir)), proof.Folder(a.dir), since,
			func(done, all uint64) { progress("log", done, all) },
			func(format string, values ...any) { r.Altered++; a.note(format, values...) })
	}
	r.take(&a, report.Problems, report.More)
	r.Advice = "the state is damaged: restore a backup, or begin again with the same seeds"
	if len(report.Problems) == 0 {
		r.Advice = a.advice()
	}
	if r.Altered > 0 && r.Advice == "" {
		r.Advice = "what its log shows cannot be mended: another copy of the archive may have it as it was"
	}
	return r, err
}

// take adds what was found in an archive to other problems, of which more are not listed.
func (r *Result) take(a *archive, others []string, more int) {
	r.Records, r.IsHere, r.Repaired = a.records, a.isHere, a.repaired
	r.Problems, r.Count = append(others, a.problems...), len(others)+more+a.count
}

// Mend moves damage of the archive of a crawl aside, makes indexes again, and plans new visits where captures are lost.
// It says what it has mended, also where it ends with an error.
func Mend(dir string, progress Progress) (mended []string, err error) {
	a := archive{dir: filepath.Join(dir, "warc"), progress: progress, mend: true}
	state := filepath.Join(dir, "state")
	if err := a.reconcile(state); err != nil {
		return nil, err
	}
	a.logged = proof.Lengths(proof.Path(a.dir))
	if err = a.files(); err == nil {
		a.relog()
	}
	d, unread := reading.ReadDefinition(dir)
	if err == nil && unread == nil && a.isHere && d.InForce.ArchivesAll && store.Exists(state) {
		err = a.pages(dir, 0)
		if err == nil && len(a.missing) > 0 {
			err = a.renew(dir)
		}
	}
	return slices.Concat(a.repaired, a.mended), err
}

// reconcile makes one state of files from different days. Check names what else is wrong with them.
func (a *archive) reconcile(state string) error {
	if !store.Exists(state) {
		return nil
	}
	done, err := store.Reconcile(state)
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrMismatch) {
		return nil
	}
	if err == nil && done != nil {
		a.mended = append(a.mended, fmt.Sprintf("state: its files are one state again (%v); the links of %d pages "+
			"will be judged again, and pages that an older file does not know as visited will be visited again",
			done.Why, done.Pages))
	}
	return err
}

// relog has the log say what was mended.
func (a *archive) relog() {
	files, err := proof.Mend(proof.Options{Dir: proof.Path(a.dir), Archive: a.dir}, a.rewritten)
	for _, name := range files {
		a.mended = append(a.mended, name+": the log of the archive says what is left of it")
	}
	if err != nil {
		a.note("log of the archive: %v", err) // henro check names what is wrong with it
	}
}

// maxListed bounds the damages listed.
const maxListed = 100

// archive compares the WARC files of a crawl, their indexes and the pages that were captured. Files that a killed crawl
// left open are repaired first. Of files that are open for another reason only the records count.
type archive struct {
	dir      string // of the WARC files
	progress Progress
	mend     bool

	isHere   bool // there are WARC files
	records  uint64
	walked   []string            // files, in the order in which they were read
	captures []uint64            // fingerprints of URL and moment of what indexes should list, sorted; 8 bytes each
	lines    []uint64            // fingerprints of these with the place of their records, sorted
	refers   []reference         // of revisit records
	missing  map[string]struct{} // pages whose record is in no file, when mending
	problems []string            // the first maxListed
	count    int                 // of all damages
	lost     int                 // pages whose record is in no file, and stretches that are no records
	wrong    int                 // indexes
	mended   []string
	repaired []string // of files that a process which died had left open
	growing  bool     // a process writes

	logged    map[string]int64 // how long files are by their log, when mending
	rewritten []string         // files whose records have other places than when they were read
}

func (a *archive) note(format string, args ...any) {
	if a.count++; len(a.problems) < maxListed {
		a.problems = append(a.problems, fmt.Sprintf(format, args...))
	}
}

// advice says what is lost, and what can be done.
func (a *archive) advice() string {
	var parts []string
	if a.lost > 0 {
		parts = append(parts, "the captures named are lost, unless their WARC files are elsewhere (with a slave: "+
			"henro nodes collect); the state and all other captures are whole; henro check --repair plans new visits")
	}
	if a.wrong > 0 {
		parts = append(parts, "henro check --repair makes the indexes again, nothing is lost with them")
	}
	return strings.Join(parts, "; ")
}

// reference is that of a revisit record to the capture whose payload it does not repeat.
type reference struct {
	to     [3]uint64 // bucket.CaptureOf, of its second, the one before and the one after: the state keeps whole seconds
	file   int32     // in walked
	offset int64
}

// files reads every record, and compares the indexes with the records.
func (a *archive) files() error {
	repaired, err := folder.Recover(a.dir)
	for _, r := range repaired {
		a.repaired = append(a.repaired, r.String())
	}
	if err != nil {
		return fmt.Errorf("look for files that were left open: %w", err)
	}
	names, err := warc.Files(a.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list the archive: %w", err)
	}
	growing, err := filepath.Glob(filepath.Join(a.dir, "*"+warc.OpenSuffix))
	if err != nil {
		return fmt.Errorf("list the archive: %w", err)
	}
	indexes, err := filepath.Glob(filepath.Join(a.dir, "*"+cdxj.Suffix))
	if err != nil {
		return fmt.Errorf("list the archive: %w", err)
	}
	orphans := map[string]bool{}
	for _, index := range indexes {
		orphans[index] = filepath.Base(index) != cdxj.MergedName
	}
	for i, name := range names {
		a.isHere = true
		delete(orphans, cdxj.Path(name))
		a.file(name)
		a.progress("archive", uint64(i+1), uint64(len(names)))
	}
	for _, name := range growing {
		if _, ok := warc.CutSuffix(strings.TrimSuffix(name, warc.OpenSuffix)); ok {
			a.isHere, a.growing = true, true
			delete(orphans, cdxj.Path(name))
			_, _, _ = a.walk(name) // torn at its end, which is no damage
		}
	}
	for _, index := range slices.Sorted(maps.Keys(orphans)) {
		if orphans[index] {
			a.isHere = true
			if a.mend && a.aside(index) {
				continue
			}
			a.lost++
			a.note("%s: its WARC file is gone", filepath.Base(index))
		}
	}
	slices.Sort(a.captures)
	slices.Sort(a.lines)
	a.merged()
	return a.references()
}

// has reports whether a capture is in a WARC file here.
func (a *archive) has(capture uint64) bool {
	_, ok := slices.BinarySearch(a.captures, capture)
	return ok
}

// references follows every revisit record to the capture that holds its payload. Where an earlier crawl's captures were
// imported (--dedup-from), those that are not here are with that crawl.
func (a *archive) references() error {
	if a.mend || a.records == 0 { // of an archive that was just begun even the index of payloads may be empty
		return nil
	}
	imported, err := payloads.Imported(a.dir)
	if errors.Is(err, store.ErrCorrupt) {
		a.note("the index of payloads is damaged; nothing is lost by it: the next crawl sets it aside and makes it " +
			"again")
		return nil
	}
	if err != nil || imported {
		return err
	}
	for _, r := range a.refers {
		if slices.ContainsFunc(r.to[:], a.has) {
			continue
		}
		a.lost++
		if a.count++; len(a.problems) >= maxListed {
			continue
		}
		e, url := cdxj.Entry{}, ""
		f, err := os.Open(a.walked[r.file])
		if err == nil {
			e, url, err = revisitAt(f, r.offset)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Errorf("read a revisit record of %s: %w", a.walked[r.file], err)
		}
		a.problems = append(a.problems, fmt.Sprintf("%s: the capture of %s at %s refers to one of %s that is in no "+
			"WARC file here", filepath.Base(a.walked[r.file]), e.URL, cdxj.Stamp(e.At), url))
	}
	return nil
}

// revisitAt reads the revisit record at an offset, and what it refers to.
func revisitAt(f *os.File, offset int64) (e cdxj.Entry, to string, err error) {
	r, err := warc.At(f, offset)
	if err != nil {
		return e, "", err
	}
	to = r.Header.Get("WARC-Refers-To-Target-URI") + " at " + r.Header.Get("WARC-Refers-To-Date")
	e, _, err = cdxj.Of(r, filepath.Base(f.Name()))
	return e, to, err
}

// walk reads the records of a file, and returns what its index should list, by where it begins.
func (a *archive) walk(name string) (map[int64]uint64, warc.Walked, error) {
	listed := map[int64]uint64{}
	f, err := os.Open(name)
	if err != nil {
		return nil, warc.Walked{}, err
	}
	defer f.Close()
	logged, added := a.logged[filepath.Base(name)], 0
	walked, err := warc.Walk(f, func(r *warc.Entry) error {
		if logged > 0 && r.Offset >= logged {
			added++
			return nil
		}
		e, err := a.record(r, filepath.Base(name))
		if e != nil {
			listed[e.Offset] = bucket.LineOf(*e)
			a.lines = append(a.lines, listed[e.Offset])
		}
		return err
	})
	if added > 0 { // all that stands there goes
		walked.Records -= added
		walked.Damaged = slices.DeleteFunc(walked.Damaged, func(s warc.Span) bool { return s.Offset >= logged })
		walked.Damaged = append(walked.Damaged, warc.Span{Offset: logged, Length: math.MaxInt64 - logged})
	}
	a.walked = append(a.walked, name)
	a.records += uint64(walked.Records)
	return listed, walked, err
}

// record takes in one record; nil: no index lists it.
func (a *archive) record(r *warc.Entry, file string) (*cdxj.Entry, error) {
	to, refers := bucket.RefersTo(r)
	e, ok, err := cdxj.Of(r, file)
	if !ok || err != nil {
		return nil, err
	}
	a.captures = append(a.captures, bucket.CaptureOf(posted.Name(e.URL, r.Header.Get(posted.Field)), e.At))
	if refers {
		a.refers = append(a.refers, reference{to, int32(len(a.walked)), e.Offset})
	}
	return &e, nil
}

// file checks a finished file and its index.
func (a *archive) file(path string) {
	name := filepath.Base(path)
	listed, walked, err := a.walk(path)
	if err != nil {
		a.lost++
		a.note("%s: %v", name, err)
		return
	}
	if a.mend && (len(walked.Damaged) > 0 || walked.Records == 0) && a.cutOut(path, walked) {
		return
	}
	for _, span := range walked.Damaged {
		a.lost++
		a.note("%s: %d bytes at %d are no record: %v", name, span.Length, span.Offset, span.Err)
	}
	wrong := bucket.Indexed(cdxj.Path(path), name, listed)
	if wrong == nil {
		return
	}
	if a.mend {
		if err := cdxj.IndexFile(path); err == nil {
			a.mended = append(a.mended, fmt.Sprintf("%s: its index was made again (%v)", name, wrong))
			return
		}
	}
	a.wrong++
	a.note("%s: %v", name, wrong)
}

// pages looks for the record of every page that was captured.
func (a *archive) pages(dir string, all uint64) (err error) {
	crawl, err := reading.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, crawl.Close()) }()
	done := uint64(0)
	for _, partition := range crawl.State.Partitions {
		if err := partition.Pages.Each(func(page store.Page, _ store.Place) error {
			if page.CapturedAt.IsZero() {
				return nil
			}
			if done++; done%4096 == 0 {
				a.progress("captures", done, all)
			}
			for by := time.Second; by >= -reportLate; by -= time.Second { // the state keeps whole seconds
				if a.has(bucket.CaptureOf(page.URL, page.CapturedAt.Add(by))) {
					return nil
				}
			}
			a.lost++
			a.note("%s: its capture of %s is in no WARC file here", page.URL,
				page.CapturedAt.UTC().Format(time.RFC3339))
			if a.mend {
				if a.missing == nil {
					a.missing = map[string]struct{}{}
				}
				a.missing[page.URL] = struct{}{}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// damagedFolder, in that of the archive, takes what was moved aside.
const damagedFolder = "damaged"

// aside moves a file to the damaged ones.
func (a *archive) aside(path string) bool {
	err := os.MkdirAll(filepath.Join(a.dir, damagedFolder), 0o755)
	if err == nil {
		err = os.Rename(path, filepath.Join(a.dir, damagedFolder, filepath.Base(path)))
	}
	if err != nil {
		a.note("%s: %v", filepath.Base(path), err)
		return false
	}
	a.mended = append(a.mended, fmt.Sprintf("%s: it was moved to warc/%s", filepath.Base(path), damagedFolder))
	return true
}

// cutOut moves a file with damaged stretches aside, and leaves one of its whole records in its place.
func (a *archive) cutOut(path string, walked warc.Walked) bool {
	name := filepath.Base(path)
	whole := filepath.Join(a.dir, "."+name+".whole")
	defer os.Remove(whole)
	listed, err := copyWhole(whole, path, walked)
	if err != nil {
		a.note("%s: %v", name, err)
		return false
	}
	if !a.aside(path) {
		return false
	}
	if e := os.Remove(cdxj.Path(path)); !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	if err == nil && listed {
		if err = os.Rename(whole, path); err == nil {
			err = cdxj.IndexFile(path)
		}
	}
	if err != nil {
		a.note("%s: %v", name, err)
		return false
	}
	a.rewritten = append(a.rewritten, name)
	a.mended = append(a.mended, fmt.Sprintf("%s: its %d whole records were kept", name, walked.Records))
	return true
}

// copyWhole copies a WARC file without its damaged stretches. It reports whether records are left.
func copyWhole(to, from string, walked warc.Walked) (bool, error) {
	in, err := os.Open(from)
	if err != nil {
		return false, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return false, err
	}
	out, err := os.Create(to)
	if err != nil {
		return false, err
	}
	defer out.Close()
	at := int64(0)
	for _, span := range append(walked.Damaged, warc.Span{Offset: info.Size()}) {
		if _, err := io.Copy(out, io.NewSectionReader(in, at, span.Offset-at)); err != nil {
			return false, err
		}
		at = span.Offset + span.Length
	}
	return walked.Records > 0, errors.Join(out.Sync(), out.Close())
}

// renewals bounds for how many pages one commit plans new visits.
const renewals = 1000

// renew makes pages whose captures are lost wait for a visit as if it had not been made. The index of payloads is
// removed: it may lead to what is lost, and only saves room.
func (a *archive) renew(dir string) (err error) {
	known, err := filepath.Glob(filepath.Join(a.dir, ".*.payloads"))
	for _, path := range known {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return err
	}
	crawl, err := reading.OpenToChange(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, crawl.Close()) }()
	for _, partition := range crawl.State.Partitions {
		pages, err := partition.Pages.Find(a.missing)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(pages, renewals) {
			batch := store.NewBatch(time.Now())
			for _, page := range some {
				batch.Renew(page.Position, page.Page)
			}
			if _, err := partition.Commit(batch); err != nil {
				return err
			}
		}
	}
	a.mended = append(a.mended, fmt.Sprintf("%d pages will be visited again: their captures are lost", len(a.missing)))
	return nil
}
