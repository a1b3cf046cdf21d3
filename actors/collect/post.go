package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Post is a Receiver at the other end of a network.
type Post struct {
	To     string       // http://HOST:PORT or https://HOST:PORT
	Client *http.Client // with the cluster's certificates
	// Piece is how many bytes one request carries, which are lost if it fails: 16 MB, a second of a fast network.
	Piece int64
}

// NewPost returns a Receiver's address as a Place.
func NewPost(to string, client *http.Client) (*Post, error) {
	at, err := url.Parse(to)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || client == nil {
		return nil, fmt.Errorf("collect: %q is no address of a receiver", to)
	}
	here := *client // a receiver redirects no request, and files go to the one that was named
	here.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Post{to, &here, 16 << 20}, nil
}

// maxTries is how often a file is sent from its beginning before that is taken for more than chance.
const maxTries = 3

// Bring sends a file from where the Receiver says on.
func (p *Post) Bring(ctx context.Context, file *File) error {
	state, err := p.ask(ctx, file)
	for tries := 0; err == nil && !state.Whole; {
		offset := state.Size
		if offset > file.Size {
			return fmt.Errorf("%w: %s", ErrConflict, file.Name)
		}
		// A piece that brings nothing forward is one that was not what was sent, or that began at the wrong place.
		if state, err = p.put(ctx, file, offset); err == nil && !state.Whole && state.Size <= offset {
			if tries++; tries == maxTries {
				return fmt.Errorf("%w: %s", ErrDigest, file.Name)
			}
		}
	}
	// Asked once more, so that the answer is about what is on the disk under its name.
	if err == nil {
		state, err = p.ask(ctx, file)
	}
	if err == nil && !state.Whole {
		err = errors.New("collect " + file.Name + ": it was whole at the receiver, and is not any more")
	}
	return err
}

// ask returns what the receiver has of a file.
func (p *Post) ask(ctx context.Context, file *File) (State, error) {
	state, _, err := p.request(ctx, http.MethodGet, "/files/"+file.Name, nil, 0)
	if err == nil && state.Whole && state.SHA256 != file.SHA256 {
		err = fmt.Errorf("%w: %s", ErrConflict, file.Name)
	}
	return state, err
}

// put sends the piece at offset, and returns what there is then: more, or another place to begin at.
func (p *Post) put(ctx context.Context, file *File, offset int64) (State, error) {
	query := url.Values{"offset": {strconv.FormatInt(offset, 10)}, "size": {strconv.FormatInt(file.Size, 10)},
		"sha256": {file.SHA256}}
	n := min(p.Piece, file.Size-offset)
	state, status, err := p.request(ctx, http.MethodPut, "/files/"+file.Name+"?"+query.Encode(),
		io.NewSectionReader(file, offset, n), n)
	if status == http.StatusConflict || status == http.StatusUnprocessableEntity {
		err = nil
	}
	return state, err
}

func (p *Post) request(ctx context.Context, method, target string, body io.Reader, n int64) (state State, status int,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*pieceFor) // the last piece is answered when the file was read again
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.To+target, body)
	if err != nil {
		return state, 0, fmt.Errorf("collect: %w", err)
	}
	r.ContentLength = n
	answer, err := p.Client.Do(r)
	if err != nil {
		return state, 0, fmt.Errorf("collect: %w", err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&state); err != nil {
		return state, answer.StatusCode, fmt.Errorf("collect: %s is no receiver: %w", p.To, err)
	}
	if answer.StatusCode != http.StatusOK {
		return state, answer.StatusCode, fmt.Errorf("collect: the receiver says %d: %s", answer.StatusCode, state.Error)
	}
	return state, answer.StatusCode, nil
}
