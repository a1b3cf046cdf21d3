package cdx

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"henro/store/archive/cdxj"
)

// Lines shows the lines of a sorted index from the first that is not below from, until visit returns false.
type Lines func(from string, visit func(line []byte) bool) error

// maxHeld is how many bytes of lines are held to be sorted.
const maxHeld = 8 << 20

var (
	errScanned = fmt.Errorf("more than %d lines of the index would be read: ask for less, or with showResumeKey=true",
		maxScanned)
	errHeld = fmt.Errorf("more than %d bytes of lines would be sorted: ask with a smaller limit", maxHeld)
)

// Is reports whether queries are answered at a path.
func Is(path string) bool {
	_, is := addresses[path]
	return is
}

// Answer answers a query. What is wrong with the query is said with 400; an error is of the index, and nothing was
// answered then. An answer that cannot be given to its end is cut off, so that none is taken for whole.
func Answer(w http.ResponseWriter, r *http.Request, lines Lines) error {
	return answerWithin(maxScanned, w, r, lines)
}

func answerWithin(scanned int, w http.ResponseWriter, r *http.Request, lines Lines) error {
	q, err := parse(addresses[r.URL.Path], r.URL.RawQuery)
	if err != nil {
		refuse(w, err)
		return nil
	}
	head := &beginning{w: w, query: q}
	a := &answer{query: q, out: bufio.NewWriterSize(head, 32<<10), scanned: scanned}
	if err = a.give(r.Context(), lines); err == nil {
		err = a.out.Flush()
	}
	var bad badQuery
	switch {
	case r.Context().Err() != nil:
		return nil
	case err == nil:
		head.begin() // of an answer without lines
		return nil
	case head.begun:
		panic(http.ErrAbortHandler)
	case errors.As(err, &bad):
		refuse(w, err)
		return nil
	}
	return err
}

// badQuery is an error of the one who asks.
type badQuery struct{ error }

func refuse(w http.ResponseWriter, err error) {
	text, _ := json.Marshal(map[string]string{"message": err.Error()})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(append(text, '\n'))
}

// beginning is an answer whose head goes out with its first bytes.
type beginning struct {
	w     http.ResponseWriter
	query *query
	begun bool
}

func (b *beginning) begin() {
	if b.begun {
		return
	}
	b.begun = true
	h := b.w.Header()
	h.Set("Content-Type", b.query.media+"; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache") // the archive grows
	b.w.WriteHeader(http.StatusOK)
}

func (b *beginning) Write(data []byte) (int, error) {
	b.begin()
	return b.w.Write(data)
}

// answer is a query that is being answered.
type answer struct {
	*query
	out     *bufio.Writer
	scanned int // lines that may still be looked at

	seen     int      // lines of the range
	place    string   // key and moment of the line
	same     int      // lines before it that have these
	tokens   []string // of the line before, by which lines are collapsed
	pending  []byte   // the line that is the last of those that are one, as far as it is known
	rows     int      // written
	held     [][]byte
	bytes    int // of held
	resume   string
	finished bool // the lines wanted are there
}

// give writes an answer.
func (a *answer) give(ctx context.Context, lines Lines) error {
	var failed error
	err := lines(a.from, func(line []byte) bool {
		line = bytes.TrimRight(line, "\r\n")
		if string(line) >= a.end || ctx.Err() != nil {
			return false
		}
		a.locate(line)
		if a.scanned--; a.scanned < 0 {
			if a.showsResume {
				a.resume = a.key()
			} else {
				failed = badQuery{errScanned}
			}
			return false
		}
		failed = a.look(line)
		return failed == nil && !a.finished
	})
	if err = errors.Join(err, failed, ctx.Err()); err == nil && a.pending != nil {
		err = a.take(a.pending)
	}
	if err != nil {
		return err
	}
	blocks := (a.seen + blockLines - 1) / blockLines
	pages := max(1, (blocks+a.pageSize-1)/a.pageSize)
	switch {
	case a.countsPages:
		a.media = "application/json"
		_, err = fmt.Fprintf(a.out, "{\"blocks\": %d, \"pages\": %d, \"pageSize\": %d}\n", blocks, pages, a.pageSize)
		return err
	case a.page > 0 && a.page >= pages:
		return badQuery{told(fmt.Sprintf("Page %d invalid: First Page is 0, Last Page is %d", a.page, pages-1))}
	}
	for _, line := range a.order(a.limit) {
		if err := a.write(line); err != nil {
			return err
		}
	}
	return a.close()
}

