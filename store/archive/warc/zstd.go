package warc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Files called .warc.zst are the IIPC's proposal "Zstandard compression for WARC files": one frame for each record, so
// that a reader can begin at any of them, as with gzip. Our own have no dictionary; one that others put before the
// first record, as a skippable frame of a kind of its own, is used.

const (
	maxDictionary  = 16 << 20
	maxWindow      = 32 << 20 // of the frames of others: four times what level 19 uses
	dictionaryKind = 0x184d2a5d
	skippableKind  = 0x184d2a50 // and the fifteen that follow
)

// isFrame reports whether a frame of zstd begins with these four bytes.
func isFrame(magic []byte) bool {
	return bytes.HasPrefix(magic, zstdMagic) || len(magic) == 4 &&
		binary.LittleEndian.Uint32(magic)&^15 == skippableKind
}

// unpacker reads one frame at a time, and of the source not a byte more, which the decoder alone would do.
type unpacker struct {
	decoder *zstd.Decoder
	in      *bufio.Reader
	taken   int64 // bytes of the present frame read from in
	left    int   // bytes until the next decision
	header  bool  // left is the rest of the header of a block
	last    bool  // the present block is the last
	sum     int   // bytes of the check sum
	peeked  [3]byte
}

// next goes to the next frame, past those that say nothing.
func (u *unpacker) next(in *bufio.Reader) error {
	u.in, u.taken = in, 0
	for {
		magic, err := in.Peek(8)
		if len(magic) < 4 {
			return err
		}
		if bytes.HasPrefix(magic, zstdMagic) {
			break
		}
		if !isFrame(magic[:4]) {
			return errors.New("no frame begins here")
		}
		if len(magic) < 8 {
			return io.ErrUnexpectedEOF
		}
		if err := u.skip(binary.LittleEndian.Uint32(magic), int(binary.LittleEndian.Uint32(magic[4:]))); err != nil {
			return err
		}
	}
	begin, _ := in.Peek(zstd.HeaderMaxSize)
	var header zstd.Header
	if err := header.Decode(begin); err != nil {
		return fmt.Errorf("head of a zstd frame: %w", err)
	}
	u.left, u.header, u.last, u.sum = header.HeaderSize, false, false, 0
	if header.HasCheckSum {
		u.sum = 4
	}
	if u.decoder == nil {
		if err := u.open(nil); err != nil {
			return err
		}
	}
	return u.decoder.Reset(frame{u})
}

// skip reads a skippable frame, and keeps the dictionary if it is one.
func (u *unpacker) skip(kind uint32, size int) error {
	if kind != dictionaryKind || u.decoder != nil {
		_, err := u.in.Discard(8)
		if err == nil {
			_, err = io.CopyN(io.Discard, u.in, int64(size))
		}
		return unexpected(err)
	}
	if size > maxDictionary {
		return fmt.Errorf("%w: dictionary of %d bytes", ErrTooLarge, size)
	}
	u.in.Discard(8)
	dictionary := make([]byte, size)
	if _, err := io.ReadFull(u.in, dictionary); err != nil {
		return unexpected(err)
	}
	if bytes.HasPrefix(dictionary, zstdMagic) { // it may be compressed itself
		plain, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDictionary))
		if err != nil {
			return err
		}
		defer plain.Close()
		if dictionary, err = plain.DecodeAll(dictionary, nil); err != nil {
			return fmt.Errorf("dictionary: %w", err)
		}
	}
	return u.open(dictionary)
}

func (u *unpacker) open(dictionary []byte) (err error) {
	// With one goroutine, the decoder is the caller's own: it takes nothing in advance, and needs no Close.
	o := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow)}
	if dictionary != nil {
		o = append(o, zstd.WithDecoderDicts(dictionary))
	}
	if u.decoder, err = zstd.NewReader(nil, o...); err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	return nil
}

// Read reads what is in the frame.
func (u *unpacker) Read(p []byte) (int, error) { return u.decoder.Read(p) }

// frame is the bytes of the present frame: its head, its blocks with three bytes of header each, its check sum.
type frame struct{ *unpacker }

func (f frame) Read(p []byte) (int, error) {
	u := f.unpacker
	for u.left == 0 {
		if err := u.step(); err != nil {
			return 0, err
		}
	}
	if len(p) > u.left {
		p = p[:u.left]
	}
	n, err := u.in.Read(p)
	if u.header {
		copy(u.peeked[3-u.left:], p[:n])
	}
	u.left -= n
	u.taken += int64(n)
	return n, unexpected(err)
}

// step says what follows in the frame.
func (u *unpacker) step() error {
	switch {
	case u.header: // it has been read
		word := uint32(u.peeked[0]) | uint32(u.peeked[1])<<8 | uint32(u.peeked[2])<<16
		u.header, u.last, u.left = false, word&1 != 0, int(word>>3)
		if word>>1&3 == 1 { // run length: one byte
			u.left = 1
		}
	case !u.last:
		u.header, u.left = true, 3
	case u.sum > 0:
		u.left, u.sum = u.sum, 0
	default:
		return io.EOF
	}
	return nil
}

// dictionaryOf reads what may stand before the first record of a file, and returns nil when nothing does.
func dictionaryOf(f io.ReadSeeker) (*unpacker, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(f, 4<<10)
	if magic, _ := in.Peek(4); len(magic) < 4 || binary.LittleEndian.Uint32(magic) != dictionaryKind {
		return nil, nil
	}
	u := new(unpacker)
	return u, u.next(in)
}
