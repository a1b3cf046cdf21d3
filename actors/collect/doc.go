// Package collect brings the finished WARC files of slaves to one place: a Receiver, or a bucket of a store that speaks
// S3.
//
// A Sender walks over the finished files of a slave's archive and gives each to a Place. A Receiver is one, over HTTP:
// on a network under the cluster's mutual TLS, so that only nodes with the key are let in. A file travels in pieces, at
// offsets that the Receiver names, so that whatever breaks costs one piece. When the last has come, the Receiver syncs
// the file, reads it again from its beginning, compares the SHA-256 that the Sender computed before, and only then
// gives it its name and its index.
//
//	Sender                                     Receiver
//	  GET  /files/NAME                     →   what there is of it: {"size": 0}
//	  PUT  /files/NAME?offset&size&sha256  →   NAME.part grows: {"size": 16777216}
//	  …
//	  PUT  the last piece                  →   synced, read again, renamed, indexed: {"size": …, "whole": true,
//	                                           "sha256": …}
//	  GET  /files/NAME                     →   once more, from the disk: the same
//	  removes the index, then the file
//
// A Bucket gets a file in pieces too, and is believed as little: see there.
//
// # Invariants
//
//   - A file is removed here only after it was whole there, by a digest of what the disk of the other side gives back.
//   - After a kill of either side at any moment the next pass goes on, or finds that there is nothing left to do. If
//     only the index of a file was removed, the next start of the slave makes it again.
//   - A file that is there under its name is never written to again; another one of that name is refused.
//   - One file at a time, and one piece of it, are in memory: nothing grows with the archive.
package collect

import "errors"

var (
	// ErrConflict is returned when the Place has another file of the same name. Someone must look at both.
	ErrConflict = errors.New("there is another file of this name")
	// ErrDigest is returned when what arrived is not what was sent, three times in a row.
	ErrDigest = errors.New("what arrived is not what was sent")
	// ErrRefused is returned when a store does not let us in, and someone must change something.
	ErrRefused = errors.New("refused")
	// ErrInUse is returned when another process collects into the same folder.
	ErrInUse = errors.New("another process collects into this folder")
)

// State is what a Receiver has of a file.
type State struct {
	Size   int64  `json:"size"`             // bytes
	Whole  bool   `json:"whole,omitempty"`  // it has its name
	SHA256 string `json:"sha256,omitempty"` // of a whole one, read from the disk
	Error  string `json:"error,omitempty"`
}
