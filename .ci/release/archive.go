package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"os"
	"path"
	"path/filepath"
	"sort"
)

// published is one file of an archive, a package or an image.
type published struct {
	from string // on this machine
	to   string // slash-separated, under the folder of the archive or the root of the machine
	mode os.FileMode
}

// contents are the files of an archive: programs, licences, how to begin, and on unix man pages and completions.
func (r *release) contents(p platform) ([]published, error) {
	var files []published
	for _, program := range programs {
		files = append(files, published{filepath.Join(r.built(p), p.exe(program)), p.exe(program), 0o755})
	}
	files = append(files, published{filepath.Join(r.root, "README.md"), "README.md", 0o644},
		published{filepath.Join(r.root, "CHANGELOG.md"), "CHANGELOG.md", 0o644},
		published{r.licenceTexts(p), "LICENSES.txt", 0o644})
	if p.os == "windows" {
		return files, nil
	}
	for from, to := range map[string]string{"man/*.1": "man/man1", "completions/*": "completions"} {
		found, err := filepath.Glob(filepath.Join(r.work, filepath.FromSlash(from)))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			files = append(files, published{f, path.Join(to, filepath.Base(f)), 0o644})
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].to < files[j].to })
	return files, nil
}

// archive packs the programs of a platform: zip for Windows, tar.gz for the others.
func (r *release) archive(p platform) error {
	files, err := r.contents(p)
	if err != nil {
		return err
	}
	if p.os == "windows" {
		return r.zip(p, files)
	}
	f, err := os.Create(filepath.Join(r.out, r.name(p)+".tar.gz"))
	if err != nil {
		return err
	}
	defer f.Close()
	z := gzip.NewWriter(f) // the best compression takes 2.7 times as long for 0.3 % less
	if err := r.tar(z, r.name(p)+"/", files); err != nil {
		return err
	}
	return z.Close()
}

// tar writes files as of the moment of the release, owned by root.
func (r *release) tar(w io.Writer, prefix string, files []published) error {
	t := tar.NewWriter(w)
	for _, file := range files {
		info, err := os.Stat(file.from)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: prefix + file.to, Size: info.Size(),
			Mode: int64(file.mode), ModTime: r.at, Format: tar.FormatPAX}); err != nil {
			return err
		}
		if err := copyFile(t, file.from); err != nil {
			return err
		}
	}
	return t.Close()
}

func (r *release) zip(p platform, files []published) error {
	f, err := os.Create(filepath.Join(r.out, r.name(p)+".zip"))
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for _, file := range files {
		h := &zip.FileHeader{Name: r.name(p) + "/" + file.to, Method: zip.Deflate, Modified: r.at}
		h.SetMode(file.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if err := copyFile(w, file.from); err != nil {
			return err
		}
	}
	return z.Close()
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
