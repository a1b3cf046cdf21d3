package browser

import "os/exec"

// apart leaves Chromium as it is: its pipe ends with this process, and so does Chromium.
func apart(*exec.Cmd) {}

func finish(string, int) {}

func memory(int) int64 { return 0 }
