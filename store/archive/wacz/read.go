package wacz

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// ErrNotPackage is returned for a file that is no WACZ.
var ErrNotPackage = errors.New("wacz: not a WACZ file")

// What is read into memory of a package at most, whichever program made it.
const (
	maxDirectory   = 16 << 20 // of the ZIP file: some 150,000 parts
	maxDataPackage = 16 << 20 // lists every part that is not a page: some 80,000
	maxDigest      = 1 << 20  // a hash, a signature and its certificates
)

const (
	dataPackage       = "datapackage.json"
	dataPackageDigest = "datapackage-digest.json"
)

// Package is a WACZ file that is read. It may be of another writer.
type Package struct {
	file  *os.File
	parts []*zip.File
	named map[string]*zip.File
}

// Open opens a package. Close it.
func Open(name string) (*Package, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	in := &opened{File: f, left: maxDirectory}
	z, err := zip.NewReader(in, info.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrNotPackage, err), f.Close())
	}
	in.whole = true
	p := &Package{file: f, parts: z.File, named: map[string]*zip.File{}}
	for _, part := range z.File {
		p.named[part.Name] = part
	}
	if p.named[dataPackage] == nil {
		return nil, errors.Join(fmt.Errorf("%w: it has no %s", ErrNotPackage, dataPackage), f.Close())
	}
	return p, nil
}

// opened is a ZIP file of which no more than maxDirectory bytes are read until its directory is known.
type opened struct {
	*os.File
	left  int
	whole bool // the directory was read
}

func (o *opened) ReadAt(to []byte, at int64) (int, error) {
	if !o.whole {
		if o.left -= len(to); o.left < 0 {
			return 0, fmt.Errorf("its directory is longer than %d bytes", maxDirectory)
		}
	}
	return o.File.ReadAt(to, at)
}

// Close closes the file.
func (p *Package) Close() error { return p.file.Close() }

// Files are the paths of the parts in a folder of the package, in their order.
func (p *Package) Files(folder string) []string {
	var names []string
	for _, part := range p.parts {
		if strings.HasPrefix(part.Name, folder+"/") && !strings.HasSuffix(part.Name, "/") {
			names = append(names, part.Name)
		}
	}
	return names
}

// Part opens a part, to be read to its end.
func (p *Package) Part(name string) (io.ReadCloser, error) {
	part := p.named[name]
	if part == nil {
		return nil, fmt.Errorf("%q: %w", name, os.ErrNotExist)
	}
	return part.Open()
}

// Stored is a part that is not compressed, which can be read from any place.
func (p *Package) Stored(name string) (*io.SectionReader, error) {
	part := p.named[name]
	switch {
	case part == nil:
		return nil, fmt.Errorf("%q: %w", name, os.ErrNotExist)
	case part.Method != zip.Store:
		return nil, fmt.Errorf("%q is compressed by the package, so that no reader can begin at a record", name)
	}
	at, err := part.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return io.NewSectionReader(p.file, at, int64(part.CompressedSize64)), nil
}

// Indexes are the paths of the indexes, whose lines are CDXJ.
func (p *Package) Indexes() []string {
	return slices.DeleteFunc(p.Files("indexes"), func(name string) bool {
		kind := path.Ext(strings.TrimSuffix(name, ".gz"))
		return kind != ".cdx" && kind != ".cdxj" // index.idx stands above the blocks of another
	})
}

// Index opens one of the Indexes and unpacks it.
func (p *Package) Index(name string) (io.ReadCloser, error) {
	f, err := p.Part(name)
	if err != nil || !strings.HasSuffix(name, ".gz") {
		return f, err
	}
	lines, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%q: %w", name, err), f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{lines, f}, nil
}

// EachIndex shows all indexes.
func (p *Package) EachIndex(visit func(name string, lines io.Reader) error) error {
	for _, name := range p.Indexes() {
		index, err := p.Index(name)
		if err != nil {
			return err
		}
		if err := errors.Join(visit(name, index), index.Close()); err != nil {
			return err
		}
	}
	return nil
}

// About is what a package says of itself.
type About struct {
	Title    string     `json:"title"`
	Software string     `json:"software"`
	Created  string     `json:"created"`
	Signed   *Signature `json:"-"` // nil: the package has no signature that was verified
	Domain   string     `json:"-"` // of a signature by a certificate, which is not verified
	Parts    int        `json:"-"`
	Bytes    int64      `json:"-"`
}

// Signature is one that was verified. The signature does not cover the moment.
type Signature struct {
	PublicKey string // SubjectPublicKeyInfo in base64
	Created   string
}

