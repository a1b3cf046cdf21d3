package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// namePrefix is before the names of our namespaces; behind it stands the number of the process that made them.
const namePrefix = "henro-lab-"

// namespace is a network of its own, in the kernel: interfaces, routes and ports.
type namespace struct {
	name string
	file *os.File
}

func newNamespace(name string) (*namespace, error) {
	name = fmt.Sprintf("%s%d-%s", namePrefix, os.Getpid(), name)
	if err := ip("", "netns add "+name); err != nil {
		return nil, err
	}
	f, err := os.Open("/var/run/netns/" + name)
	if err != nil {
		return nil, err
	}
	n := &namespace{name: name, file: f}
	return n, ip(name, "link set lo up")
}

func (n *namespace) remove() error {
	n.file.Close()
	return ip("", "netns del "+n.name)
}

// do runs a function whose sockets and processes belong to the namespace, on a thread that goes there and back.
func (n *namespace) do(f func() error) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer home.Close()
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter %s: %w", n.name, err)
	}
	failed := f()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("leave %s: %w", n.name, err) // the thread stays locked and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return failed
}

// ipLock keeps ip from itself: the kernel refuses some changes at once from two processes.
var ipLock sync.Mutex

// ip runs commands of iproute2 in a namespace; an empty name is the one we came from.
func ip(name string, commands ...string) error {
	ipLock.Lock()
	defer ipLock.Unlock()
	arguments := []string{"-batch", "-"}
	if name != "" {
		arguments = slices.Insert(arguments, 0, "-n", name)
	}
	cmd := exec.Command("ip", arguments...)
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(commands, "; "), err, strings.TrimSpace(trouble.String()))
	}
	return nil
}

// sweep removes what labs that are gone have left: namespaces, and with them the interfaces in them.
func sweep() error {
	names, err := filepath.Glob("/var/run/netns/" + namePrefix + "*")
	if err != nil {
		return err
	}
	for _, path := range names {
		name := filepath.Base(path)
		number, _, _ := strings.Cut(strings.TrimPrefix(name, namePrefix), "-")
		if pid, err := strconv.Atoi(number); err != nil || pid != os.Getpid() && unix.Kill(pid, 0) == nil {
			continue
		}
		if err := ip("", "netns del "+name); err != nil {
			return err
		}
	}
	return nil
}
