package weburl

import "errors"

var (
	// ErrScheme is returned for URLs of another scheme than http and https.
	ErrScheme = errors.New("scheme is neither http nor https")
	// ErrRelative is returned for a reference where there is no base to resolve it against.
	ErrRelative = errors.New("relative URL without a base")
	// ErrHost is returned for hosts that no browser would ask: empty, with forbidden characters, not a valid IDN or
	// address.
	ErrHost = errors.New("invalid host")
	// ErrPort is returned for ports that are not a number below 65536.
	ErrPort = errors.New("invalid port")
	// ErrLength is returned for URLs that are longer than MaxLength.
	ErrLength = errors.New("URL too long")
)
