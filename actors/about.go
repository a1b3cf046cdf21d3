package actors

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
)

// aboutKeys are the fields by which a message can be followed from actor to actor and from node to node.
var aboutKeys = map[string]string{
	"Lease": "lease", "Batch": "batch", "Serial": "serial", "Host": "host", "URL": "url", "Url": "url", "Slave": "slave", "Partition": "partition",
}

// aboutLength bounds what an event says of its message, and aboutValues what is looked at in one message.
const (
	aboutLength = 512
	aboutValues = 4096
)

// About calls each with what a message is about, until it returns false: the fields of the names above, of the message and of
// the messages in it.
func About(message any, each func(key, value string) bool) {
	left := aboutValues
	about(reflect.ValueOf(message), 3, &left, each)
}

// about walks the exported fields of a struct, down to depth; it returns false when it is to stop.
func about(v reflect.Value, depth int, left *int, each func(key, value string) bool) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || depth == 0 {
		return true
	}
	t := v.Type()
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() {
			continue
		}
		if *left--; *left < 0 {
			return false
		}
		f := v.Field(i)
		if key, ok := aboutKeys[field.Name]; ok {
			if word, ok := aboutWord(f); ok {
				if !each(key, word) {
					return false
				}
				continue
			}
		}
		switch f.Kind() {
		case reflect.Pointer, reflect.Struct, reflect.Interface:
			if !about(f, depth-1, left, each) {
				return false
			}
		case reflect.Slice:
			switch f.Type().Elem().Kind() {
			case reflect.Pointer, reflect.Struct:
				for j := range f.Len() {
					if !about(f.Index(j), depth-1, left, each) {
						return false
					}
				}
			}
		}
	}
	return true
}

// aboutWord writes a value that says something.
func aboutWord(f reflect.Value) (string, bool) {
	switch {
	case f.Kind() == reflect.String:
		return f.String(), f.Len() > 0
	case f.CanUint():
		return fmt.Sprint(f.Uint()), f.Uint() != 0
	case f.CanInt():
		return fmt.Sprint(f.Int()), f.Int() != 0
	case f.CanInterface():
		if s, ok := f.Interface().(fmt.Stringer); ok && f.Kind() == reflect.Struct {
			word := s.String()
			return word, word != ""
		}
	}
	return "", false
}

// about is what an event says of its message, each thing once, within bounds.
func (t *Tracer) about(message any) string {
	var words []string
	length := 0
	seen := make(map[string]bool)
	t.o.About(message, func(key, value string) bool {
		word := key + "=" + value
		if seen[word] {
			return true
		}
		seen[word] = true
		if length += len(word) + 1; length > aboutLength {
			words = append(words, "…")
			return false
		}
		words = append(words, word)
		return true
	})
	return strings.Join(words, " ")
}

// isAbout reports whether the value is one of those that the message is about.
func (t *Tracer) isAbout(message any, wanted string) bool {
	if message == nil {
		return false
	}
	found := false
	t.o.About(message, func(_, value string) bool {
		found = value == wanted
		return !found
	})
	return found
}

// globPath is glob over the whole name or over what follows one of its slashes.
func globPath(pattern, name string) bool {
	if glob(pattern, name) {
		return true
	}
	for i := range len(name) {
		if name[i] == '/' && glob(pattern, name[i+1:]) {
			return true
		}
	}
	return false
}

// glob reports whether the whole name fits the pattern, in which * stands for any letters, slashes too, and ? for one. It goes
// back to the last star only, so that its time is at most the product of the lengths.
func glob(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// fastrand is a random number below n.
func fastrand(n int) int { return rand.IntN(n) }
