package proof

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// ErrNotLogged is returned for a record that no log has.
var ErrNotLogged = errors.New("is in no log yet: a WARC file is logged when it is finished")

// ErrProof is returned for a proof that proves nothing.
var ErrProof = errors.New("proves nothing")

const (
	proofHead = "henro proof 1"
	maxProof  = 64 << 10 // with a timestamp and its certificates
)

// Proof shows that a record was in a log when one of its checkpoints was signed. It is checked without the archive.
type Proof struct {
	Index      int64 // of the leaf
	Line       []byte
	Leaf       Leaf        // what Line says
	Path       []tlog.Hash // from the leaf up to the root
	Stamp      []byte      // the answer of an authority (RFC 3161) for the checkpoint; nil: there is none
	Checkpoint *Checkpoint
}

// Prove looks for a record in logs, by its WARC file and where it begins. It proves it by the earliest
// checkpoint with a timestamp, or by the newest.
func Prove(from Home, file string, offset int64) (*Proof, error) {
	names, err := Logs(from)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		p, err := proveIn(from, name, file, offset)
		if err != nil {
			return nil, fmt.Errorf("log %s: %w", name, err)
		}
		if p != nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("the record at %d of %s %w", offset, file, ErrNotLogged)
}

func proveIn(from Home, log, file string, offset int64) (*Proof, error) {
	c, err := checkpoint(from, log, checkpointFile)
	if err != nil {
		return nil, err
	}
	f := &files{home: from, log: log, size: c.Size}
	var in group
	if err := f.groups(func(g group) bool { in = g; return g.file != file }); err != nil || in.file != file {
		return nil, err
	}
	p := &Proof{Checkpoint: c}
	records := int(in.end - in.begin - 1)
	at := sort.Search(records, func(i int) bool {
		leaf, bad := f.leaf(in.begin + int64(i))
		if bad != nil {
			err = bad
		}
		return leaf.Offset >= offset
	})
	if err != nil || at == records {
		return nil, err
	}
	p.Index = in.begin + int64(at)
	if p.Leaf, err = f.leaf(p.Index); err != nil || p.Leaf.Offset != offset {
		return nil, err
	}
	p.Line = p.Leaf.Append(nil)
	for _, size := range stamped(from, log) {
		if size <= p.Index || size > c.Size {
			continue
		}
		name := keptFile(size)
		if size == c.Size {
			name = checkpointFile
		}
		if p.Checkpoint, err = checkpoint(from, log, name); err == nil {
			p.Stamp, err = from.Read(path.Join(log, stampFile(size)), maxStamp)
		}
		if err != nil {
			return nil, err
		}
		break
	}
	p.Path, err = tlog.ProveRecord(p.Checkpoint.Size, p.Index,
		tlog.TileHashReader(tlog.Tree{N: p.Checkpoint.Size, Hash: p.Checkpoint.Root}, f))
	if err != nil {
		return nil, err
	}
	return p, p.check()
}

// sides says of each hash of the path on which side of the other one it stands.
func (p *Proof) sides() (left []bool) {
	at, last := p.Index, p.Checkpoint.Size-1
	for range p.Path {
		for at%2 == 0 && at == last && at > 0 { // the root of a part without a neighbour
			at, last = at/2, last/2
		}
		left = append(left, at%2 == 1)
		at, last = at/2, last/2
	}
	return left
}

// Format returns the text of the proof.
func (p *Proof) Format() []byte {
	text := fmt.Appendf(nil, "%s\nindex %d\nleaf %s", proofHead, p.Index, p.Line)
	for i, left := range p.sides() {
		text = fmt.Appendf(text, "%s %x\n", map[bool]string{true: "left", false: "right"}[left], p.Path[i][:])
	}
	if len(p.Stamp) > 0 {
		text = fmt.Appendf(text, "timestamp %s\n", base64.StdEncoding.EncodeToString(p.Stamp))
	}
	return append(append(text, "checkpoint\n"...), p.Checkpoint.Note...)
}

