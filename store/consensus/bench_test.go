//go:build unix

package consensus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"henro/store"
)

// BenchmarkCommit measures what a visit costs by the bytes of a batch: by itself and synced, as one master commits, and
// on three members in this process, over TCP of loopback. Processor time is of all three.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		for _, members := range []int{0, 1, 3} {
			for _, synced := range []bool{false, true} {
				if synced && members == 0 {
					continue
				}
				name := fmt.Sprintf("%dkB/plain", size>>10)
				if members > 0 {
					name = fmt.Sprintf("%dkB/%d", size>>10, members)
				}
				if synced {
					name += "-checkpoint-each"
				}
				b.Run(name, func(b *testing.B) { benchmark(b, size, members, synced) })
			}
		}
	}
}

func benchmark(b *testing.B, size, members int, synced bool) {
	var commit func(*store.Batch) (store.Outcome, error)
	checkpoint := func() error { return nil }
	if members == 0 {
		p, err := store.Open(filepath.Join(b.TempDir(), "p000.db"), store.DefaultOptions())
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		commit = p.Commit
	} else {
		groups := several(b, members, func(o *Options) { o.Timeout, o.Store.Partitions = 5*time.Second, 1 })
		var l *Leadership
		until(b, "leads", func() bool {
			var err error
			l, err = groups[0].Lead()
			return err == nil
		})
		defer l.End()
		commit = l.State.Partitions[0].Commit
		if synced {
			checkpoint = l.State.Checkpoint
		}
	}
	visits, now := 0, noon
	fill := func(n int) *store.Batch {
		now = now.Add(time.Second)
		batch := store.NewBatch(now)
		for batch.Bytes() < size {
			url := fmt.Sprintf("http://h%d.example/a/page/%d", visits%50, visits)
			batch.Visit(store.Visited{Page: store.Page{URL: url, Status: 200,
				LastVisit: now, CapturedAt: now, Next: now.Add(time.Hour), Digest: [20]byte{1},
				Timing: store.Timing{Interval: 3600, Visits: 3}}})
			visits++
		}
		return batch
	}
	var before, after unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &before)
	written := wrote()
	b.ResetTimer()
	visits = 0
	for i := range b.N {
		if _, err := commit(fill(i)); err != nil {
			b.Fatal(err)
		}
		if err := checkpoint(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	unix.Getrusage(unix.RUSAGE_SELF, &after)
	cpu := func(r *unix.Rusage) float64 {
		return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e3
	}
	b.ReportMetric((cpu(&after)-cpu(&before))/float64(visits), "cpu-µs/visit")
	b.ReportMetric(float64(wrote()-written)/float64(visits), "written-B/visit")
	b.ReportMetric(float64(visits)/float64(b.N), "visits/op")
}

// wrote is how many bytes the process has given to write.
func wrote() (n int64) {
	f, _ := os.ReadFile("/proc/self/io")
	for line := range bytes.Lines(f) {
		if s, ok := strings.CutPrefix(string(line), "wchar: "); ok {
			fmt.Sscan(s, &n)
		}
	}
	return n
}

// BenchmarkCatchUp measures what it takes until a member that was away has the log, by the bytes of a batch: the time,
// and by how much the heaps of three members, which are in this process, grow meanwhile.
func BenchmarkCatchUp(b *testing.B) {
	for size, count := range map[int]int{10 << 10: 4000, 4 << 20: 64} {
		b.Run(fmt.Sprintf("%dkB", size>>10), func(b *testing.B) {
			groups := several(b, 3, func(o *Options) { o.Timeout, o.Store.Partitions = 5*time.Second, 1 })
			members := all(groups)
			defer members.end()
			until(b, "leads", func() bool { return members.commit(0) })
			value := make([]byte, size)
			var took time.Duration
			grown := uint64(0)
			for range b.N {
				members[2].end()
				if err := groups[2].Close(); err != nil {
					b.Fatal(err)
				}
				for range count {
					batch := store.NewBatch(noon)
					batch.PutMeta("large", value)
					until(b, "a commit", func() bool {
						return slices.ContainsFunc(members[:2], func(l *leading) bool {
							if l.lead() != nil {
								return false
							}
							_, err := l.now.State.Partitions[0].Commit(batch)
							return err == nil
						})
					})
				}
				runtime.GC()
				before, ended := heap(), make(chan uint64)
				done := make(chan struct{})
				go func() {
					most := uint64(0)
					for {
						select {
						case <-done:
							ended <- most
							return
						case <-time.After(time.Millisecond):
							most = max(most, heap())
						}
					}
				}()
				begun := time.Now()
				groups[2] = restart(b, groups[2].o)
				last := groups[0].raft.LastIndex()
				until(b, "caught up", func() bool { return groups[2].raft.AppliedIndex() >= last })
				took += time.Since(begun)
				close(done)
				grown = max(grown, <-ended-before)
				members[2] = &leading{Group: groups[2]}
			}
			b.ReportMetric(float64(b.N*count)/took.Seconds(), "entries/s")
			b.ReportMetric(float64(grown)/(1<<20), "MB-heap")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// heap is how many bytes were in use at the last collection.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
