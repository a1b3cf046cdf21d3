package dashboard

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A large view is forgotten when nobody has looked at it for a while, and is read again for who looks next.
func TestAViewNobodyLooksAtIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, idle := range []time.Duration{0, hostsIdle} {
			reads := 0
			s := newSurvey(time.Second, func(context.Context) (*int, error) { reads++; return &reads, nil })
			s.idle = idle
			go s.run(ctx)
			for want := range 2 {
				if v := s.await(ctx); v == nil || v.Err != nil || *v.View != want+1 {
					t.Fatalf("idle %v: view %d is %+v", idle, want+1, v)
				}
				time.Sleep(hostsIdle / 2)
				if s.latest.Load() == nil {
					t.Errorf("idle %v: forgotten too soon", idle)
				}
				time.Sleep(hostsIdle)
				if forgotten := s.latest.Load() == nil; forgotten != (idle > 0) {
					t.Errorf("idle %v: forgotten: %v", idle, forgotten)
				}
				if idle == 0 {
					break
				}
			}
		}
		cancel()
		synctest.Wait()
	})
}
