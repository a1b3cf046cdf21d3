package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"henro/cmd/config"
	"henro/store/archive/cdxj"
	"henro/store/archive/wacz"
	"henro/store/archive/warc"
	"henro/store/fingerprint"
)

// checkPackage verifies a WACZ file, of whichever writer.
func checkPackage(out io.Writer, bar *bar, file, signer string) error {
	p, err := wacz.Open(file)
	if err != nil {
		return config.Usage("%v", err)
	}
	defer p.Close()
	a := archiveCheck{bar: bar}
	about, err := p.Verify(a.note, func(done, all int64) { bar.show("parts", uint64(done), uint64(all)) })
	if err != nil {
		return config.Usage("%s: %v", file, err)
	}
	files := p.Files("archive")
	elsewhere := a.packed(p, files)
	lines := a.packedIndexes(p)
	bar.end()
	if signer != "" && (about.Signed == nil || about.Signed.PublicKey != signer) {
		a.note("it is not signed by %s", signer)
	}
	fmt.Fprintf(out, "package  %d parts, %s; %q, made by %q on %q\n", about.Parts, sizeWords(uint64(about.Bytes)),
		about.Title, about.Software, about.Created)
	fmt.Fprintf(out, "archive  %d WARC files, %d records, %d lines of the index\n", len(files), a.records, lines)
	switch {
	case about.Signed != nil:
		fmt.Fprintf(out, "signed   by %s (on %q, which is not signed)\n", about.Signed.PublicKey, about.Signed.Created)
	case about.Domain != "":
		fmt.Fprintf(out, "signed   for %q by a certificate, which henro does not verify\n", about.Domain)
	default:
		fmt.Fprintln(out, "signed   not at all")
	}
	if elsewhere > 0 {
		fmt.Fprintf(out, "%d revisits refer to captures that are not in the package\n", elsewhere)
	}
	return a.verdict(out, nil, 0, "take another copy of the package, or pack the crawl again")
}

// packed reads all records of the WARC files, as readers of other writers' files do, and notes where they begin. It
// returns how many revisits refer to captures of other archives.
func (a *archiveCheck) packed(p *wacz.Package, files []string) (elsewhere int) {
	for i, name := range files {
		f, err := p.Stored(name)
		if err != nil {
			a.note("%v", err)
			continue
		}
		walked, err := warc.List(f, func(r *warc.Entry) error {
			to, refers := refersTo(r)
			e, ok, err := cdxj.Of(r, path.Base(name))
			a.lines = append(a.lines, placeOf(path.Base(name), r.Offset))
			if ok && err == nil {
				a.captures = append(a.captures, captureOf(e.URL, e.At))
				if refers {
					a.refers = append(a.refers, reference{to: to})
				}
			}
			return err
		})
		if err != nil {
			a.note("%q: %v", name, err)
		}
		a.records += uint64(walked.Records)
		for _, span := range walked.Damaged {
			a.note("%q: %d bytes at %d are no record: %v", name, span.Length, span.Offset, span.Err)
		}
		a.bar.show("records", uint64(i+1), uint64(len(files)))
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

// placeOf names where a record begins.
func placeOf(file string, offset int64) uint64 { return fingerprint.URL(fmt.Sprint(offset, " ", file)) }

// packedIndexes follows every line of the indexes to a record, and counts them.
func (a *archiveCheck) packedIndexes(p *wacz.Package) (lines int) {
	for _, name := range p.Indexes() {
		index, err := p.Index(name)
		if err == nil {
			err = eachLineIn(index, true, func(e cdxj.Entry) error {
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
