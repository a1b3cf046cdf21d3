package fields

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Body writes an answer whose head is ready: none of the body to HEAD, and the part that a Range asks for where the
// length of the whole is known, as players and readers of large files need it.
func Body(w http.ResponseWriter, r *http.Request, status int, body io.Reader) error {
	size, err := strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64)
	of := r.Header.Get("Range")
	if err == nil && status == http.StatusOK && of != "" && !strings.Contains(of, ",") &&
		w.Header().Get("Content-Encoding") == "" {
		w.Header().Del("Content-Length")
		f := &forward{body: body, size: size}
		http.ServeContent(w, r, "", time.Time{}, f)
		return f.err
	}
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return nil
	}
	_, err = io.Copy(w, body)
	return err
}

// forward is a body that is read once, from any place on.
type forward struct {
	body           io.Reader
	size, at, read int64 // bytes: of the whole, to be read next, read
	err            error // why it ended early
}

var errBackwards = errors.New("a body is read forwards alone")

// Seek moves to a place.
func (f *forward) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.size
	}
	f.at = offset
	return offset, nil
}

// Read reads from the place on.
func (f *forward) Read(to []byte) (n int, err error) {
	if f.at < f.read {
		err = errBackwards
	} else if skipped, skip := io.CopyN(io.Discard, f.body, f.at-f.read); skip != nil {
		f.read, err = f.read+skipped, skip
	} else {
		n, err = f.body.Read(to)
		f.at += int64(n)
		f.read = f.at
	}
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}
