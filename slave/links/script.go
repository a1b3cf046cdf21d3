package links

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"henro/messages/outlink"
	"henro/slave/mediatype"
)

// ScanScript reads a script in UTF-8: the modules that it imports and the scripts that it runs by importScripts, as far
// as it names them by plain strings. Bare names of modules are left out: what they stand for is said by the import map
// of a page. Of a script that looks up its own address the pictures, styles and fonts are read that it names by plain
// strings: they lie beside it.
func (d *Document) ScanScript(js []byte, o Options) {
	d.reset(o)
	d.javaScript(js, false)
	for _, own := range ownAddress {
		if bytes.Contains(js, own) {
			d.beside(js)
			break
		}
	}
	d.finish()
}

// ownAddress are the ways in which a script looks up its own address.
var ownAddress = [][]byte{[]byte("import.meta.url"), []byte("currentScript"), []byte(`getAttribute("src")`),
	[]byte("getAttribute('src')")}

// maxBeside bounds the files that are taken to lie beside a script.
const maxBeside = 64

// beside takes the names of files out of the strings of a script.
func (d *Document) beside(js []byte) {
	r := jsReader{b: js, open: d.brackets[:0]}
	for found := 0; found < maxBeside; {
		token, value := r.next()
		if token == 0 {
			break
		}
		if token != '"' && token != '`' {
			continue
		}
		if kind, ok := fileKind(value); ok {
			d.add(value, kind, 0)
			found++
		}
	}
	d.brackets = r.open[:0]
}

// fileKind is the kind of a file that a browser loads to show a page, if a string is nothing but a relative path to
// one.
func fileKind(name []byte) (kind outlink.Kind, ok bool) {
	dot := bytes.LastIndexByte(name, '.')
	if dot < 1 || len(name) > 128 || name[0] == '/' {
		return 0, false
	}
	for _, c := range name {
		if !isAlnum(c) && !strings.ContainsRune("._-/", rune(c)) {
			return 0, false
		}
	}
	switch strings.ToLower(string(name[dot+1:])) {
	case "gif", "png", "jpg", "jpeg", "webp", "avif", "svg":
		return outlink.Image, isAlnum(name[dot-1])
	case "css":
		return outlink.Style, isAlnum(name[dot-1])
	case "woff", "woff2":
		return outlink.Font, isAlnum(name[dot-1])
	}
	return 0, false
}

// maxManifest bounds the bytes of a manifest: honest ones have a few kilobytes.
const maxManifest = 1 << 20

// ScanManifest reads a web app manifest: its icons and those of its shortcuts.
func (d *Document) ScanManifest(manifest []byte, o Options) {
	d.reset(o)
	type images []struct{ Src string }
	var m struct {
		Icons     images
		Shortcuts []struct{ Icons images }
	}
	if len(manifest) <= maxManifest && json.Unmarshal(manifest, &m) == nil {
		all := m.Icons
		for _, shortcut := range m.Shortcuts {
			all = append(all, shortcut.Icons...)
		}
		for _, image := range all {
			d.add(trim([]byte(image.Src)), outlink.Icon, 0)
		}
	}
	d.finish()
}

// scriptTypes are the types of scripts that browsers run.
const (
	classic   = iota
	module    // type=module
	importMap // type=importmap
	noScript  // any other type: the script is data
)

// scriptType reads the type of the script element at hand; what a browser that knows modules does not run is data.
func (d *Document) scriptType() int {
	if _, ok := d.attr("nomodule"); ok {
		return noScript
	}
	value, ok := d.attr("type")
	if value = trim(value); !ok || len(value) == 0 {
		return classic
	}
	switch {
	case is(value, "module"):
		return module
	case is(value, "importmap"):
		return importMap
	case mediatype.IsScript(string(value)):
		return classic
	}
	return noScript
}

// inline takes what a script within the page loads.
func (d *Document) inline(js []byte, kind int) {
	switch kind {
	case classic, module:
		if d.template == 0 {
			d.signs.handsOver(js)
		}
		d.javaScript(js, true)
	case importMap:
		d.importMap(js)
	}
}

// importMap reads an import map. All modules that it names are taken: which of them are imported is known only to those
// who read all scripts. Folders are kept for the names in the scripts of this page.
func (d *Document) importMap(b []byte) {
	b, _, _ = bytes.Cut(b, []byte("</")) // the end tag; in JSON it is written "<\/"
	var m struct {
		Imports map[string]any
		Scopes  map[string]map[string]any
	}
	if json.Unmarshal(b, &m) != nil {
		return
	}
	all := []map[string]any{m.Imports}
	for _, scope := range slices.Sorted(maps.Keys(m.Scopes)) {
		all = append(all, m.Scopes[scope])
	}
	for _, names := range all {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			switch address, _ := names[name].(string); {
			case !isAddress([]byte(address)):
			case strings.HasSuffix(name, "/"):
				if len(d.folders) < maxFolders {
					d.folders = append(d.folders, [2]string{name, address})
				}
			default:
				d.add([]byte(address), outlink.Script, 0)
			}
		}
	}
}

