//go:build !unix

package fetch

import "syscall"

// quiet cannot be asked here; a connection that turns out to be closed is replaced (errUnsent, Response.Stale).
func quiet(syscall.RawConn) bool { return true }
