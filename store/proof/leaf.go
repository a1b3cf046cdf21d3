// Package proof keeps an append-only log of what is in finished WARC files, so that whoever has one of its checkpoints
// sees later that nothing was removed or altered since.
//
// The log is a Merkle tree (RFC 6962, golang.org/x/mod/sumdb/tlog) of leaves, each a line of text: one for each record,
// with the SHA-256 of its stored bytes, and one that ends a file. Tiles of 1,024 hashes and of 1,024 leaves lie in
// files (store/FORMAT.md). When a file is finished, its leaves are added, the tiles are synced, and a checkpoint is
// signed: how many leaves there are, and the root of the tree.
//
// # Invariants
//
//   - A checkpoint names synced tiles alone. What a process that died wrote behind the last checkpoint counts for
//     nothing, and is written over.
//   - A log has one writer: the process that has claimed the WARC files (package folder).
//   - The leaves of a file lie behind each other, in the order of its records, which share out its bytes; the one that
//     ends the file is behind them. Of a file that is in the log twice, the later leaves say what it holds.
//   - The private key is in a file of its owner alone, and goes nowhere else.
package proof

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"henro/store/archive/warc"
)

// version begins every leaf.
const version = "henro/1"

const (
	maxURI  = 1024     // of a longer one, the leaf has the SHA-256
	maxLeaf = 4 << 10  // of the line
	maxNote = 16 << 10 // of a checkpoint with its signatures
)

// Leaf is one line of the log: a record, or the end of a file (Records is then how many it has, and the rest is not
// there, but for File and Length).
type Leaf struct {
	File           string // its name when it is finished
	Offset, Length int64  // of the record's stored bytes; of the end of a file its size
	Sum            [sha256.Size]byte
	Type           warc.Type
	Date           string // WARC-Date, "-" if there is none
	URI            string // WARC-Target-URI, "-" if there is none; sha256:HEX of one that is longer than 1,024 bytes
	IsEnd          bool
	Records        int64
}

// record makes the leaf of a record, but for its place and its digest.
func record(file string, kind warc.Type, date, uri string) Leaf {
	uri = plain(uri)
	if len(uri) > maxURI {
		sum := sha256.Sum256([]byte(uri))
		uri = "sha256:" + hex.EncodeToString(sum[:])
	}
	date = strings.ReplaceAll(plain(date), " ", "_")
	return Leaf{File: file, Type: typed(kind), Date: date[:min(len(date), 64)], URI: uri}
}

func typed(kind warc.Type) warc.Type {
	return warc.Type(strings.ReplaceAll(plain(string(kind)), " ", "_"))
}

// plain is a field of a header without what ends or hides a line; of one that is not there "-".
func plain(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f { // as few fields have
			s = strings.Map(func(r rune) rune {
				if r < ' ' || r == 0x7f {
					return ' '
				}
				return r
			}, s)
			break
		}
	}
	return cmp.Or(strings.TrimSpace(s), "-")
}

// stamp is a moment as the records of henro have it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Append appends the line.
func (l *Leaf) Append(dst []byte) []byte {
	dst = append(dst, version...)
	if l.IsEnd {
		return fmt.Appendf(dst, " end %s %d %d\n", l.File, l.Length, l.Records)
	}
	dst = append(append(dst, " record "...), l.File...)
	dst = strconv.AppendInt(append(dst, ' '), l.Offset, 10)
	dst = strconv.AppendInt(append(dst, ' '), l.Length, 10)
	dst = hex.AppendEncode(append(dst, ' '), l.Sum[:])
	dst = append(append(dst, ' '), l.Type...)
	dst = append(append(dst, ' '), l.Date...)
	dst = append(append(dst, ' '), l.URI...)
	return append(dst, '\n')
}

var errLeaf = errors.New("is no leaf of a log of WARC files")

// ParseLeaf reads a line, with its end. Whatever it takes, Append writes as it was.
func ParseLeaf(line []byte) (l Leaf, err error) {
	text, ended := bytes.CutSuffix(line, []byte("\n"))
	if !ended || len(line) > maxLeaf {
		return l, errLeaf
	}
	words := strings.SplitN(string(text), " ", 9)
	if len(words) < 5 || words[0] != version || words[2] == "" {
		return l, errLeaf
	}
	l.File = words[2]
	switch {
	case words[1] == "end" && len(words) == 5:
		l.IsEnd = true
		l.Length, err = number(words[3], nil)
		l.Records, err = number(words[4], err)
	case words[1] == "record" && len(words) == 9:
		l.Offset, err = number(words[3], nil)
		l.Length, err = number(words[4], err)
		if sum, bad := hex.DecodeString(words[5]); bad != nil || copy(l.Sum[:], sum) < len(l.Sum) {
			err = errLeaf
		}
		l.Type, l.Date, l.URI = warc.Type(words[6]), words[7], words[8]
	default:
		err = errLeaf
	}
	if err == nil && !bytes.Equal(l.Append(nil), line) {
		err = errLeaf
	}
	return l, err
}

func number(text string, before error) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if before != nil || err != nil || n < 0 {
		return 0, errLeaf
	}
	return n, nil
}

// String says in words which record it is.
func (l *Leaf) String() string {
	return fmt.Sprintf("%s: the %s record of %s at %d", l.File, l.Type, l.URI, l.Offset)
}
