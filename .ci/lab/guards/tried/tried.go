// Package tried is called by each guard of an instrumented package. It lies in an overlay when they are compiled.
package tried

import (
	"os"
	"strconv"
	"sync"
)

var (
	off  = number(os.Getenv("GUARDS_OFF"))    // the guard that is away
	seen = recorder(os.Getenv("GUARDS_SEEN")) // gets the numbers of the guards that hold, of each process once
	once sync.Map                             // the numbers that this process has written
)

// Guard is what a guard's condition says, unless the guard is away.
func Guard(n int, holds bool) bool {
	if !holds || n == off {
		return false
	}
	if seen != nil {
		if _, written := once.LoadOrStore(n, true); !written {
			_, _ = seen.WriteString(strconv.Itoa(n) + "\n")
		}
	}
	return true
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

func recorder(name string) *os.File {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	return f
}
