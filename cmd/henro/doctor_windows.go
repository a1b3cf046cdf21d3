package main

import (
	"math"

	"golang.org/x/sys/windows"
)

// freeSpace is what a user may still write, in bytes.
func freeSpace(dir string) (uint64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, err
	}
	return free, nil
}

// openFiles is how many files this process could have open: Windows sets no limit that a crawl reaches.
func openFiles() (uint64, error) { return math.MaxInt32, nil }
