package slave

import "sync"

// idleWorkers bounds the goroutines that wait for a request: at 16 kB of stack each a megabyte.
const idleWorkers = 64

// workers are goroutines on which requests are made. A new goroutine grows its stack three times on its way through
// colly and net/http, 4 % of all that a visit costs; one that made a request before has grown it. Of the idle, that
// which was busy last comes next.
type workers struct {
	mu     sync.Mutex
	idle   []chan func()
	closed bool
}

// do has a function called, at once.
func (w *workers) do(call func()) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		next := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		next <- call
		return
	}
	w.mu.Unlock()
	go w.work(call)
}

func (w *workers) work(call func()) {
	for next := make(chan func(), 1); call != nil; call = <-next {
		call()
		w.mu.Lock()
		ends := w.closed || len(w.idle) == idleWorkers
		if !ends {
			w.idle = append(w.idle, next)
		}
		w.mu.Unlock()
		if ends {
			return
		}
	}
}

// close ends the idle, and the busy once they are done.
func (w *workers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, next := range w.idle {
		close(next)
	}
	w.idle, w.closed = nil, true
}