// ParseProof reads a proof and checks all of it but the record.
func ParseProof(text []byte) (*Proof, error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	head, checkpoint, ok := bytes.Cut(text, []byte("\ncheckpoint\n"))
	lines := strings.Split(string(head), "\n")
	if !ok || len(text) > maxProof || len(lines) < 3 || lines[0] != proofHead {
		return nil, fmt.Errorf("%w: want a file of henro prove", ErrProof)
	}
	p, err := new(Proof), error(nil)
	if p.Checkpoint, err = ParseCheckpoint(checkpoint); err != nil {
		return nil, fmt.Errorf("%w: its checkpoint %w", ErrProof, err)
	}
	index, ok1 := strings.CutPrefix(lines[1], "index ")
	leaf, ok2 := strings.CutPrefix(lines[2], "leaf ")
	p.Line = []byte(leaf + "\n")
	p.Leaf, err = ParseLeaf(p.Line)
	p.Index, err = number(index, err)
	for _, line := range lines[3:] {
		word, value, _ := strings.Cut(line, " ")
		var data []byte
		var bad error
		switch word {
		case "left", "right":
			var h tlog.Hash
			if data, bad = hex.DecodeString(value); bad == nil && copy(h[:], data) < len(h) {
				bad = ErrProof
			}
			p.Path = append(p.Path, h)
		case "timestamp":
			p.Stamp, bad = base64.StdEncoding.DecodeString(value)
		default:
			bad = ErrProof
		}
		if bad != nil {
			err = bad
		}
	}
	if err != nil || !ok1 || !ok2 || len(p.Path) > 64 || p.Index >= p.Checkpoint.Size {
		return nil, fmt.Errorf("%w: it was altered", ErrProof)
	}
	if !bytes.Equal(p.Format(), text) {
		return nil, fmt.Errorf("%w: it is not written as henro writes it", ErrProof)
	}
	return p, p.check()
}

func (p *Proof) check() error {
	c := p.Checkpoint
	if err := tlog.CheckRecord(p.Path, c.Size, c.Root, p.Index, tlog.RecordHash(p.Line)); err != nil {
		return fmt.Errorf("%w: the record is not in the tree of the checkpoint", ErrProof)
	}
	if p.Stamp == nil {
		return nil
	}
	_, err := ParseStamp(p.Stamp, c.Note)
	return err
}

// CheckRecord compares a file with the leaf: the WARC file, or the stored bytes of the record alone.
func (p *Proof) CheckRecord(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	offset := p.Leaf.Offset
	if size == p.Leaf.Length {
		offset = 0
	}
	sum, err := digest(f, offset, p.Leaf.Length)
	if err == io.EOF || err == nil && sum != p.Leaf.Sum {
		return fmt.Errorf("%w: %s holds another record, or an altered one", ErrProof, file)
	}
	return err
}

// Print says what is proved.
func (p *Proof) Print(out io.Writer) {
	l, c := &p.Leaf, p.Checkpoint
	fmt.Fprintf(out, "record      %s of %s\n            %s, %d bytes at %d, WARC-Date %s\n            SHA-256 %x\n",
		l.Type, l.URI, l.File, l.Length, l.Offset, l.Date, l.Sum)
	fmt.Fprintf(out, "checkpoint  leaf %d of %d, signed %s\n            by %s\n", p.Index, c.Size, stamp(c.At), c.Key)
	if t, err := ParseStamp(p.Stamp, c.Note); p.Stamp != nil && err == nil {
		fmt.Fprintf(out, "timestamp   %s, by %s\n            (whether to believe it is not judged here: openssl ts)\n",
			stamp(t.At), plain(t.By))
	} else {
		fmt.Fprintln(out, "timestamp   none: the moment is by the clock of the writer")
	}
}

// ReadProof is ParseProof of a file.
func ReadProof(file string) (*Proof, error) {
	text, err := readBounded(file, maxProof)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	p, err := ParseProof(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", file, err)
	}
	return p, nil
}

// stamped are the sizes of the checkpoints with a timestamp, ascending.
func stamped(from Home, log string) (sizes []int64) {
	names, _ := from.Names(path.Join(log, checkpoints)) // without timestamps there are none
	for _, name := range names {
		name, ok := strings.CutSuffix(name, stampSuffix)
		if size, err := strconv.ParseInt(name, 10, 64); ok && err == nil {
			sizes = append(sizes, size)
		}
	}
	sort.Slice(sizes, func(i, j int) bool { return sizes[i] < sizes[j] })
	return sizes
}

// stampFile is where the timestamp of a checkpoint is.
func stampFile(size int64) string { return keptFile(size) + stampSuffix }

const stampSuffix = ".tsr"