// maxFolders bounds the folders kept of the import maps of a page.
const maxFolders = 64

// isAddress reports whether the name of a module is a URL, and not one that an import map explains.
func isAddress(name []byte) bool {
	return slices.ContainsFunc([]string{"/", "./", "../", "http://", "https://"},
		func(prefix string) bool { return bytes.HasPrefix(name, []byte(prefix)) })
}

// moduleLink keeps what an import names.
func (d *Document) moduleLink(name []byte) {
	if isAddress(name) {
		d.add(name, outlink.Script, 0)
		return
	}
	for _, folder := range d.folders {
		if rest, ok := bytes.CutPrefix(name, []byte(folder[0])); ok {
			d.add(append([]byte(folder[1]), rest...), outlink.Script, 0)
			return
		}
	}
}

// What javaScript expects next.
const (
	nothing  = iota
	imported // after import
	exported // after export
	clause   // between import or export and from
	from     // after from: the name of a module
	call     // after importScripts and Worker: a parenthesis
	argument // of import, importScripts or Worker
	ended    // after a string that is an argument: it is the whole of it only before a comma or a parenthesis
	asks     // after fetch
)

// javaScript takes what the imports of a script name, and what it runs. inPage says that the script stands in the page:
// only there are the URLs of workers relative to what is known.
func (d *Document) javaScript(b []byte, inPage bool) {
	has := func(word string) bool { return bytes.Contains(b, []byte(word)) }
	if !has("import") && !has("from") && !(inPage && (has("Worker") || has("fetch") || has("XMLHttpRequest") ||
		has("WebSocket") || has("EventSource"))) {
		return
	}
	fetches := false // the script fetches more
	sockets, streams := 0, 0
	r := jsReader{b: b, open: d.brackets[:0]}
	behind := func(words string) bool { return bytes.HasSuffix(b[:r.i], []byte(words)) }
	state, modules := nothing, false // modules: the argument is the name of a module
	var pending []byte
	for {
		token, value := r.next()
		before := state
		state = nothing
		switch token {
		case 0:
			d.brackets = r.open[:0]
			if inPage && d.template == 0 && !d.noscript {
				d.signs.fetches = d.signs.fetches || fetches
				d.Sockets, d.Streams = d.Sockets+sockets, d.Streams+streams
			}
			return
		case 'w':
			switch word := string(value); {
			case before == imported || before == clause || before == from: // "import from from" names a from
				if state = clause; word == "from" {
					state = from
				}
			case word == "importScripts", inPage && (word == "Worker" || word == "SharedWorker"):
				state, modules = call, false
			case word == "fetch":
				state = asks
			case behind("new XMLHttpRequest"), behind("serviceWorker.register"):
				fetches = true
			case behind("new WebSocket"):
				sockets++
			case behind("new EventSource"):
				streams++
			case r.dotted:
			case word == "import":
				state = imported
			case word == "export":
				state = exported
			}
		case '"', '`':
			if bytes.IndexByte(value, '\\') >= 0 {
				value = unescapeJSON(value)
			}
			switch {
			case (before == imported || before == from) && token == '"':
				d.moduleLink(value)
			case before == argument:
				state, pending = ended, value
			case before == clause && r.within('{'): // import {"name" as x}
				state = clause
			}
		case '(':
			if before == imported {
				state, modules = argument, true
			} else if before == call {
				state = argument
			}
			fetches = fetches || before == asks
		case '{', '*', ',', '}':
			if before == imported || before == exported || before == clause || before == from {
				state = clause
			}
		}
		whole := token == ',' || token == ')'
		fetches = fetches || modules && (before == argument && state != ended || before == ended && !whole)
		if before == ended && whole {
			if modules {
				d.moduleLink(pending)
			} else if d.add(trim(pending), outlink.Script, 0); token == ',' {
				state = argument
			}
		}
	}
}

// jsReader reads the tokens of a script, so far as to tell code from comments, strings, templates and regular
// expressions.
type jsReader struct {
	b       []byte
	i       int
	open    []byte // brackets; those of "if (" and its kin are 'i', those of "${" are '$'
	operand bool   // the last token ends an operand, so that a slash divides
	dotted  bool   // the last word is a name after a dot
	head    bool   // the last token is the word before a condition, as in "if ("
	divides int    // no slash before this position begins a regular expression: the line would end in it
}

// maxBrackets bounds how deeply brackets of a script are followed; what comes after deeper ones is not read.
const maxBrackets = 4096

func (r *jsReader) within(bracket byte) bool {
	return len(r.open) > 0 && r.open[len(r.open)-1] == bracket
}

// push notes an open bracket; beyond maxBrackets the script ends.
func (r *jsReader) push(bracket byte) {
	if r.open = append(r.open, bracket); len(r.open) > maxBrackets {
		r.i = len(r.b)
	}
}

