package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	killEvery = 12 // requests, between two that are killed: Chromium, Chromium, henro
	killsMost = 9  // of one crawl
	// lostWithin is how long before a kill of henro what came may not have been stored: captures are synced every 100
	// ms, and the state is committed half a second after the last commit (actors/partition). Two cores do more beside.
	lostWithin = 2 * time.Second
)

// kills are those of one crawl.
type kills struct {
	chromium, henro int
	at              []time.Time // of those of henro
}

// killing runs a crawl, and kills its Chromium and henro itself in turns, until it ends by itself.
func (l *lab) killing(ctx context.Context, start func() *exec.Cmd, dir string) (k kills, out []byte, err error) {
	for turn := 1; ; {
		var said bytes.Buffer
		cmd := start()
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			return k, nil, err
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		tick := time.NewTicker(20 * time.Millisecond)
		killed := false
		for !killed {
			select {
			case err := <-ended:
				tick.Stop()
				return k, said.Bytes(), err
			case <-ctx.Done():
				tick.Stop()
				return k, said.Bytes(), errors.Join(ctx.Err(), <-ended)
			case <-tick.C:
			}
			if turn > killsMost || l.web.count() < turn*killEvery {
				continue
			}
			if turn%3 != 0 {
				if n := killChromium(dir); n > 0 {
					k.chromium++
					turn++
				}
				continue
			}
			killed, turn = true, turn+1
		}
		tick.Stop()
		k.henro++
		k.at = append(k.at, time.Now())
		_ = cmd.Process.Kill()
		<-ended
	}
}

// killChromium kills the processes of a crawl's Chromium, and returns how many there were.
func killChromium(dir string) (n int) {
	profile := []byte("--user-data-dir=" + filepath.Join(dir, "browser", "profile"))
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if line, err := os.ReadFile(name); err == nil && bytes.Contains(line, append(profile, 0)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				n++
			}
		}
	}
	return n
}

// after is how long after a moment henro was killed next; false: it was not.
func (k *kills) after(at time.Time) (time.Duration, bool) {
	for _, kill := range k.at {
		if age := kill.Sub(at); age >= 0 {
			return age, true
		}
	}
	return 0, false
}

func (k *kills) String() string {
	return fmt.Sprintf("kill -9 of Chromium %d times, of henro %d times", k.chromium, k.henro)
}