// locate notes where in the index a line is.
func (a *answer) locate(line []byte) {
	key, rest, _ := bytes.Cut(line, []byte(" "))
	at, _, _ := bytes.Cut(rest, []byte(" "))
	if place := line[:min(len(line), len(key)+1+len(at))]; string(place) != a.place {
		a.place, a.same = string(place), 0
	} else {
		a.same++
	}
}

// key is where an answer goes on that ends before the line.
func (a *answer) key() string { return url.QueryEscape(a.place + "!" + strconv.Itoa(a.same)) }

// look takes a line, if it is wanted.
func (a *answer) look(line []byte) error {
	a.seen++
	size := a.pageSize * blockLines
	switch {
	case a.countsPages, a.same < a.skip && a.place+" " == a.from, a.page > 0 && a.seen <= a.page*size:
		return nil
	case a.page >= 0 && a.seen > (a.page+1)*size:
		a.finished = true
		return nil
	}
	e, err := cdxj.Parse(line)
	if err != nil || !a.passes(&e, line) {
		return nil // what is no line is nobody's capture; henro check names it
	}
	if len(a.collapse) > 0 {
		tokens := make([]string, len(a.collapse))
		for i, p := range a.collapse {
			v, _ := value(&e, p.name)
			tokens[i] = v
			if p.digits > 0 {
				tokens[i] = v[:min(len(v), p.digits)]
			}
		}
		one := slices.Equal(tokens, a.tokens)
		a.tokens = tokens
		switch last := a.pending; {
		case a.keepsLast:
			a.pending = bytes.Clone(line)
			if one || last == nil {
				return nil
			}
			line = last
		case one:
			return nil
		}
	}
	return a.take(line)
}

func (a *answer) passes(e *cdxj.Entry, line []byte) bool {
	if a.since != "" || a.until != "" {
		at := cdxj.Stamp(e.At)
		if at < a.since || a.until != "" && at > a.until {
			return false
		}
	}
	for _, f := range a.filters {
		text := string(line)
		if f.name != "" {
			text, _ = value(e, f.name)
		}
		if f.passes(text) == f.invert {
			return false
		}
	}
	return true
}

// take writes a line, or holds it.
func (a *answer) take(line []byte) error {
	if !a.sorted() {
		if a.rows == a.limit {
			a.finished = true
			if a.showsResume {
				a.resume = a.key()
			}
			return nil
		}
		if err := a.write(line); err != nil {
			return err
		}
		a.finished = a.rows == a.limit && !a.showsResume
		return nil
	}
	a.held = append(a.held, bytes.Clone(line))
	if a.bytes += len(line); len(a.held) >= 2*a.limit || a.bytes > maxHeld {
		a.held = a.order(a.limit)
		if a.reverse && a.closest.IsZero() {
			slices.Reverse(a.held)
		}
		a.bytes = 0
		for _, line := range a.held {
			a.bytes += len(line)
		}
		if a.bytes > maxHeld {
			return badQuery{errHeld}
		}
	}
	return nil
}

// order puts the lines that are held in order, the first ones alone.
func (a *answer) order(most int) [][]byte {
	switch {
	case !a.closest.IsZero():
		far := func(line []byte) int64 {
			e, _ := cdxj.Parse(line)
			return int64(e.At.Sub(a.closest).Abs())
		}
		slices.SortStableFunc(a.held, func(x, y []byte) int { return cmp.Compare(far(x), far(y)) })
		return a.held[:min(most, len(a.held))]
	default:
		a.held = a.held[max(0, len(a.held)-most):]
		if a.reverse {
			slices.Reverse(a.held)
		}
		return a.held
	}
}

// kind is what a value is in JSON.
type kind uint8

const (
	none kind = iota
	text
	count
	object // JSON as it is
)

// value is that of a field of a capture; none: empty.
func value(e *cdxj.Entry, name string) (string, kind) {
	numeric := func(n int64, k kind) (string, kind) {
		if k == none {
			return "", none
		}
		return strconv.FormatInt(n, 10), k
	}
	given := func(is bool, k kind) kind {
		if is {
			return k
		}
		return none
	}
	switch name {
	case "urlkey":
		return e.Key, text
	case "timestamp":
		return cdxj.Stamp(e.At), count
	case "url":
		return e.URL, given(e.URL != "", text)
	case "mime":
		return e.Mime, given(e.Mime != "", text)
	case "status":
		return numeric(int64(e.Status), given(e.Status > 0, count))
	case "digest":
		return e.Digest, given(e.Digest != "", text)
	case "length":
		return numeric(e.Length, given(e.Length > 0, count))
	case "offset":
		return numeric(e.Offset, count)
	case "filename":
		return e.Filename, given(e.Filename != "", text)
	}
	for _, f := range e.Extra {
		if f.Name == name {
			if f.Value != "" && strings.IndexByte("{[tfn", f.Value[0]) >= 0 && json.Valid([]byte(f.Value)) {
				return f.Value, object
			}
			return f.Value, text
		}
	}
	return "", none
}

