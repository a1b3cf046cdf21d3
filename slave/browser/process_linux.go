package browser

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// apart puts Chromium in a process group of its own, which ends when this process does.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// finish ends all processes whose command line names the profile, until there are none.
func finish(profile string, group int) {
	if group > 1 {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 100 {
		found := 0
		processes(func(pid, of int, line []byte) {
			if carries(line, profile) || group > 1 && of == group {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				found++
			}
		})
		if found == 0 {
			return
		}
		<-tick.C
	}
}

func carries(line []byte, profile string) bool {
	for argument := range bytes.SplitSeq(line, []byte{0}) {
		if string(argument) == "--user-data-dir="+profile {
			return true
		}
	}
	return false
}

// processes calls f for each process of this user that is no zombie, with its group and command line.
func processes(f func(pid, group int, line []byte)) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 || string(fields[0]) == "Z" {
			continue
		}
		group, _ := strconv.Atoi(string(fields[2]))
		line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		f(pid, group, line)
	}
}

// memory is what the processes of a group take, in bytes: shared pages in equal parts.
func memory(group int) (sum int64) {
	processes(func(pid, of int, _ []byte) {
		if of != group {
			return
		}
		text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
		if _, rest, ok := bytes.Cut(text, []byte("\nPss:")); ok {
			if fields := bytes.Fields(rest[:min(64, len(rest))]); len(fields) > 0 {
				kb, _ := strconv.ParseInt(string(fields[0]), 10, 64)
				sum += kb << 10
			}
		}
	})
	return sum
}
