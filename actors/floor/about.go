package floor

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// aboutKeys are the fields by which a message can be followed from actor to actor and from node to node.
var aboutKeys = map[string]string{
	"Lease": "lease", "Batch": "batch", "Serial": "serial", "Host": "host", "URL": "url", "Url": "url",
	"Slave": "slave", "Partition": "partition",
	"Leases": "lease",
}

// aboutLength bounds what an event says of its message, and aboutValues what is looked at in one message.
const (
	aboutLength = 512
	aboutValues = 4096
)

// About calls each with what a message is about, until it returns false: the fields of the names above, of the message
// and of the messages in it.
func About(message any, each func(key, value string) bool) {
	left := aboutValues
	about(reflect.ValueOf(message), aboutDepth, &left, each)
}

// aboutDepth is how deep messages lie in messages: ToHost, HostFacts, Fact, PageVisited.
const aboutDepth = 4

// Telling is a message that says itself what it is about: one whose fields mean something to its own package alone.
type Telling interface {
	// Tell calls each until it returns false, which is what Tell returns then.
	Tell(each func(key, value string) bool) bool
}

// aboutLink is what the URLs in a page's outlinks are, and in the candidates made of them: a page is not about what it
// links to.
const aboutLink = "link"

func holdsLinks(field string) bool { return field == "Links" || field == "Candidates" }

// plan is what About looks at in a struct type, found out once.
type plan struct {
	keys   []keyField
	nested []int // fields that hold structs, or slices of them, with something to say
}

type keyField struct {
	index int
	key   string
}

type planKey struct {
	of    reflect.Type
	depth int
}

var plans sync.Map // planKey → *plan; its size is bounded by the types of the program

func planOf(t reflect.Type, depth int) *plan {
	if known, ok := plans.Load(planKey{t, depth}); ok {
		return known.(*plan)
	}
	p := &plan{}
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() {
			continue
		}
		if key, ok := aboutKeys[field.Name]; ok && canSay(field.Type) {
			p.keys = append(p.keys, keyField{i, key})
		} else if depth > 1 && speaks(field.Type, depth-1) {
			p.nested = append(p.nested, i)
		}
	}
	known, _ := plans.LoadOrStore(planKey{t, depth}, p)
	return known.(*plan)
}

// speaks reports whether a value of the type may hold something to say.
func speaks(t reflect.Type, depth int) bool {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() == reflect.Interface || t.Implements(telling) {
		return true
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	p := planOf(t, depth)
	return len(p.keys)+len(p.nested) > 0
}

var telling = reflect.TypeFor[Telling]()

var stringer = reflect.TypeFor[fmt.Stringer]()

// canSay reports whether a field of the type is a word itself.
func canSay(t reflect.Type) bool {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Struct:
		return t.Implements(stringer)
	}
	return false
}

// about walks a struct, down to depth; it returns false when it is to stop.
func about(v reflect.Value, depth int, left *int, each func(key, value string) bool) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return true
		}
		if v.CanInterface() {
			if told, ok := v.Interface().(Telling); ok {
				return told.Tell(each)
			}
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || depth == 0 {
		return true
	}
	p := planOf(v.Type(), depth)
	for _, k := range p.keys {
		if *left--; *left < 0 {
			return false
		}
		field := v.Field(k.index)
		if field.Kind() != reflect.Slice {
			if word := aboutWord(field); word != "" && !each(k.key, word) {
				return false
			}
			continue
		}
		for j := range field.Len() {
			if *left--; *left < 0 || !each(k.key, aboutWord(field.Index(j))) {
				return false
			}
		}
	}
	for _, i := range p.nested {
		f, each := v.Field(i), each
		if holdsLinks(v.Type().Field(i).Name) {
			of := each
			each = func(key, value string) bool {
				if key == "url" {
					key = aboutLink
				}
				return of(key, value)
			}
		}
		if f.Kind() != reflect.Slice {
			if !about(f, depth-1, left, each) {
				return false
			}
			continue
		}
		for j := range f.Len() {
			if *left--; *left < 0 {
				return false
			}
			if !about(f.Index(j), depth-1, left, each) {
				return false
			}
		}
	}
	return true
}

// aboutWord writes a value; empty when it says nothing.
func aboutWord(f reflect.Value) string {
	switch {
	case f.Kind() == reflect.String:
		return f.String()
	case f.IsZero():
		return ""
	case f.CanUint():
		return strconv.FormatUint(f.Uint(), 10)
	case f.CanInt():
		return strconv.FormatInt(f.Int(), 10)
	}
	return f.Interface().(fmt.Stringer).String()
}

// about is what an event says of its message, each thing once, within bounds.
func (t *Tracer) about(message any) string {
	var words []string
	length := 0
	t.o.About(message, func(key, value string) bool {
		if key == aboutLink {
			return true
		}
		word := key + "=" + value
		if slices.Contains(words, word) {
			return true
		}
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

// globPath fits whole names, and what follows one of their slashes.
func globPath(pattern, name string) bool {
	return globbed("^(?s:.*/)?", pattern).MatchString(name)
}

// glob fits whole names.
func glob(pattern, name string) bool { return globbed("^", pattern).MatchString(name) }

// globbed is a pattern in which * stands for any letters, slashes too, and ? for one byte.
func globbed(begin, pattern string) *regexp.Regexp {
	quoted := strings.NewReplacer(`\*`, "(?s:.*)", `\?`, "(?s:.)").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile(begin + quoted + "$") // whatever the pattern is, it is quoted
}
