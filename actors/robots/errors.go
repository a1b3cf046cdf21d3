package robots

import "errors"

var (
	// ErrCorrupt is returned by UnmarshalBinary for bytes that MarshalBinary cannot have made.
	ErrCorrupt = errors.New("robots: corrupt rules")
	// ErrVersion is returned by UnmarshalBinary for a version that this program does not know.
	ErrVersion = errors.New("robots: unknown version of rules")
)
