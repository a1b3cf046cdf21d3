package audit

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
	"henro/store/archive/wacz"
	"henro/store/archive/warc"
	"henro/store/fingerprint"
	"henro/store/proof"
	"henro/store/proof/packed"
)

// Package is what a WACZ file holds.
type Package struct {
	About     wacz.About
	Files     int // of the archive
	Lines     int // of the indexes
	Elsewhere int // revisits that refer to captures of other archives
}

// CheckPackage verifies a WACZ file, whatever program wrote it; with a signer, that it is signed by that key. since is
// an earlier checkpoint of its log, or nil.
func CheckPackage(file, signer string, since *proof.Checkpoint, progress Progress) (*Result, error) {
	p, err := wacz.Open(file)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	a := archive{progress: progress}
	about, err := p.Verify(a.note, func(done, all int64) { progress("parts", uint64(done), uint64(all)) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	files := p.Files("archive")
	r := &Result{Package: &Package{About: about, Files: len(files)},
		Advice: "take another copy of the package, or pack the crawl again"}
	r.Package.Elsewhere = a.packed(p, files)
	r.Package.Lines = a.packedIndexes(p)
	if signer != "" && (about.Signed == nil || about.Signed.PublicKey != signer) {
		a.note("it is not signed by %s", signer)
	}
	r.Logs, err = packed.Check(p, since, func(done, all uint64) { progress("log", done, all) }, a.note)
	r.take(&a, nil, 0)
	return r, err
}

// packed reads all records of the WARC files, which any program may have written, and notes where they begin. It
// returns how many revisits refer to captures of other archives.
func (a *archive) packed(p *wacz.Package, files []string) (elsewhere int) {
	for i, name := range files {
		f, err := p.Stored(name)
		if err != nil {
			a.note("%v", err)
			continue
		}
		walked, err := warc.List(f, func(r *warc.Entry) error {
			a.lines = append(a.lines, placeOf(path.Base(name), r.Offset))
			_, err := a.record(r, path.Base(name))
			return err
		})
		if err != nil {
			a.note("%q: %v", name, err)
		}
		a.records += uint64(walked.Records)
		for _, span := range walked.Damaged {
			a.note("%q: %d bytes at %d are no record: %v", name, span.Length, span.Offset, span.Err)
		}
		a.progress("records", uint64(i+1), uint64(len(files)))
	}
	slices.Sort(a.captures)
	slices.Sort(a.lines)
	for _, r := range a.refers {
		if !slices.ContainsFunc(r.to[:], a.has) {
			elsewhere++
		}
	}
	return elsewhere
}

// placeOf is the fingerprint of the place where a record begins.
func placeOf(file string, offset int64) uint64 { return fingerprint.URL(fmt.Sprint(offset, " ", file)) }

// packedIndexes follows every line of the indexes to a record, and counts them.
func (a *archive) packedIndexes(p *wacz.Package) (lines int) {
	for _, name := range p.Indexes() {
		index, err := p.Index(name)
		if err == nil {
			err = bucket.EachLineIn(index, true, func(e cdxj.Entry) error {
				lines++
				if _, ok := slices.BinarySearch(a.lines, placeOf(path.Base(e.Filename), e.Offset)); !ok {
					return fmt.Errorf("leads to no record: %q at %d of %q", e.URL, e.Offset, e.Filename)
				}
				return nil
			})
			err = errors.Join(err, index.Close())
		}
		if err != nil {
			a.note("%q: %v", name, err)
		}
	}
	return lines
}
