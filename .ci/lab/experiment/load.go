package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// load is what the processors did during the runs: whether a figure is one of henro or of a busy machine.
type load struct {
	own  float64 // processors that this program kept busy, in the mean
	busy float64 // share of all processors that was busy, by whatever; 0: not known
}

// processor is the time that this program has had.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// machine counts ticks of all processors since the machine was started, by the first line of Linux' /proc/stat.
type machine struct{ idle, all float64 }

func readMachine() (m machine) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, word := range strings.Fields(line) {
		ticks, err := strconv.ParseFloat(word, 64)
		if err != nil || i > 8 { // the name; guests, who are counted already
			continue
		}
		m.all += ticks
		if i == 4 || i == 5 { // idle, and waiting for a disk
			m.idle += ticks
		}
	}
	return m
}

func (m machine) since(before machine) (l load) {
	if all := m.all - before.all; all > 0 {
		l.busy = 1 - (m.idle-before.idle)/all
	}
	return l
}

// processors are those that the program may use.
func processors() int { return runtime.GOMAXPROCS(0) }
