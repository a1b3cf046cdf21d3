package collect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/sirupsen/logrus"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/fsync"
)

const (
	partSuffix = ".part"
	// pieceFor is how long one piece may take: 16 MB at 140 kB/s.
	pieceFor = 2 * time.Minute
)

// Receiver takes files into a folder.
type Receiver struct {
	dir  string
	log  *logrus.Entry
	lock *flock.Flock

	mu   sync.Mutex
	busy map[string]bool // names that a request is at
}

// NewReceiver takes possession of a folder, which is made if it is not there.
func NewReceiver(dir string, log *logrus.Entry) (*Receiver, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("collect: %w", err)
	}
	lock := flock.New(filepath.Join(dir, ".collect.lock"))
	if ok, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("collect: %w", err)
	} else if !ok {
		return nil, fmt.Errorf("%w: %s", ErrInUse, dir)
	}
	return &Receiver{dir: dir, log: log.WithField("actor", "receiver"), lock: lock, busy: map[string]bool{}}, nil
}

// Close lets go of the folder.
func (r *Receiver) Close() error { return r.lock.Close() }

// ServeHTTP answers GET and PUT of /files/NAME.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if h := request.Header; h.Get("Origin") != "" || h.Get("Sec-Fetch-Site") != "" {
		answer(w, http.StatusForbidden, State{Error: "files come from nodes, not from browsers"})
		return
	}
	name, ok := strings.CutPrefix(request.URL.Path, "/files/")
	if !ok || !isName(name) {
		answer(w, http.StatusNotFound, State{Error: "this is a henro receiver: /files/NAME.warc.gz"})
		return
	}
	r.mu.Lock()
	taken := r.busy[name]
	r.busy[name] = true
	r.mu.Unlock()
	if taken {
		answer(w, http.StatusLocked, State{Error: "a piece of this file is under way"})
		return
	}
	defer func() {
		r.mu.Lock()
		delete(r.busy, name)
		r.mu.Unlock()
	}()
	var state State
	var err error
	switch request.Method {
	case http.MethodGet:
		state, err = r.state(name)
	case http.MethodPut:
		// A stalled sender is cut off here; what came of its piece counts.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(pieceFor))
		state, err = r.put(name, request)
	default:
		answer(w, http.StatusMethodNotAllowed, State{Error: "GET or PUT"})
		return
	}
	var refused *refusal
	switch {
	case err == nil:
		answer(w, http.StatusOK, state)
	case errors.As(err, &refused):
		state.Error = refused.Error()
		answer(w, refused.status, state)
	default:
		status := http.StatusInternalServerError
		if warc.DiskFull(err) {
			status = http.StatusInsufficientStorage
		}
		r.log.WithFields(logrus.Fields{"file": name, "err": err}).Error("a file is not taken")
		state.Error = err.Error()
		answer(w, status, state)
	}
}

type refusal struct {
	status int
	error
}

func answer(w http.ResponseWriter, status int, state State) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(state) // the sender asks again
}

// isName reports whether name is one of a WARC file, and nothing that leads elsewhere.
func isName(name string) bool {
	_, ok := warc.CutSuffix(name)
	return ok && len(name) < 240 && name[0] != '.' && strings.Trim(name,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~") == ""
}

func (r *Receiver) state(name string) (State, error) {
	path := filepath.Join(r.dir, name)
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		sum, size, err := digest(f)
		return State{Size: size, Whole: true, SHA256: sum}, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return State{}, err
	}
	info, err := os.Stat(path + partSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	} else if err != nil {
		return State{}, err
	}
	return State{Size: info.Size()}, nil
}

// put appends a piece, and finishes the file if it was the last.
func (r *Receiver) put(name string, request *http.Request) (State, error) {
	asked := request.URL.Query() // not the form, for which the library would read the body first
	offset, err1 := strconv.ParseInt(asked.Get("offset"), 10, 64)
	size, err2 := strconv.ParseInt(asked.Get("size"), 10, 64)
	want := asked.Get("sha256")
	if err := errors.Join(err1, err2); err != nil || offset < 0 || size < offset ||
		len(want) != hex.EncodedLen(sha256.Size) {
		return State{}, &refusal{http.StatusBadRequest, errors.New("want offset, size and sha256")}
	}
	path := filepath.Join(r.dir, name)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) { // also one that cannot be looked at
		return r.state(name) // the sender compares
	}
	f, err := os.OpenFile(path+partSuffix, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return State{}, err
	}
	defer f.Close()
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return State{}, err
	}
	if have != offset {
		return State{Size: have}, &refusal{http.StatusConflict, fmt.Errorf("the next piece begins at %d", have)}
	}
	n, err := io.Copy(f, io.LimitReader(request.Body, size-offset))
	have += n
	if err != nil {
		return State{Size: have}, err
	}
	if have < size {
		return State{Size: have}, nil
	}
	// The last one. From here on only what the disk gives back counts.
	if err := f.Sync(); err != nil {
		return State{Size: have}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return State{Size: have}, err
	}
	sum, _, err := digest(f)
	if err != nil {
		return State{Size: have}, err
	}
	if sum != want {
		r.log.WithField("file", name).Warn("what arrived is not what was sent; it is thrown away")
		return State{}, errors.Join(&refusal{http.StatusUnprocessableEntity, ErrDigest}, os.Remove(f.Name()))
	}
	if err := errors.Join(f.Close(), os.Rename(f.Name(), path), fsync.Dir(r.dir)); err != nil {
		return State{}, err
	}
	if err := cdxj.IndexFile(path); err != nil {
		r.log.WithFields(logrus.Fields{"file": name,
			"err": err}).Warn("a collected file is not indexed; henro check --repair does it")
	}
	r.log.WithFields(logrus.Fields{"file": name, "bytes": size}).Info("a file was collected")
	return State{Size: size, Whole: true, SHA256: sum}, nil
}

// digest reads f to its end.
func digest(f io.Reader) (sum string, size int64, err error) {
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}
