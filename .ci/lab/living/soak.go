package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	soakEvery = 30 * time.Second
	soakRows  = 12 // that are printed
	flat      = 1.1
)

// held is what henro and its Chromium hold at a moment, and what they have used.
type held struct {
	pages, processes int     // visited; of Chromium
	henro, chromium  float64 // MB: anonymous memory; proportional shares
	cpu, browserCPU  float64 // seconds of processor, of the processes that live now
}

// soak crawls a site for some time and judges whether memory grows with time and pages.
func (l *lab) soak(ctx context.Context, s *Site, way string, lasts time.Duration) error {
	l.limit = lasts + time.Minute
	dir := filepath.Join(l.dir, "soak")
	cmd := l.command(ctx, s, way, dir)
	l.web.take()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick, end := time.NewTicker(soakEvery), time.After(lasts)
	defer tick.Stop()
	start := time.Now()
	var samples []held
	fmt.Println("minutes requests henro_MB chromium_MB processes henro_cpu_s chromium_cpu_s")
	for going := true; going; {
		select {
		case err := <-ended:
			return fmt.Errorf("the crawl was over after %v: %w\n%s", time.Since(start), err, said.Bytes())
		case <-end:
			going = false
		case <-tick.C:
			h := hold(cmd.Process.Pid)
			h.pages = l.web.count()
			samples = append(samples, h)
			if len(samples)%max(int(lasts/soakEvery)/soakRows, 1) == 0 {
				fmt.Printf("%7.1f %8d %8.1f %11.1f %9d %11.1f %14.1f\n", time.Since(start).Minutes(), h.pages, h.henro,
					h.chromium, h.processes, h.cpu, h.browserCPU)
			}
		}
	}
	third := len(samples) / 3
	if third == 0 {
		return errors.New("too short: there is no sample")
	}
	before, after := samples[third:2*third], samples[2*third:]
	for _, of := range []struct {
		name string
		mb   func(held) float64
	}{{"henro", func(h held) float64 { return h.henro }}, {"Chromium", func(h held) float64 { return h.chromium }}} {
		was, is := median(before, of.mb), median(after, of.mb)
		l.say(is <= flat*was, true, "%s, --browser %s: %s holds %.1f MB in the last third, %.1f MB in the one before",
			s.Name, way, of.name, is, was)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	<-ended
	left := killChromium(dir)
	l.say(left == 0, false, "%d processes of Chromium outlive henro", left)
	return nil
}

func median(samples []held, of func(held) float64) float64 {
	values := make([]float64, len(samples))
	for i, h := range samples {
		values[i] = of(h)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// hold measures a process and those below it, from /proc.
func hold(pid int) (h held) {
	below := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if fields := stat(child); len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			below[parent] = append(below[parent], child)
		}
	}
	h.henro, h.cpu = kilobytes(pid, "status", "RssAnon:")/1024, processor(pid)
	for next := below[pid]; len(next) > 0; {
		child := next[0]
		next = append(next[1:], below[child]...)
		h.processes++
		h.chromium += kilobytes(child, "smaps_rollup", "Pss:") / 1024
		h.browserCPU += processor(child)
	}
	return h
}

// stat are the fields of /proc/PID/stat behind the name, which may hold spaces.
func stat(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)
}

func processor(pid int) float64 {
	fields := stat(pid)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100 // ticks of Linux
}

func kilobytes(pid int, file, field string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == field {
			n, _ := strconv.ParseFloat(words[1], 64)
			return n
		}
	}
	return 0
}
