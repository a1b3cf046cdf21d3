//go:build unix

package fetch

import "golang.org/x/sys/unix"

// takeRegion takes address space that is memory only where it is written to; nil: the system gives none.
func takeRegion(n int) []byte {
	region, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	return region
}

// emptyRegion gives the memory back and keeps the address space.
func emptyRegion(region []byte) bool { return unix.Madvise(region, unix.MADV_DONTNEED) == nil }

func freeRegion(region []byte) { unix.Munmap(region) }
