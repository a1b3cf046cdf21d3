package replay

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/semaphore"

	"henro/store/archive/captures"
)

// The memory of all captures that are being shown, in bytes. Each takes its share before it is read, and waits while
// there is none.
const (
	memory      = 64 << 20
	shareOfAny  = 512 << 10 // of every capture: buffers, a tag of ordinary size, and what it becomes
	shareOfWide = 16 << 20  // more for a content coding with a window: brotli has up to 16 MiB, zstd twice 8
	// ordinary is the largest tag or script that a share covers. One capture at a time may hold larger ones, up to
	// maxToken: a buffer that grew by doubling, and the tag twice.
	ordinary = 128 << 10
	// readers bounds the connections of each port, waiting ones included.
	readers = 128
)

// budget is the memory for captures that are being shown.
type budget struct {
	shares *semaphore.Weighted
	large  *semaphore.Weighted
}

func newBudget() *budget {
	return &budget{shares: semaphore.NewWeighted(memory), large: semaphore.NewWeighted(1)}
}

// share takes the memory for a capture with these content codings.
func (b *budget) share(ctx context.Context, uncoded bool, codings string) (release func(), err error) {
	n := int64(shareOfAny)
	if names := captures.Codings(codings); uncoded {
		for _, name := range names {
			if name == "br" || name == "zstd" {
				n += shareOfWide
			}
		}
	}
	if err := b.shares.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { b.shares.Release(n) }, nil
}

// metered is a page that the rewriter reads. It counts the bytes that were read and are no token yet.
type metered struct {
	io.Reader
	ctx   context.Context // of the request
	large *semaphore.Weighted
	held  int
	isBig bool // it has the permission to hold more than ordinary
}

// Read waits for the permission before more is held than ordinary. Who has the permission waits only for its reader.
func (m *metered) Read(p []byte) (int, error) {
	if m.held > ordinary {
		if err := m.big(); err != nil {
			return 0, err
		}
	}
	n, err := m.Reader.Read(p)
	m.held += n
	return n, err
}

// big waits for the permission to hold more than ordinary.
func (m *metered) big() error {
	if m.isBig {
		return nil
	}
	err := m.large.Acquire(m.ctx, 1)
	m.isBig = err == nil
	return err
}

func (m *metered) taken(n int) { m.held -= n }

func (m *metered) release() {
	if m.isBig {
		m.large.Release(1)
	}
}

var errTooLong = errors.New("it becomes too long")

// short is a writer that takes left bytes and no more.
type short struct {
	io.Writer
	left int
}

func (s *short) Write(p []byte) (int, error) {
	if s.left -= len(p); s.left < 0 {
		return 0, errTooLong
	}
	return s.Writer.Write(p)
}
