package collect

import (
	"context"
	"io"
	"os"
)

// Place is where files are brought.
type Place interface {
	// Bring makes a file whole there, wherever an earlier try ended, and returns once what the place gives back has its
	// SHA-256. It may be called again, also for a file that is there. ErrConflict and ErrDigest are about this file,
	// any other error is about the place.
	Bring(ctx context.Context, file *File) error
}

// File is a finished file of an archive.
type File struct {
	io.ReaderAt
	Name   string // without folders
	Size   int64
	SHA256 string   // in hexadecimal digits
	here   *os.File // nil: it is in memory
	made   bool     // of another file, and perhaps not in the same way each time: what was brought before is replaced
}

// open opens a file and computes its digest.
func open(path, name string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	file := &File{ReaderAt: f, here: f, Name: name}
	if file.SHA256, file.Size, err = digest(f); err != nil {
		f.Close()
		return nil, err
	}
	return file, nil
}
