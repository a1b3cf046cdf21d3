//go:build unix

package fetch

import "syscall"

// quiet reports whether a socket is open with nothing to read: one system call that takes nothing away.
func quiet(socket syscall.RawConn) bool {
	var still bool
	err := socket.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		still = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR
	})
	return err == nil && still
}
