//go:build unix

package main

import "golang.org/x/sys/unix"

// freeSpace is what a user may still write, in bytes.
func freeSpace(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}

// openFiles is how many files this process could have open: Go raises the soft limit to the hard one at the start.
func openFiles() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	return uint64(limit.Max), nil
}
