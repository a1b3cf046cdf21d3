// Package ring keeps the latest of what comes, in bounded memory.
package ring

import "iter"

// Ring keeps the latest values. It is for one goroutine at a time.
type Ring[T any] struct {
	values []T
	size   int
	next   int // the oldest, which is overwritten next, once it is full
}

// Of returns an empty ring for size values, at least 1. It takes memory as it fills.
func Of[T any](size int) Ring[T] { return Ring[T]{size: size} }

// Add keeps one more, in place of the oldest when the ring is full.
func (r *Ring[T]) Add(v T) {
	if len(r.values) < r.size {
		r.values = append(r.values, v)
		return
	}
	r.values[r.next] = v
	r.next = (r.next + 1) % r.size
}

// Last is the latest, which may be changed; nil: there is none.
func (r *Ring[T]) Last() *T {
	for v := range r.Backward() {
		return v
	}
	return nil
}

// All yields what is kept, the oldest first.
func (r *Ring[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range r.values {
			if !yield(r.values[(r.next+i)%len(r.values)]) {
				return
			}
		}
	}
}

// Backward yields what is kept, the latest first.
func (r *Ring[T]) Backward() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := len(r.values) - 1; i >= 0 && yield(&r.values[(r.next+i)%len(r.values)]); i-- {
		}
	}
}
