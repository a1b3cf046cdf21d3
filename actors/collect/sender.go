package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"henro/store/cdxj"
	"henro/store/warc"
)

// SenderOptions say what goes where.
type SenderOptions struct {
	Dir    string       // of the archive
	Prefix string       // of the files that are ours
	To     string       // http://HOST:PORT or https://HOST:PORT of the Receiver
	Client *http.Client // with the cluster's certificates
	// Piece is what one request carries. Default 16 MB: a second of a fast network, and no more to lose.
	Piece int64
	// Every is how often finished files are looked for. Default 2 s: it costs the listing of a folder.
	Every time.Duration
	// RetryAfter is the rest after a failure, doubled up to RetryMax while it fails again. Default 1 s and 1 min.
	RetryAfter, RetryMax time.Duration
}

// DefaultSenderOptions returns the defaults.
func DefaultSenderOptions() SenderOptions {
	return SenderOptions{Piece: 16 << 20, Every: 2 * time.Second, RetryAfter: time.Second, RetryMax: time.Minute}
}

// Validate says what is wrong with o.
func (o *SenderOptions) Validate() error {
	to, err := url.Parse(o.To)
	switch {
	case err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https":
		return fmt.Errorf("collect: %q is no address of a receiver", o.To)
	case o.Dir == "" || o.Prefix == "" || o.Client == nil:
		return errors.New("collect: no folder, prefix or client")
	case o.Piece < 1 || o.Every <= 0 || o.RetryAfter <= 0 || o.RetryMax < o.RetryAfter:
		return errors.New("collect: piece and times must be above 0, and the longest rest not below the first")
	}
	return nil
}

// Sender gives the finished files of an archive away. It belongs to one goroutine.
type Sender struct {
	o   SenderOptions
	log *logrus.Entry
}

// NewSender returns a Sender.
func NewSender(o SenderOptions, log *logrus.Entry) (*Sender, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Sender{o: o, log: log.WithField("actor", "sender")}, nil
}

// Run passes over the archive until the context ends.
func (s *Sender) Run(ctx context.Context) {
	failed := time.Duration(0)
	for {
		rest := s.o.Every
		if _, err := s.Pass(ctx); err != nil && ctx.Err() == nil {
			failed = min(max(2*failed, s.o.RetryAfter), s.o.RetryMax)
			rest = failed
			s.log.WithFields(logrus.Fields{"err": err, "rest": rest}).Warn("files are not collected; they stay here until they are")
		} else {
			failed = 0
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// Pass sends the files that are finished, and returns how many were collected. A file that is refused holds up no other.
func (s *Sender) Pass(ctx context.Context) (sent int, err error) {
	paths, err := warc.Files(s.o.Dir)
	if err != nil {
		return 0, fmt.Errorf("look for finished files: %w", err)
	}
	var refused error
	for _, path := range paths {
		if !strings.HasPrefix(filepath.Base(path), s.o.Prefix+"-") {
			continue
		}
		if _, err := os.Stat(cdxj.Path(path)); err != nil {
			continue // it is being finished, or the next start of the slave indexes it
		}
		switch err := s.send(ctx, path); {
		case err == nil:
			sent++
		case errors.Is(err, ErrConflict), errors.Is(err, ErrDigest):
			refused = errors.Join(refused, err)
		default:
			return sent, errors.Join(refused, err)
		}
	}
	return sent, refused
}

// maxTries is how often a file is sent from its beginning before that is taken for more than chance.
const maxTries = 3

// send brings one file across and removes it here.
func (s *Sender) send(ctx context.Context, path string) error {
	name := filepath.Base(path)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("collect: %w", err)
	}
	defer f.Close()
	sum, size, err := digest(f)
	if err != nil {
		return fmt.Errorf("collect %s: %w", name, err)
	}
	state, err := s.ask(ctx, name, sum)
	for tries := 0; err == nil && !state.Whole; {
		offset := state.Size
		if offset > size {
			err = fmt.Errorf("%w: %s", ErrConflict, name)
			break
		}
		if _, err := f.Seek(offset, io.SeekStart); err != nil {
			return fmt.Errorf("collect %s: %w", name, err)
		}
		// A piece that brings nothing forward is one that was not what was sent, or that began at the wrong place.
		if state, err = s.put(ctx, name, f, offset, size, sum); err == nil && !state.Whole && state.Size <= offset {
			if tries++; tries == maxTries {
				err = fmt.Errorf("%w: %s", ErrDigest, name)
			}
		}
	}
	// Asked once more, so that the answer is about what is on the disk under its name.
	if err == nil {
		state, err = s.ask(ctx, name, sum)
	}
	if err != nil {
		return err
	}
	if !state.Whole {
		return fmt.Errorf("collect %s: it was whole at the receiver, and is not any more", name)
	}
	// The index first: a file without one is found by the next start, an index without its file by nobody.
	if err := errors.Join(f.Close(), os.Remove(cdxj.Path(path)), os.Remove(path)); err != nil {
		return fmt.Errorf("collect: %w", err)
	}
	s.log.WithFields(logrus.Fields{"file": name, "bytes": size}).Info("a file was collected and removed here")
	return nil
}

// ask returns what the receiver has of a file.
func (s *Sender) ask(ctx context.Context, name, sum string) (State, error) {
	state, _, err := s.request(ctx, http.MethodGet, "/files/"+name, nil, 0)
	if err == nil && state.Whole && state.SHA256 != sum {
		err = fmt.Errorf("%w: %s", ErrConflict, name)
	}
	return state, err
}

// put sends the piece at offset, and returns what there is then: more, or another place to begin at.
func (s *Sender) put(ctx context.Context, name string, f io.Reader, offset, size int64, sum string) (State, error) {
	query := url.Values{"offset": {strconv.FormatInt(offset, 10)}, "size": {strconv.FormatInt(size, 10)}, "sha256": {sum}}
	n := min(s.o.Piece, size-offset)
	state, status, err := s.request(ctx, http.MethodPut, "/files/"+name+"?"+query.Encode(), io.LimitReader(f, n), n)
	if status == http.StatusConflict || status == http.StatusUnprocessableEntity {
		err = nil
	}
	return state, err
}

func (s *Sender) request(ctx context.Context, method, target string, body io.Reader, n int64) (state State, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*pieceFor) // the last piece is answered when the file was read again
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.o.To+target, body)
	if err != nil {
		return state, 0, fmt.Errorf("collect: %w", err)
	}
	r.ContentLength = n
	answer, err := s.o.Client.Do(r)
	if err != nil {
		return state, 0, fmt.Errorf("collect: %w", err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&state); err != nil {
		return state, answer.StatusCode, fmt.Errorf("collect: %s is no receiver: %w", s.o.To, err)
	}
	if answer.StatusCode != http.StatusOK {
		return state, answer.StatusCode, fmt.Errorf("collect: the receiver says %d: %s", answer.StatusCode, state.Error)
	}
	return state, answer.StatusCode, nil
}
