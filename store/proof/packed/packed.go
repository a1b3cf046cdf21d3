// Package packed takes the logs of an archive into a WACZ file, and compares them there with the WARC files.
package packed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"henro/store/archive/bucket"
	"henro/store/archive/wacz"
	"henro/store/proof"
)

// Folder is that of the logs in a package.
const Folder = "proof"

// Bounds of what is unpacked from a package that anybody may have made: 600 bytes a page is usual.
const (
	maxParts = 2_000_000
	maxBytes = 16 << 30
	maxPart  = 64 << 20 // of a file in a bucket
)

// Parts are the files of the logs of an archive, by their names in a package. The private key is not among them, nor
// what is not logged yet. Those of a bucket are copied into temp, as they stand now.
func Parts(archive string, find func(address string) (bucket.Where, error), temp string) (parts []wacz.Other,
	err error) {
	dir := proof.Path(archive)
	if strings.HasPrefix(archive, bucket.Scheme) {
		dir = filepath.Join(temp, Folder)
		if err := fetch(archive, find, dir); err != nil {
			return nil, fmt.Errorf("the logs of %s: %w", archive, err)
		}
	}
	names, err := proof.Logs(proof.Disk(dir))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(dir, name), func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			within, err := filepath.Rel(dir, file)
			parts = append(parts, wacz.Other{Path: path.Join(Folder, filepath.ToSlash(within)), File: file})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// fetch copies the logs of a bucket.
func fetch(archive string, find func(address string) (bucket.Where, error), to string) error {
	where, err := find(archive)
	if err != nil {
		return err
	}
	logs, err := bucket.OpenLogs(context.Background(), where)
	if err != nil {
		return err
	}
	standing, err := proof.Stand(logs)
	if err != nil {
		return err
	}
	left := maxParts
	return fetchAll(standing, "", to, &left)
}

// fetchAll copies what is in a folder of logs, of which so many files may be left.
func fetchAll(logs proof.Home, folder, to string, left *int) error {
	names, err := logs.Names(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		within := path.Join(folder, name)
		if *left--; *left < 0 || !filepath.IsLocal(filepath.FromSlash(within)) {
			return fmt.Errorf("%q: is no name of a part of a log, or there are more than %d", within, maxParts)
		}
		file := filepath.Join(to, filepath.FromSlash(within))
		data, err := logs.Read(within, maxPart)
		if err == nil {
			if err = os.MkdirAll(filepath.Dir(file), 0o700); err == nil {
				err = os.WriteFile(file, data, 0o600)
			}
		} else if more, bad := logs.Names(within); bad == nil && len(more) > 0 { // it is a folder
			err = fetchAll(logs, within, to, left)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", within, err)
		}
	}
	return nil
}

// Check compares the logs in a package with its WARC files, as proof.Check does. Files that are logged and not packed
// are no fault: the signature of the package says whether it is whole.
func Check(p *wacz.Package, since *proof.Checkpoint, progress func(done, all uint64),
	fault proof.Fault) (checked []proof.Checked, err error) {
	parts := p.Files(Folder)
	if len(parts) == 0 && since == nil {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "henro-proof-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := unpack(p, parts, dir); err != nil {
		return nil, err
	}
	checked, err = proof.Check(proof.Disk(dir), archive{p}, since, progress, fault)
	for i := range checked {
		checked[i].Path = path.Base(path.Dir(checked[i].Path))
	}
	return checked, err
}

// unpack writes the parts of the logs to a folder.
func unpack(p *wacz.Package, parts []string, dir string) error {
	if len(parts) > maxParts {
		return fmt.Errorf("its logs have %d parts, at most %d are read", len(parts), maxParts)
	}
	left := int64(maxBytes)
	for _, name := range parts {
		within := strings.TrimPrefix(name, Folder+"/")
		if !filepath.IsLocal(filepath.FromSlash(within)) {
			return fmt.Errorf("%q: is no name of a part of a log", name)
		}
		n, err := unpackOne(p, name, filepath.Join(dir, filepath.FromSlash(within)), left)
		if err != nil {
			return fmt.Errorf("unpack %q: %w", name, err)
		}
		if left -= n; left < 0 {
			return fmt.Errorf("its logs have more than %d bytes", int64(maxBytes))
		}
	}
	return nil
}

func unpackOne(p *wacz.Package, name, to string, most int64) (n int64, err error) {
	in, err := p.Part(name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(in, most+1))
	return n, errors.Join(err, out.Close())
}

// archive are the WARC files of a package.
type archive struct{ *wacz.Package }

func (a archive) Open(name string) (io.ReadSeekCloser, int64, error) {
	part, err := a.Stored("archive/" + name)
	if err != nil {
		return nil, 0, err
	}
	return section{part}, part.Size(), nil
}

// section is a part that needs no closing.
type section struct{ *io.SectionReader }

func (section) Close() error { return nil }

func (a archive) Holds(name string) bool {
	_, err := a.Stored("archive/" + name)
	return !errors.Is(err, fs.ErrNotExist)
}

func (a archive) Bytes() (all uint64) {
	for _, name := range a.Files("archive") {
		if part, err := a.Stored(name); err == nil {
			all += uint64(part.Size())
		}
	}
	return all
}
