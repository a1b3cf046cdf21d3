package warc

import "errors"

var (
	// ErrDamaged is returned when bytes are not a whole record: a torn member, a failed check sum, a header that cannot
	// be read, a block shorter than it says. What follows may be whole: see Walk.
	ErrDamaged = errors.New("warc: damaged record")
	// ErrTooLarge is returned for what is longer than a bound of its reader: as a kind of ErrDamaged for the header of
	// a record, and for an HTTP head, whose record may be whole.
	ErrTooLarge = errors.New("warc: head longer than the bound")
	// ErrFormat is returned for the first record of a file that is no WARC at all, or a WARC compressed by something
	// other than gzip and zstd.
	ErrFormat = errors.New("warc: not a WARC file")
	// ErrNotHTTP is returned by Entry.HTTP for a record whose block is not an HTTP message.
	ErrNotHTTP = errors.New("warc: block is not an HTTP message")
)
