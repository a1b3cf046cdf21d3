package warc

import "io"

// NewReader is what Walk and At read with.
func NewReader(src io.Reader) *Reader { return newReader(src, 0) }
