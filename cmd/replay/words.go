package replay

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// words are those of our own pages in one language.
type words struct {
	Lang string
	T    map[string][]string
	Root string // before the paths of what belongs to the page
}

// Say returns the words for a thing.
func (w words) Say(key string) string {
	if t := w.T[key]; len(t) > 0 {
		return t[0]
	}
	return key
}

// Counted returns a number with the words for so many things: the second form is for one.
func (w words) Counted(n int, key string) string {
	t := w.T[key]
	if n == 1 && len(t) > 1 {
		t = t[1:]
	}
	return fmt.Sprint(n, " ", t[0])
}

// wordsFor chooses Japanese or English, as the browser prefers.
func wordsFor(r *http.Request) (w words) {
	if isInside(r) {
		w.Root = inside
	}
	w.Lang = "en"
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		if primary, _, _ := strings.Cut(strings.ToLower(tag), "-"); primary == "ja" || primary == "en" {
			w.Lang = primary
			break
		}
	}
	w.T = said[w.Lang]
	return w
}

// said are the words by the language and the thing: the first form, and that for one if it is another.
var said = func() (all map[string]map[string][]string) {
	if err := json.Unmarshal(wordsJSON, &all); err != nil {
		panic("words.json: " + err.Error())
	}
	return all
}()

//go:embed words.json
var wordsJSON []byte
