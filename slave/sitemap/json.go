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
		if !delim(in, '{') {
			return false
		}
		var e Entry
		var published, changed string
		for in.More() {
			name, ok := text(in)
			if !ok {
				return false
			}
			into := map[string]*string{"url": &e.Loc, "date_published": &published, "date_modified": &changed}[name]
			if into == nil {
				if skip(in) != nil {
					return false
				}
			} else if token, err := in.Token(); err != nil {
				return false
			} else if text, ok := token.(string); ok {
				*into = strings.TrimSpace(text)
			} else if _, opens := token.(json.Delim); opens {
				return false
			}
		}
		if !delim(in, '}') {
			return false
		}
		if from, until, ok := modified(changed); ok {
			e.From, e.Until = from, until
		} else {
			e.From, e.Until, _ = modified(published)
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
