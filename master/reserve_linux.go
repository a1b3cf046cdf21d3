package master

import (
	"errors"
	"os"
	"syscall"
)

// takeRoom has the file system set blocks aside, without writing them; where it cannot, they are written.
func takeRoom(f *os.File, length int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), 0, 0, length)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
			return writeRoom(f, length)
		default:
			return err
		}
	}
}
