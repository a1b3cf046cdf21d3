package proof

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Home is where the logs of an archive lie: a folder, or one in a bucket. Names have slashes.
type Home interface {
	String() string                             // where that is, as people write it
	Read(name string, most int) ([]byte, error) // a file of at most so many bytes; fs.ErrNotExist
	Names(folder string) ([]string, error)      // of files and folders in a folder; none if it is not there
	Keeps() bool                                // also tiles that have grown since
}

// Disk is a folder of logs, whose Log takes tiles away that have grown.
type Disk string

// String is its path.
func (d Disk) String() string { return string(d) }

// Read reads a file.
func (d Disk) Read(name string, most int) ([]byte, error) {
	return readBounded(filepath.Join(string(d), filepath.FromSlash(name)), most)
}

// Keeps is false.
func (d Disk) Keeps() bool { return false }

// Names reads a folder.
func (d Disk) Names(folder string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(string(d), filepath.FromSlash(folder)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unnamed(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// standing are logs as they stood at a moment, whatever comes to them meanwhile.
type standing struct {
	Home
	newest map[string][]byte   // checkpoints, by their names
	names  map[string][]string // what is in folders
}

// Stand returns logs as they stand now, of a place where tiles that have grown stay.
func Stand(from Home) (Home, error) {
	s := &standing{from, map[string][]byte{}, map[string][]string{}}
	logs, err := Logs(from)
	if err != nil {
		return nil, err
	}
	s.names[""] = logs
	for _, log := range logs {
		at, folder := path.Join(log, checkpointFile), path.Join(log, checkpoints)
		for range 10 { // until both are of one moment
			before, _ := from.Read(at, maxNote) // what cannot be read is named later
			names, err := from.Names(folder)
			if err != nil {
				return nil, err
			}
			after, _ := from.Read(at, maxNote)
			s.names[folder] = names
			if s.newest[at] = after; bytes.Equal(before, after) {
				break
			}
		}
	}
	return s, nil
}

// Read reads a file.
func (s *standing) Read(name string, most int) ([]byte, error) {
	if text := s.newest[name]; text != nil {
		return text, nil
	}
	return s.Home.Read(name, most)
}

// Names lists what is in a folder.
func (s *standing) Names(folder string) ([]string, error) {
	if names, known := s.names[folder]; known {
		return names, nil
	}
	return s.Home.Names(folder)
}

// checkpoint reads a checkpoint of a log.
func checkpoint(h Home, log, name string) (*Checkpoint, error) {
	text, err := h.Read(path.Join(log, name), maxNote)
	var c *Checkpoint
	if err == nil {
		c, err = ParseCheckpoint(text)
	}
	if err == nil && (c.Log != log || string(c.Note) != string(text)) {
		err = ErrCheckpoint
	}
	return c, err
}

// readBounded reads a small file.
func readBounded(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unnamed(err)
	}
	defer f.Close()
	return ReadBounded(f, most)
}

// ReadBounded reads all of a file, of at most so many bytes.
func ReadBounded(f io.Reader, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("is longer than %d bytes", most)
	}
	return data, err
}

// unnamed is an error of a file without its path, which stands before it.
func unnamed(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
