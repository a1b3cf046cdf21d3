package master

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"henro/actors/console"
	"henro/store"
)

// read reads what was posted; if that is not what is wanted it answers with an error, and returns false.
func read(w http.ResponseWriter, r *http.Request, what string, posted any) bool {
	err := json.NewDecoder(r.Body).Decode(posted)
	if err != nil {
		console.Fail(w, http.StatusBadRequest, fmt.Errorf("read %s: %w", what, err))
	}
	return err == nil
}

// reply answers with JSON, or with an error and the code that fits it.
func reply(w http.ResponseWriter, answer any, err error) {
	switch {
	case err == nil:
		console.Reply(w, answer)
	case errors.Is(err, store.ErrNotFound):
		console.Fail(w, http.StatusNotFound, err)
	case errors.Is(err, ErrPromises):
		console.Fail(w, http.StatusConflict, err)
	default:
		console.Fail(w, http.StatusServiceUnavailable, err)
	}
}
