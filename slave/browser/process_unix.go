//go:build unix && !linux

package browser

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// apart puts Chromium in a process group of its own. Its pipe ends with this process, and so does Chromium.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// finish ends the group, and all processes whose command line names the profile.
func finish(profile string, group int) {
	if group > 1 {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	list, _ := exec.Command("ps", "-ax", "-o", "pid=,command=").Output()
	for line := range strings.SplitSeq(string(list), "\n") {
		id, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(id); err == nil && strings.Contains(command+" ", "--user-data-dir="+profile+" ") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func memory(int) int64 { return 0 }
