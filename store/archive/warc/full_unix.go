//go:build unix

package warc

import (
	"errors"
	"syscall"
)

// DiskFull reports whether err says that there is no room left, which time or an operator may mend.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
