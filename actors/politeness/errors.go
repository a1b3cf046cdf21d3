package politeness

import "errors"

var (
	// ErrCorrupt is returned by UnmarshalBinary for bytes that MarshalBinary cannot have made.
	ErrCorrupt = errors.New("politeness: corrupt state")
	// ErrVersion is returned by UnmarshalBinary for a version that this program does not know.
	ErrVersion = errors.New("politeness: unknown version of state")
)
