package posted

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"henro/messages/weburl"
)

const (
	maxQuery = 4096 // characters of a query, as pywb has it
	maxDeep  = 500  // levels of JSON
)

var errDeep = errors.New("JSON is too deep")

// Query is what stands for the body of a request in archives: for the key of the index as pywb makes it, and as the
// requestBody of a line, from which wabac.js makes its own. The two differ in what is empty, and in how a form is
// written. (Of text that is no JSON, where wabac.js has nothing, it has what pywb has.)
func (r *Request) Query() (key, body string) {
	switch {
	case strings.HasPrefix(r.ContentType, "application/x-www-form-urlencoded") && utf8.Valid(r.Body):
		return first(unquote(string(r.Body))), first(string(r.Body))
	case strings.HasPrefix(r.ContentType, "application/json"), strings.HasPrefix(r.ContentType, "text/plain"):
		all, err := flatten(r.Body)
		if err == nil {
			return first(encode(all, false)), first(encode(all, true))
		}
		if body = binary(r.Body); strings.HasPrefix(r.ContentType, "text/plain") {
			key = body
		}
		return first(key), first(body)
	case len(r.Body) > 0:
		return first(binary(r.Body)), first(binary(r.Body))
	}
	return "", ""
}

// Key is the key of the index of an archive under which pywb looks a request up.
func (r *Request) Key() string {
	query, _ := r.Query()
	return KeyOf(r.URL, "POST", query)
}

// KeyOf is the key of a request by a method, with what stands for its body.
func KeyOf(u weburl.URL, method, query string) string {
	if query != "" {
		query = "&" + query
	}
	query = "__wb_method=" + method + query
	query, _, _ = strings.Cut(strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(query), "#")
	return u.IndexKeyWith(strings.TrimSpace(query))
}

// Loose is the URL with all that tells requests apart in an archive, for comparison.
func Loose(url, method, body string) string { return with(url, "__wb_method="+method+"&"+body) }

// Loose is the request as it stands in an archive.
func (r *Request) Loose() string {
	_, body := r.Query()
	return Loose(r.URL.String(), "POST", body)
}

func binary(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	return "__wb_post_data=" + base64.StdEncoding.EncodeToString(body)
}

func first(query string) string {
	n := 0
	for i := range query {
		if n++; n > maxQuery {
			return query[:i]
		}
	}
	return query
}

// unquote is Python's unquote_plus.
func unquote(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			out = append(out, ' ')
		case s[i] == '%' && i+2 < len(s):
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out, i = append(out, byte(c)), i+2
				continue
			}
			fallthrough
		default:
			out = append(out, s[i])
		}
	}
	return strings.ToValidUTF8(string(out), "�")
}

// pair is a name and a value somewhere in JSON.
type pair struct{ name, value string }

// flatten returns the values of JSON in their order, each with the name that is nearest above it.
func flatten(text []byte) (all []pair, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if all, err = values(d, nil, "", 0); err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one value")
		}
	}
	return all, err
}

func values(d *json.Decoder, all []pair, name string, deep int) ([]pair, error) {
	t, err := d.Token()
	if err != nil || deep > maxDeep {
		return nil, errors.Join(err, errDeep)
	}
	switch v := t.(type) {
	case json.Delim:
		for d.More() {
			within := name
			if v == '{' {
				named, err := d.Token()
				if err != nil {
					return nil, err
				}
				within, _ = named.(string)
			}
			if all, err = values(d, all, within, deep+1); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return all, err
	case json.Number:
		return append(all, pair{name, number(v.String())}), nil
	case bool:
		return append(all, pair{name, strconv.FormatBool(v)}), nil
	case string:
		return append(all, pair{name, v}), nil
	}
	return append(all, pair{name, "null"}), nil
}

// number writes a number as JavaScript does, integers with all digits, as Python does.
func number(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case f == 0 && err == nil:
		return "0"
	case err != nil, !strings.ContainsAny(text, ".eE"):
		return text
	case f == math.Trunc(f) && math.Abs(f) < 1e21:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// encode writes names and values as a query. Names that come again are numbered: a, a.2_, a.3_.
func encode(all []pair, wabac bool) string {
	var out strings.Builder
	times, written := map[string]int{}, map[string]bool{}
	for _, p := range all {
		if wabac && p.value == "" || !wabac && p.name == "" {
			continue
		}
		name := p.name
		if written[name] {
			times[p.name] = max(times[p.name], 1) + 1
			name += "." + strconv.Itoa(times[p.name]) + "_"
		}
		written[name] = true
		if out.Len() > 0 {
			out.WriteByte('&')
		}
		out.WriteString(escape(name, wabac) + "=" + escape(p.value, wabac))
	}
	return out.String()
}

// escape is quote_plus of Python, or what URLSearchParams does.
func escape(s string, wabac bool) string {
	if s = url.QueryEscape(s); wabac {
		s = strings.NewReplacer("~", "%7E", "%2A", "*").Replace(s)
	}
	return s
}