// write writes a line in the form that is wanted.
func (a *answer) write(line []byte) error {
	a.rows++
	e, err := cdxj.Parse(line)
	if err != nil {
		return err // it was read before
	}
	if a.isArray() {
		a.separate()
	}
	switch {
	case a.output == "cdxj":
		fmt.Fprintf(a.out, "%s %s ", e.Key, cdxj.Stamp(e.At))
		if a.fields == nil {
			_, _ = a.out.Write(members(line))
		} else {
			a.object(&e, "urlkey", "timestamp")
		}
	case a.output == "jsondict":
		a.object(&e)
	case a.isArray():
		_ = a.out.WriteByte('[')
		for i, f := range a.fields {
			if i > 0 {
				_ = a.out.WriteByte(',')
			}
			a.value(&e, f.name, true)
		}
		_ = a.out.WriteByte(']')
	case a.output == "json" && a.fields == nil:
		rest := members(line)[1:]
		fmt.Fprintf(a.out, `{"urlkey":%s,"timestamp":"%s"`, quoted(e.Key), cdxj.Stamp(e.At))
		if len(bytes.TrimSpace(rest)) > 1 {
			_ = a.out.WriteByte(',')
		}
		_, _ = a.out.Write(rest)
	case a.output == "json":
		a.object(&e)
	default:
		for i, f := range a.fields {
			if i > 0 {
				_ = a.out.WriteByte(' ')
			}
			v, _ := value(&e, f.name)
			_, _ = a.out.WriteString(word(v))
		}
	}
	if !a.isArray() {
		_ = a.out.WriteByte('\n')
	}
	_, err = a.out.Write(nil) // which says what went wrong before
	return err
}

// members is the object of JSON of a line.
func members(line []byte) []byte { return bytes.TrimRight(line[bytes.IndexByte(line, '{'):], " \t") }

// isArray reports that lines are the elements of an array, as of OutbackCDX.
func (a *answer) isArray() bool {
	return a.dialect == outback && (a.output == "json" || a.output == "jsondict")
}

// separate begins an array, whose first element may name the fields, or its next element.
func (a *answer) separate() {
	mark := ","
	switch {
	case a.rows > 1:
	case a.output == "json":
		var names []string
		for _, f := range a.fields {
			names = append(names, quoted(f.asked))
		}
		if mark = "[[" + strings.Join(names, ",") + "]"; a.rows == 1 {
			mark += ","
		}
	default:
		mark = "["
	}
	_, _ = a.out.WriteString(mark)
}

// object writes the fields of a capture that has them, as pywb does; OutbackCDX has numbers but in CDXJ.
func (a *answer) object(e *cdxj.Entry, but ...string) {
	mark := "{"
	for _, f := range a.fields {
		if _, is := value(e, f.name); is == none || slices.Contains(but, f.name) {
			continue
		}
		_, _ = a.out.WriteString(mark + quoted(f.asked) + ":")
		a.value(e, f.name, a.output == "jsondict")
		mark = ","
	}
	if mark == "{" {
		_ = a.out.WriteByte('{')
	}
	_ = a.out.WriteByte('}')
}

func (a *answer) value(e *cdxj.Entry, name string, numbers bool) {
	v, is := value(e, name)
	switch {
	case is == none && (name == "redirect" || name == "robotflags"):
		v = `"-"`
	case is == none:
		v = "null"
	case is == text, is == count && !numbers:
		v = quoted(v)
	}
	_, _ = a.out.WriteString(v)
}

// close ends an answer.
func (a *answer) close() error {
	if a.rows == 0 && a.isArray() {
		a.separate()
	}
	end, key := "", a.resume
	switch {
	case key == "":
	case a.isArray():
		end = ",[],[" + quoted(key) + "]"
	case a.output == "json":
		end = "[]\n[" + quoted(key) + "]\n"
	default:
		end = "\n" + key + "\n"
	}
	if a.isArray() {
		end += "]"
	}
	_, err := a.out.WriteString(end)
	return err
}

// quoted is a string of JSON.
func quoted(s string) string {
	var b strings.Builder
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false) // of every & in a query
	_ = to.Encode(s)        // to memory, which does not fail
	return strings.TrimSuffix(b.String(), "\n")
}

// word is a value between blanks: what would end it is percent-encoded.
func word(s string) string {
	if s == "" {
		return "-"
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == utf8.RuneError }) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			_ = b.WriteByte(c)
		}
	}
	return strings.ToValidUTF8(b.String(), "�")
}
