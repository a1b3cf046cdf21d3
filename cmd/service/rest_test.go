package service

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

var garbage []byte

func TestAProgramAtRestGivesItsMemoryBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		go giveBack(ctx)
		kept := make([]byte, 128<<20)
		for i := range kept {
			kept[i] = 1
		}
		for range 4000 {
			garbage = make([]byte, 1<<20)
		}
		garbage = nil
		runtime.KeepAlive(kept)
		released := func() uint64 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapReleased
		}
		before := released()
		time.Sleep(3*restAfter + time.Second)
		synctest.Wait()
		if after := released(); after < before+64<<20 {
			t.Errorf("%d MB were given back", (int64(after)-int64(before))>>20)
		}
		stop()
		synctest.Wait()
	})
}