// next returns the next token: 'w' and a word, '"' or '`' and what stands in a string, '$' for a part of a template,
// 'r' for a regular expression, otherwise its first byte; 0 at the end.
func (r *jsReader) next() (token byte, value []byte) {
	r.skip()
	if r.i >= len(r.b) {
		return 0, nil
	}
	c, start := r.b[r.i], r.i
	if isWord(c) {
		for r.i < len(r.b) && isWord(r.b[r.i]) {
			r.i++
		}
		value = r.b[start:r.i]
		r.dotted = start > 0 && r.b[start-1] == '.' && !(start > 1 && r.b[start-2] == '.') // not of "...spread"
		r.head, r.operand = false, true
		if !r.dotted {
			r.head, r.operand = isCondition(value), !beforeOperand(value)
		}
		return 'w', value
	}
	head := r.head
	r.head = false
	r.i++
	switch c {
	case '"', '\'':
		value, whole := r.quoted(c)
		if r.operand = true; !whole {
			return '$', nil
		}
		return '"', value
	case '`':
		return r.template()
	case '/':
		if !r.operand && r.i >= r.divides {
			end, ok := regularExpression(r.b, r.i)
			if ok {
				r.i, r.operand = end, true
				return 'r', nil
			}
			r.divides = end
		}
		r.operand = false
	case '(', '[', '{':
		if r.operand = false; head && c == '(' {
			r.push('i')
		} else {
			r.push(c)
		}
	case ')', ']', '}':
		var bracket byte
		if n := len(r.open); n > 0 {
			bracket, r.open = r.open[n-1], r.open[:n-1]
		}
		if bracket == '$' && c == '}' {
			r.template()
			return '$', nil
		}
		r.operand = bracket != 'i' && c != '}'
	case '+', '-':
		if r.operand = r.i < len(r.b) && r.b[r.i] == c; r.operand { // x++ / y
			r.i++
		}
	default:
		r.operand = false
	}
	return c, nil
}

// skip passes over white space and comments.
func (r *jsReader) skip() {
	for r.i < len(r.b) {
		rest, n := r.b[r.i:], 1
		switch {
		case class[rest[0]]&space != 0:
		case bytes.HasPrefix(rest, []byte("//")):
			if n = bytes.IndexAny(rest, "\n\r"); n < 0 {
				n = len(rest)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			if n = bytes.Index(rest[2:], []byte("*/")) + 4; n < 4 {
				n = len(rest)
			}
		default:
			return
		}
		r.i += n
	}
}

// template reads a template, or goes on with one after a "}".
func (r *jsReader) template() (token byte, value []byte) {
	value, whole := r.quoted('`')
	if r.operand = whole; whole {
		return '`', value
	}
	if r.i < len(r.b) {
		r.push('$')
	}
	return '$', nil
}

// quoted reads up to the quote. A template ends before "${" too, and any other string at the end of its line; neither
// is whole then.
func (r *jsReader) quoted(quote byte) (value []byte, whole bool) {
	for start := r.i; r.i < len(r.b); r.i++ {
		switch c := r.b[r.i]; {
		case c == quote:
			r.i++
			return r.b[start : r.i-1], true
		case c == '\\':
			r.i++
		case quote == '`':
			if c == '$' && r.i+1 < len(r.b) && r.b[r.i+1] == '{' {
				r.i += 2
				return nil, false
			}
		case c == '\n' || c == '\r':
			return nil, false
		}
	}
	return nil, false
}

// regularExpression returns the position after a regular expression whose text begins at i; not ok is where the line
// ends before.
func regularExpression(b []byte, i int) (end int, ok bool) {
	set := false // within [ ], where a slash is a character
	for ; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '[':
			set = true
		case ']':
			set = false
		case '\n', '\r':
			return i, false
		case '/':
			if !set {
				return i + 1, true
			}
		}
	}
	return len(b), false
}

func isWord(c byte) bool { return isAlnum(c) || c == '_' || c == '$' || c == '#' || c >= 0x80 }

// beforeOperand reports whether an operand follows a word, so that a slash begins a regular expression.
func beforeOperand(word []byte) bool {
	switch string(word) {
	case "return", "typeof", "case", "do", "else", "in", "instanceof", "new", "void", "delete", "throw", "yield",
		"await", "of":
		return true
	}
	return false
}

// isCondition reports whether the parentheses after a word hold a condition, so that a statement follows them.
func isCondition(word []byte) bool {
	switch string(word) {
	case "if", "while", "for", "with":
		return true
	}
	return false
}

// unescapeJSON is a string without its escapes, of which JavaScript and JSON have the same.
func unescapeJSON(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		switch b[i] {
		case 'b', 'f', 'n', 'r', 't':
			out = append(out, ' ') // none has a place in an address
		case 'u':
			r, ok := hex4(b[i+1:])
			if !ok {
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) && i+2 < len(b) && b[i+1] == '\\' && b[i+2] == 'u' {
				if low, ok := hex4(b[i+3:]); ok {
					if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
						r = both
						i += 6
					}
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, b[i])
		}
	}
	return out
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
