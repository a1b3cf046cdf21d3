package slave

import (
	"sync"
	"testing"
	"testing/synctest"
)

// One worker serves calls that come one after the other; of many at once so many stay as may be idle; when the workers
// are closed none is left (the bubble would not end), and calls are made all the same.
func TestWorkersStayAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w workers
		calls := 0
		for range 100 {
			w.do(func() { calls++ })
			synctest.Wait()
			if len(w.idle) != 1 {
				t.Fatalf("%d workers after %d calls", len(w.idle), calls)
			}
		}
		var many sync.WaitGroup
		hold := make(chan struct{})
		for range 3 * idleWorkers {
			many.Add(1)
			w.do(func() {
				defer many.Done()
				<-hold
			})
		}
		close(hold)
		many.Wait()
		synctest.Wait()
		if len(w.idle) != idleWorkers {
			t.Errorf("%d workers stay", len(w.idle))
		}
		again := make(chan struct{})
		w.do(func() { <-again }) // busy while the others are closed
		w.close()
		close(again)
		w.do(func() { calls++ })
		synctest.Wait()
		if calls != 101 || len(w.idle) != 0 {
			t.Errorf("%d calls, %d workers", calls, len(w.idle))
		}
	})
}
