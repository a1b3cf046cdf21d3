package template

import (
	"slices"
	"strings"
)

// Bounds of a shape. What is longer belongs to the shape of its first folder.
const (
	shapeBytes  = 120
	shapeParams = 8  // of a query; more are left out
	longWord    = 20 // bytes from which on a word is taken for a value
	longPrefix  = 12 // of a word that ends in a number: item12
)

// Shape returns the shape of a URL within its host: what stands for a value is replaced by its kind.
//
//	/item/17              /item/<n>             numbers
//	/2024-05-03/a.html    /<date>/<word>.html   dates
//	/c/0a3f99e1           /c/<hex>              8 hexadecimal digits or more, with a letter and a number
//	/u/6ba7b810-9dad-…    /u/<uuid>
//	/forum/topic12        /forum/topic<n>       a word that ends in a number
//	/blog/on-crawling     /blog/<word>          the last segment of a path, and words that are long
//	/list?sort=up&p=2     /list?p=<n>&sort=<word>
//
// Short words within a path, before a query and in the uppermost folder, and "index", stay as they are: they are names
// of sections.
func Shape(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		at := strings.IndexByte(rest, '/')
		url = rest[max(at, 0):]
		if at < 0 {
			url = ""
		}
	}
	path, query, asks := strings.Cut(url, "?")
	b := make([]byte, 0, shapeBytes)
	segments := strings.Count(strings.TrimPrefix(path, "/"), "/") + 1
	for i, segment := range strings.SplitN(strings.TrimPrefix(path, "/"), "/", segments) {
		if len(b) > shapeBytes {
			break
		}
		b = append(b, '/')
		if i+1 < segments {
			b = append(b, kindOf(segment, false)...)
			continue
		}
		base, ending := cutEnding(segment)
		b = append(b, kindOf(base, segments > 1 && base != "index" && !asks)...)
		b = append(b, ending...)
	}
	if asks && len(b) <= shapeBytes {
		b = append(b, '?')
		b = append(b, params(query)...)
	}
	if len(b) > shapeBytes {
		return folder(string(b))
	}
	return string(b)
}

// folder returns the shape of all URLs whose shapes have the same first segment.
func folder(shape string) string {
	first, _, below := strings.Cut(shape[1:], "/")
	if !below || len(first)+3 > shapeBytes {
		return "/*"
	}
	return "/" + first + "/*"
}

// cutEnding splits the ending off the name of a file.
func cutEnding(name string) (base, ending string) {
	at := strings.LastIndexByte(name, '.')
	if at <= 0 || len(name)-at > 6 || len(name)-at < 2 || digits(name[at+1:]) == len(name)-at-1 {
		return name, ""
	}
	return name[:at], name[at:]
}

// params returns the shape of a query: its names in order, each with the kind of its value.
func params(query string) string {
	var all []string
	for query != "" && len(all) < shapeParams {
		var param string
		param, query, _ = strings.Cut(query, "&")
		name, value, has := strings.Cut(param, "=")
		name = kindOf(name, false)
		if has {
			name += "="
			if value != "" {
				name += kindOf(value, true)
			}
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "&")
}

// kindOf returns what stands in the shape for a word; valued: where a value is to be expected.
func kindOf(word string, valued bool) string {
	n := len(word)
	numbers := digits(word)
	switch {
	case n == 0:
		return word
	case numbers == n:
		return "<n>"
	case isDate(word):
		return "<date>"
	case n == 36 && word[8] == '-' && word[13] == '-' && word[18] == '-' && word[23] == '-' &&
		hexes(word) == 32:
		return "<uuid>"
	case n >= 8 && numbers > 0 && hexes(word) == n:
		return "<hex>"
	}
	prefix := strings.TrimRight(word, "0123456789")
	if cut := len(prefix); cut < n && cut <= longPrefix && digits(prefix) == 0 &&
		!strings.ContainsAny(strings.TrimRight(prefix, "-_"), "-_.,+%") {
		return prefix + "<n>"
	}
	if valued || n >= longWord || numbers > 0 || strings.IndexByte(word, '%') >= 0 ||
		strings.Count(word, "-")+strings.Count(word, "_") > 1 {
		return "<word>"
	}
	return word
}

// isDate reports a day or a month: 2024-05-03, 2024_05, 2024.05.03.
func isDate(word string) bool {
	if n := len(word); n != 7 && n != 10 || digits(word) != n-(n-4)/3 {
		return false
	}
	for i := 4; i < len(word); i += 3 {
		if strings.IndexByte("-_.", word[i]) < 0 {
			return false
		}
	}
	return word[0] == '1' || word[0] == '2'
}

// digits counts the digits of a word.
func digits(word string) (n int) {
	for i := range len(word) {
		if word[i] >= '0' && word[i] <= '9' {
			n++
		}
	}
	return n
}

// hexes counts the hexadecimal digits of a word.
func hexes(word string) (n int) {
	for i := range len(word) {
		if c := word[i] | 0x20; word[i] >= '0' && word[i] <= '9' || c >= 'a' && c <= 'f' {
			n++
		}
	}
	return n
}
