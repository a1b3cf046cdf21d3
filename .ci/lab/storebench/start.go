package main

import (
	"os"
	"path/filepath"
	"time"

	"henro/store"
	"henro/store/report/tables/tablestest"
)

// startBench measures how long a state of whole pages with links takes to be opened, after a clean end and after a
// crash, with its files in memory and not, and what a whole check takes.
func startBench(b *bench) error {
	dir := filepath.Join(b.dir, "state")
	m := startMeter()
	if err := (tablestest.Web{Pages: b.n, Out: 5, Hosts: max(1, b.n/1000)}).Make(dir); err != nil {
		return err
	}
	us, _, _ := m.per(b.n)
	files, err := filepath.Glob(filepath.Join(dir, "p*.db"))
	if err != nil {
		return err
	}
	size := 0.0
	for _, file := range files {
		size += fileMB(file)
	}
	note("start: made %d pages and what they link to, %.2f µs each: %.0f MB in %d files", b.n, us, size, len(files))
	row("bench", "n", "what", "ms", "cpu ms")
	measure := func(what string, cold bool) error {
		if cold {
			for _, file := range files {
				if err := evict(file); err != nil {
					note("cannot evict: %v", err)
				}
			}
		}
		m := startMeter()
		s, err := store.OpenState(dir, store.DefaultOptions())
		if err != nil {
			return err
		}
		ms, cpu, _ := m.per(1)
		row("start", b.n, what, ms/1000, cpu/1000)
		return s.Close()
	}
	if err := measure("open for the first time", false); err != nil {
		return err
	}
	for _, cold := range []bool{false, true} {
		where := map[bool]string{false: ", in memory", true: ", from disk"}[cold]
		if err := measure("open after a clean end"+where, cold); err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(dir, "closed.json")); err != nil { // as if it had crashed
			return err
		}
		if err := measure("open after a crash"+where, cold); err != nil {
			return err
		}
	}
	begin := time.Now()
	report, err := store.Check(dir, nil)
	if err != nil {
		return err
	}
	row("start", b.n, "check", float64(time.Since(begin).Milliseconds()), len(report.Problems))
	return nil
}
