package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// clock is a wall clock that is wrong in one process only. A program of Go reads the time from a page of code that the
// kernel lends to every process, the vDSO, so nothing can be preloaded, and time namespaces shift the monotonic clock
// only. Here the first instructions of that page's clock_gettime are replaced, in the memory of the one process, before
// it runs: the program is the very one that is shipped, its monotonic clock stays right, and its wall clock is off by
// what stands in the new instructions.
type clock struct {
	off time.Duration // whole seconds
	pid int
	at  int64 // of the eight bytes with the seconds, in the process's memory
}

// wrongClock is clock_gettime(edi, rsi) for amd64: ask the kernel, and add to the seconds if the wall clock was asked
// for.
//
//	b8 e4 00 00 00                 mov  eax, 228   clock_gettime
//	0f 05                          syscall
//	85 ff                          test edi, edi   CLOCK_REALTIME is 0
//	75 0d                          jne  +13
//	48 b9 00 00 00 00 00 00 00 00  mov  rcx, seconds
//	48 01 0e                       add  [rsi], rcx
//	c3                             ret
var wrongClock = []byte{
	0xb8, 0xe4, 0, 0, 0, 0x0f, 0x05, 0x85, 0xff, 0x75, 0x0d,
	0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0, 0x48, 0x01, 0x0e, 0xc3,
}

const secondsAt = 13 // of wrongClock

// wind makes the clock of a process wrong, which stands still before its first instruction and is traced by this
// thread.
func (c *clock) wind(pid int) error {
	if runtime.GOARCH != "amd64" {
		return errors.New("a wrong clock can be made on amd64 only")
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		return fmt.Errorf("wait for the process to stand still: %w (%v)", err, status)
	}
	function, size, err := vdsoFunction(pid, "__vdso_clock_gettime")
	if err != nil {
		return err
	}
	if size < uint64(len(wrongClock)) {
		return fmt.Errorf("clock_gettime has %d bytes, %d are needed", size, len(wrongClock))
	}
	if _, err := unix.PtracePokeData(pid, uintptr(function), wrongClock); err != nil {
		return fmt.Errorf("write clock_gettime: %w", err)
	}
	c.pid, c.at = pid, int64(function)+secondsAt
	if err := c.set(c.off); err != nil {
		return err
	}
	if err := unix.PtraceDetach(pid); err != nil {
		return fmt.Errorf("let the process run: %w", err)
	}
	return nil
}

// set makes the clock jump, while the process runs.
func (c *clock) set(off time.Duration) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	c.off = off
	if _, err := memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(int64(off/time.Second))),
		c.at); err != nil {
		return fmt.Errorf("set the clock: %w", err)
	}
	return nil
}

// vdsoFunction finds a function in the vDSO of a process, and how long it is.
func vdsoFunction(pid int, name string) (address, size uint64, err error) {
	vector, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, 0, err
	}
	const sysinfoEhdr = 33 // AT_SYSINFO_EHDR: where the vDSO begins
	var base uint64
	for ; len(vector) >= 16; vector = vector[16:] {
		if binary.LittleEndian.Uint64(vector) == sysinfoEhdr {
			base = binary.LittleEndian.Uint64(vector[8:])
		}
	}
	if base == 0 {
		return 0, 0, errors.New("the process has no vDSO")
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return 0, 0, err
	}
	defer memory.Close()
	image := make([]byte, 64<<10)
	n, err := memory.ReadAt(image, int64(base))
	if n == 0 {
		return 0, 0, fmt.Errorf("read the vDSO: %w", err)
	}
	file, err := elf.NewFile(bytes.NewReader(image[:n]))
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, fmt.Errorf("read the vDSO: %w", err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, 0, fmt.Errorf("read the vDSO: %w", err)
	}
	for _, s := range symbols {
		if s.Name == name {
			return base + s.Value, s.Size, nil
		}
	}
	return 0, 0, fmt.Errorf("the vDSO has no %s", name)
}
