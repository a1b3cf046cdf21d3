package sitemap

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// json reads a JSON feed (https://www.jsonfeed.org/version/1.1/), token by token.
func (r *reader) json() {
	in := json.NewDecoder(io.LimitReader(r.in, r.o.MaxJSON))
	if !delim(in, '{') {
		return
	}
	for !r.ended && in.More() {
		name, ok := text(in)
		if !ok {
			return
		}
		switch name {
		case "version":
			version, ok := text(in)
			if !ok || !strings.Contains(version, "jsonfeed.org") {
				return
			}
			r.result.Kind = JSON
		case "next_url":
			next, ok := text(in)
			if ok {
				r.hand(&Entry{Loc: strings.TrimSpace(next), Part: true})
			}
		case "items":
			if r.result.Kind != JSON || !r.items(in) { // any API may answer with items
				return
			}
		default:
			if skip(in) != nil {
				return
			}
		}
	}
}

func (r *reader) items(in *json.Decoder) bool {
	if !delim(in, '[') {
		return false
	}
	for in.More() {
		var item struct {
			URL       string `json:"url"`
			Published string `json:"date_published"`
			Changed   string `json:"date_modified"`
		}
		var other *json.UnmarshalTypeError // a number, say, or null: as good as nothing
		if err := in.Decode(&item); err != nil && !errors.As(err, &other) {
			return false
		}
		e := Entry{Loc: strings.TrimSpace(item.URL)}
		var ok bool
		if e.From, e.Until, ok = modified(item.Changed); !ok {
			e.From, e.Until, _ = modified(item.Published)
		}
		if len(e.Loc) <= r.o.MaxText {
			r.hand(&e)
		}
		if r.ended {
			return false
		}
	}
	return delim(in, ']')
}

var errDeep = errors.New("nested too deeply")

// skip passes over one value. Its nesting is counted and not recursed into.
func skip(in *json.Decoder) error {
	for depth := 0; ; {
		token, err := in.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
		if depth > maxNesting {
			return errDeep
		}
	}
}

func delim(in *json.Decoder, want json.Delim) bool {
	token, err := in.Token()
	return err == nil && token == want
}

func text(in *json.Decoder) (string, bool) {
	token, err := in.Token()
	if err != nil {
		return "", false
	}
	text, ok := token.(string)
	return text, ok
}
