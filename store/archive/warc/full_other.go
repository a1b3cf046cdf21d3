//go:build !unix

package warc

import (
	"errors"
	"syscall"
)

// The numbers of Windows for a full disk, which package syscall does not name.
const (
	errHandleDiskFull = syscall.Errno(39)
	errDiskFull       = syscall.Errno(112)
)

// DiskFull reports whether err says that there is no room left, which time or an operator may mend.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, errDiskFull) || errors.Is(err, errHandleDiskFull)
}