// Verify compares every part with the digest that the data package names, that with its own digest, and this with the
// signature if there is one. wrong is called for each thing that does not agree, progress with the bytes read so far.
// An error is one of reading the file.
func (p *Package) Verify(wrong func(format string, values ...any), progress func(done, all int64)) (About, error) {
	var about About
	text, err := p.small(dataPackage, maxDataPackage)
	if err != nil {
		return about, err
	}
	resources, err := p.listed(text, &about)
	if err != nil {
		return about, fmt.Errorf("%w: %s: %w", ErrNotPackage, dataPackage, err)
	}
	p.verifyDigest(text, &about, wrong)
	p.verifyNames(resources, wrong)
	var all int64
	for _, r := range resources {
		if part := p.named[r.Path]; part != nil {
			all += int64(part.UncompressedSize64)
		}
	}
	for _, r := range resources {
		if p.named[r.Path] == nil {
			wrong("%q is listed in %s and not in the package", r.Path, dataPackage)
			continue
		}
		n, err := p.verifyPart(r)
		if err != nil {
			wrong("%q: %v", r.Path, err)
		}
		about.Parts++
		about.Bytes += n
		progress(about.Bytes, all)
	}
	return about, nil
}

// listed reads a data package: what it says of the package, and the parts that it lists. It may list some that are
// missing, and not twice as many as there are: an entry of three bytes takes seventy in memory.
func (p *Package) listed(text []byte, about *About) (all []resource, err error) {
	var list struct {
		*About
		Resources json.RawMessage `json:"resources"`
	}
	list.About = about
	if err := json.Unmarshal(text, &list); err != nil || len(list.Resources) == 0 {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(list.Resources))
	if start, err := in.Token(); err != nil || start != json.Delim('[') {
		return nil, errors.Join(errors.New("resources is no list"), err)
	}
	for most := 2*len(p.parts) + 100; in.More(); {
		var r resource
		if err := in.Decode(&r); err != nil {
			return nil, err
		}
		if all = append(all, r); len(all) > most {
			return nil, fmt.Errorf("it lists more than %d parts, but the package has %d", most, len(p.parts))
		}
	}
	return all, nil
}

// small reads a whole part.
func (p *Package) small(name string, most int64) ([]byte, error) {
	f, err := p.Part(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case int64(len(text)) > most:
		return nil, fmt.Errorf("%w: %s is longer than %d bytes", ErrNotPackage, name, most)
	}
	return text, nil
}

// verifyNames compares the parts with the list of them. Of two parts with one name a reader may take either.
func (p *Package) verifyNames(listed []resource, wrong func(string, ...any)) {
	known := map[string]bool{dataPackage: true, dataPackageDigest: true}
	for _, r := range listed {
		known[r.Path] = true
	}
	seen := map[string]bool{}
	for _, part := range p.parts {
		switch {
		case strings.HasSuffix(part.Name, "/"):
		case seen[part.Name]:
			wrong("%q is in the package twice", part.Name)
		case !known[part.Name]:
			wrong("%q is in the package and not listed in %s", part.Name, dataPackage)
		}
		seen[part.Name] = true
	}
}

// verifyPart reads a part and returns its length.
func (p *Package) verifyPart(r resource) (int64, error) {
	sum, ok := strings.CutPrefix(r.Hash, "sha256:")
	if !ok {
		return 0, fmt.Errorf("its digest %q is not one of SHA-256", r.Hash)
	}
	f, err := p.Part(r.Path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	read := sha256.New()
	n, err := io.Copy(read, f)
	switch {
	case err != nil:
		return n, err
	case n != r.Bytes:
		return n, fmt.Errorf("it has %d bytes, listed are %d", n, r.Bytes)
	case hex.EncodeToString(read.Sum(nil)) != strings.ToLower(sum):
		return n, errors.New("its content is not the one that is listed")
	}
	return n, nil
}

// verifyDigest compares the data package with its digest, and that with the signature.
func (p *Package) verifyDigest(text []byte, about *About, wrong func(string, ...any)) {
	if p.named[dataPackageDigest] == nil { // the specification leaves it to the writer
		return
	}
	var digest struct {
		Hash   string          `json:"hash"`
		Signed json.RawMessage `json:"signedData"`
	}
	data, err := p.small(dataPackageDigest, maxDigest)
	if err == nil {
		err = json.Unmarshal(data, &digest)
	}
	if err != nil {
		wrong("%s: %v", dataPackageDigest, err)
		return
	}
	if is := fmt.Sprintf("sha256:%x", sha256.Sum256(text)); is != digest.Hash {
		wrong("%s does not have the digest that %s names", dataPackage, dataPackageDigest)
		return
	}
	if len(digest.Signed) == 0 || string(digest.Signed) == "null" {
		return
	}
	var signed signedData
	if err := json.Unmarshal(digest.Signed, &signed); err != nil {
		wrong("signature: %v", err)
		return
	}
	if signed.Domain != "" {
		about.Domain = signed.Domain
		return
	}
	if about.Signed, err = signed.verify(digest.Hash); err != nil {
		wrong("signature: %v", err)
	}
}
