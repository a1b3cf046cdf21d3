package proof

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

var (
	// ErrCheckpoint is returned for a text that is no checkpoint.
	ErrCheckpoint = errors.New("is no checkpoint of a log of henro")
	// ErrForged is returned for a checkpoint whose signature does not fit its text and its key.
	ErrForged = errors.New("its signature is forged, or the checkpoint was altered")
)

// Checkpoint is a signed note: a log had so many leaves, and the tree of these this root. The name of the log, its size
// and root stand as other logs have them (c2sp.org/tlog-checkpoint), the moment and the key behind them.
type Checkpoint struct {
	Log  string // its name, which is that of the key
	Size int64  // leaves
	Root tlog.Hash
	At   time.Time // by the clock of the writer, in seconds
	Key  string    // the public key, as package note has it
	Note []byte    // all of it, as it is kept
}

// newKey makes a key, and the name of its log.
func newKey() (private, public string, err error) {
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return "", "", err
	}
	return note.GenerateKey(rand.Reader, "henro-"+hex.EncodeToString(id))
}

// sign makes the checkpoint of a tree.
func sign(key note.Signer, public string, size int64, root tlog.Hash, at time.Time) (*Checkpoint, error) {
	c := &Checkpoint{Log: key.Name(), Size: size, Root: root, At: at.UTC().Truncate(time.Second), Key: public}
	var err error
	c.Note, err = note.Sign(&note.Note{Text: c.text()}, key)
	return c, err
}

func (c *Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\ntime %s\nkey %s\n", c.Log, c.Size, c.Root, stamp(c.At), c.Key)
}

// ParseCheckpoint reads a checkpoint and compares its signature with the key that it names. So it says what the holder
// of that key signed; who that is, the key alone does not say.
func ParseCheckpoint(text []byte) (*Checkpoint, error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) // it may have come by mail
	signed, _, ok := bytes.Cut(text, []byte("\n\n"))
	lines := strings.Split(string(signed), "\n")
	if !ok || len(text) > maxNote || len(lines) != 5 {
		return nil, ErrCheckpoint
	}
	c := &Checkpoint{Log: lines[0], Note: text}
	at, isTimed := strings.CutPrefix(lines[3], "time ")
	key, isKeyed := strings.CutPrefix(lines[4], "key ")
	size, err1 := strconv.ParseInt(lines[1], 10, 64)
	root, err2 := base64.StdEncoding.DecodeString(lines[2])
	moment, err3 := time.Parse(time.RFC3339, at)
	if err := errors.Join(err1, err2, err3); err != nil || !isTimed || !isKeyed || size < 0 ||
		copy(c.Root[:], root) != len(c.Root) || !isLog(c.Log) {
		return nil, ErrCheckpoint
	}
	c.Size, c.At, c.Key = size, moment, key
	verifier, err := note.NewVerifier(c.Key)
	if err != nil || verifier.Name() != c.Log {
		return nil, fmt.Errorf("%w: its key is none of this log", ErrForged)
	}
	opened, err := note.Open(text, note.VerifierList(verifier))
	if err != nil || opened.Text != c.text() {
		return nil, ErrForged
	}
	signature, err := base64.StdEncoding.DecodeString(opened.Sigs[0].Base64)
	if err != nil || string(text) != fmt.Sprintf("%s\n— %s %s\n", opened.Text, c.Log,
		base64.StdEncoding.EncodeToString(signature)) { // one signature, and in one way
		return nil, ErrForged
	}
	return c, nil
}

// isLog reports whether a name is one of a log, and so of a folder.
func isLog(name string) bool {
	id, ok := strings.CutPrefix(name, "henro-")
	return ok && len(id) == 16 && strings.Trim(id, "0123456789abcdef") == ""
}

// ReadCheckpoint reads a checkpoint from a file, or from its text.
func ReadCheckpoint(fileOrText string) (*Checkpoint, error) {
	text := []byte(fileOrText)
	if !strings.Contains(fileOrText, "\n") {
		var err error
		if text, err = readBounded(fileOrText, maxNote); err != nil {
			return nil, fmt.Errorf("%s: %w", fileOrText, err)
		}
	}
	c, err := ParseCheckpoint(text)
	if err != nil {
		return nil, fmt.Errorf("%.60q %w", fileOrText, err)
	}
	return c, nil
}
