package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Span is a stretch of a file.
type Span struct {
	Offset, Length int64
	Err            error // what is wrong with it
}

// String names the stretch and what is wrong with it.
func (s Span) String() string {
	return fmt.Sprintf("%d bytes at %d cannot be read: %v", s.Length, s.Offset, s.Err)
}

// Walked says what Walk saw.
type Walked struct {
	Records int    // whole ones
	End     int64  // of the last whole record
	Damaged []Span // the first 1,000 stretches that are not whole records
	Unread  []Span // the first 1,000 whole records that visit could not read, for a bound: ErrTooLarge
}

const maxSpans = 1000

// Walk shows every whole record of a file to visit, going on behind damaged stretches, where Reader stops. visit may be
// nil. It reads of the entry what it needs, and calls Close to learn the Length; until then the record is not known to
// be whole. It may return an error of the entry as it is: Walk recognises damage, and goes on behind a record for which
// the error is ErrTooLarge. Any other error of visit ends the walk. A record without the empty lines that end it counts
// as damaged here, since it was torn, and so does one whose block has another digest than it says.
func Walk(f io.ReadSeeker, visit func(*Entry) error) (Walked, error) {
	return walk(f, visit, false, strictly)
}

func strictly(r *Reader) { r.strict = true }

// List is Walk for the files of other writers. As other readers have it, records without the empty lines that end them
// are whole here, and so is a block that ends with its member or its file before its Content-Length, or behind which no
// record begins. The next record is then looked for from the beginning of that one, whose block may have swallowed it.
func List(f io.ReadSeeker, visit func(*Entry) error) (Walked, error) {
	return walk(f, visit, false, func(r *Reader) { r.lenient = true })
}

// walk reads f. With squeezed, records are shown, and End is, where they will be once the damaged stretches before them
// are taken out, and all of these are returned; their own offsets are those of f.
func walk(f io.ReadSeeker, visit func(*Entry) error, squeezed bool, set func(*Reader)) (Walked, error) {
	var w Walked
	var at int64   // where reading (again) begins
	var gone int64 // bytes taken out before it
	first := make([]byte, len(plainMagic))
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return w, err
	}
	n, err := io.ReadFull(f, first)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return w, err
	}
	magics := [][]byte{gzipMagic, zstdMagic, plainMagic}
	for i, magic := range magics {
		if bytes.HasPrefix(first[:n], magic) {
			magics = magics[i : i+1] // the page of a packed record may hold a plain one, and the other way round
			break
		}
	}
	var frames *unpacker // with the dictionary of the file, if it has one
	for {
		if _, err := f.Seek(at, io.SeekStart); err != nil {
			return w, err
		}
		r := newReader(f, at-gone)
		set(r)
		r.useFrames(frames)
		bad, err := w.read(r, visit)
		frames = r.zstd
		if err != nil {
			return w, err
		}
		if bad == nil {
			return w, nil
		}
		// Reading may have broken off behind whole records, if the start of their member was damaged. So the search
		// begins right behind the first byte of the damaged record.
		bad.Offset += gone
		next, err := search(f, bad.Offset+1, magics)
		if err != nil {
			return w, err
		}
		if bad.Length = next - bad.Offset; squeezed {
			gone += bad.Length
		}
		if n := len(w.Damaged); n > 0 && w.Damaged[n-1].Offset+w.Damaged[n-1].Length == bad.Offset {
			w.Damaged[n-1].Length += bad.Length // one stretch with false starts in it
		} else if n < maxSpans || squeezed {
			w.Damaged = append(w.Damaged, *bad)
		}
		at = next
	}
}

// read shows the records of r until its end (nil) or a damaged one.
func (w *Walked) read(r *Reader, visit func(*Entry) error) (*Span, error) {
	for {
		e, err := r.Next()
		if err == io.EOF {
			return nil, nil
		}
		if err == nil {
			if visit != nil {
				err = visit(e)
			}
			bad := err
			if err == nil || r.err != nil || errors.Is(err, ErrTooLarge) {
				err = e.Close()
			}
			if err == nil {
				if bad != nil && len(w.Unread) < maxSpans {
					w.Unread = append(w.Unread, Span{e.Offset, e.Length, bad})
				}
				w.Records++
				w.End = e.Offset + e.Length
				continue
			}
		}
		if r.err == nil || !errors.Is(r.err, ErrDamaged) {
			return nil, err
		}
		return &Span{Offset: r.start, Err: r.err}, nil
	}
}

var (
	gzipMagic  = []byte{0x1f, 0x8b, 8}
	zstdMagic  = []byte{0x28, 0xb5, 0x2f, 0xfd}
	plainMagic = []byte("WARC/")
)

// search returns the offset of the next place from which a record may begin, or that of the end.
func search(f io.ReadSeeker, from int64, magics [][]byte) (int64, error) {
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return 0, err
	}
	const overlap = 4 // the longest magic less one
	buf := make([]byte, 256<<10)
	have := 0
	for {
		n, err := io.ReadFull(f, buf[have:])
		have += n
		at := -1
		for _, magic := range magics {
			if i := bytes.Index(buf[:have], magic); i >= 0 && (at < 0 || i < at) {
				at = i
			}
		}
		if at >= 0 {
			return from + int64(at), nil
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return from + int64(have), nil
		}
		if err != nil {
			return 0, fmt.Errorf("search for a record: %w", err)
		}
		from += int64(have - overlap)
		have = copy(buf, buf[have-overlap:have])
	}
}
