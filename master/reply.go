package master

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"henro/actors/console"
	"henro/actors/revisit"
	"henro/store"
)

// read reads what was posted. If it cannot be read, it answers with an error and returns false.
func read(w http.ResponseWriter, r *http.Request, what string, posted any) bool {
	err := json.NewDecoder(r.Body).Decode(posted)
	if err != nil {
		console.Fail(w, http.StatusBadRequest, fmt.Errorf("read %s: %w", what, err))
	}
	return err == nil
}

// misuse is a mistake of whoever asks.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

func wrong(format string, values ...any) error { return misuse{fmt.Errorf(format, values...)} }

// get makes a route of a question.
func get(find func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		found, err := find(r)
		reply(w, found, err)
	}
}

// post makes a route of an order that is posted as JSON.
func post[Order, Answer any](what string, do func(context.Context, *Order) (Answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		posted := new(Order)
		if read(w, r, what, posted) {
			answer, err := do(r.Context(), posted)
			reply(w, answer, err)
		}
	}
}

// reply answers with JSON, or with an error and the code that fits it.
func reply(w http.ResponseWriter, answer any, err error) {
	switch {
	case err == nil:
		console.Reply(w, answer)
	case errors.Is(err, store.ErrNotFound):
		console.Fail(w, http.StatusNotFound, err)
	case errors.As(err, new(misuse)), errors.Is(err, ErrRevisit), errors.Is(err, revisit.ErrManyFixed),
		errors.Is(err, ErrChanged):
		console.Fail(w, http.StatusBadRequest, err)
	case errors.Is(err, ErrPromises):
		console.Fail(w, http.StatusConflict, err)
	default:
		console.Fail(w, http.StatusServiceUnavailable, err)
	}
}
