package replay

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"

	"henro/cmd/replay/origin"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/slave/charset"
	"henro/slave/links"
)

const (
	// Bytes, where nothing else is said. What is beyond a bound passes as it is.
	maxToken  = 8 << 20   // a tag or script; a longer one ends the rewriting of the page
	maxWide   = 4 << 20   // decoded at once of a page that isWide; the rest is decoded as it comes
	maxValue  = 256 << 10 // an attribute or reference; no URL is longer, data may be
	maxGrown  = 1 << 20   // what an attribute becomes
	maxTag    = 4 << 20   // what a tag becomes
	maxInner  = 1 << 20   // a page within noscript
	peekBytes = 16 << 10  // the beginning of a page, in which its encoding is looked for
	maxAttrs  = 256       // attributes of a tag
	maxNested = 4         // levels of pages within attributes and noscript
)

// rewriter leads the links of one page back into the archive. It changes the bytes of URLs, of a few attributes that
// would keep the page from being shown in a frame, and nothing else.
type rewriter struct {
	lead     func(href string) (string, bool) // to where a URL is shown
	base     string                           // of the page's links
	encoding string                           // its name
	enc      encoding.Encoding
	xml      bool
	based    bool   // a base element was seen
	insert   string // put before what may run: before <head>, comments and that tag's attributes would go astray
	inner    string // what insert is for pages in the srcdoc of a frame
	nested   int    // within so many other pages
}

// link returns the place of a reference in the archive, or false for what needs none: what is relative finds its way
// by itself, since every captured origin has one of its own.
func (w *rewriter) link(ref string) (string, bool) {
	if ref = strings.TrimSpace(ref); !absolute.MatchString(ref) {
		return "", false
	}
	href, err := weburl.HrefIn(ref, w.base, w.enc)
	if err != nil || strings.Contains(href, origin.Under) {
		return "", false
	}
	return w.lead(href)
}

// absolute is how references begin that name another origin, or may.
var absolute = regexp.MustCompile(`(?i)^(https?:|[/\\][\t\r\n]*[/\\])`)

// page copies a page, rewritten.
func (w *rewriter) page(out *bufio.Writer, in io.Reader) error {
	z := html.NewTokenizer(in)
	z.SetMaxBuf(maxToken)
	taken := func(int) {}
	if m, ok := in.(*metered); ok {
		taken = m.taken
	}
	begin := func() { out.WriteString(w.insert); w.insert = "" }
	inStyle, inNoscript := false, false
	for {
		kind := z.Next()
		raw := z.Raw()
		taken(len(raw))
		switch kind {
		case html.ErrorToken:
			out.Write(raw)
			if z.Err() == io.EOF {
				begin()
				return nil
			}
			if z.Err() != html.ErrBufferExceeded {
				return z.Err()
			}
			out.Write(z.Buffered())
			_, err := io.Copy(out, in)
			return err
		case html.StartTagToken, html.SelfClosingTagToken:
			if w.xml && kind == html.SelfClosingTagToken {
				z.NextIsNotRawText()
			}
			raw = bytes.Clone(raw)
			name, _ := z.TagName()
			tag := string(name)
			inStyle, inNoscript = tag == "style", tag == "noscript"
			if w.nested > 0 || tag != "html" && tag != "head" {
				begin()
			}
			out.Write(w.tag(tag, raw))
		case html.TextToken:
			switch {
			case inStyle:
				w.sheet(out, raw)
			case inNoscript && w.nested < maxNested && len(raw) <= maxInner:
				if err := w.within().page(out, bytes.NewReader(bytes.Clone(raw))); err != nil {
					return err
				}
			default:
				out.Write(raw)
			}
		default:
			inStyle, inNoscript = false, false
			out.Write(raw)
		}
	}
}

// within returns a rewriter of a page in this one.
func (w *rewriter) within() *rewriter {
	inner := *w
	inner.nested++
	return &inner
}

// attribute is one attribute of a tag, as positions in it.
type attribute struct {
	name, nameEnd   int
	value, valueEnd int // 0, 0: it has none
	quote           byte
}

// attributes finds the attributes of a whole tag, as the tokenizer of the HTML Standard does.
func attributes(raw []byte) (all []attribute) {
	blank := func(c byte) bool { return strings.IndexByte(" \t\r\n\f", c) >= 0 }
	i := 1
	for i < len(raw) && !blank(raw[i]) && raw[i] != '/' && raw[i] != '>' {
		i++
	}
	for {
		for i < len(raw) && (blank(raw[i]) || raw[i] == '/') {
			i++
		}
		if i >= len(raw) || raw[i] == '>' || len(all) == maxAttrs {
			return all
		}
		a := attribute{name: i}
		for i++; i < len(raw) && !blank(raw[i]) && raw[i] != '/' && raw[i] != '>' && raw[i] != '='; i++ {
		}
		a.nameEnd = i
		for i < len(raw) && blank(raw[i]) {
			i++
		}
		if i < len(raw) && raw[i] == '=' {
			for i++; i < len(raw) && blank(raw[i]); i++ {
			}
			switch {
			case i >= len(raw) || raw[i] == '>':
			case raw[i] == '"' || raw[i] == '\'':
				a.quote = raw[i]
				end := bytes.IndexByte(raw[i+1:], a.quote)
				if end < 0 {
					return all
				}
				a.value, a.valueEnd = i+1, i+1+end
				i = a.valueEnd + 1
			default:
				a.value = i
				for i < len(raw) && !blank(raw[i]) && raw[i] != '>' {
					i++
				}
				a.valueEnd = i
			}
		}
		all = append(all, a)
	}
}

// tag rewrites one tag.
func (w *rewriter) tag(tag string, raw []byte) []byte {
	all := attributes(raw)
	value := func(a attribute) string {
		if a.valueEnd-a.value > maxValue {
			return ""
		}
		return w.text(raw[a.value:a.valueEnd])
	}
	named := func(name string) string {
		for _, a := range all {
			if strings.EqualFold(string(raw[a.name:a.nameEnd]), name) {
				return value(a)
			}
		}
		return ""
	}
	var out []byte
	done := 0 // bytes of raw copied
	put := func(a attribute, s string) {
		out = append(out, raw[done:a.value]...)
		if a.quote == 0 {
			out = append(out, '"')
		}
		out = escape(out, s)
		if a.quote == 0 {
			out = append(out, '"')
		}
		done = a.valueEnd
	}
	rename := func(a attribute) {
		out = append(append(append(out, raw[done:a.name]...), "data-henro-"...), raw[a.name:a.nameEnd]...)
		done = a.nameEnd
	}
	for _, a := range all {
		name := strings.ToLower(string(raw[a.name:a.nameEnd]))
		switch name {
		case "integrity", "nonce", "ping", "csp", "attributionsrc": // the bytes have changed; nobody else is told
			rename(a)
			continue
		}
		if a.valueEnd == a.value || a.valueEnd-a.value > maxValue || len(out) > maxTag {
			continue
		}
		switch name {
		case "href", "xlink:href", "src", "action", "formaction", "poster", "data", "background", "manifest", "lowsrc",
			"longdesc":
			if tag == "base" && name == "href" && !w.based {
				if href, err := weburl.HrefIn(strings.TrimSpace(value(a)), w.base, w.enc); err == nil {
					defer func() { w.base, w.based = href, true }()
				}
			}
			if tag == "object" && name == "data" || name != "data" {
				if to, ok := w.link(value(a)); ok {
					put(a, to)
				}
			}
		case "srcset", "imagesrcset":
			put(a, w.srcset(value(a)))
		case "style":
			if style := raw[a.value:a.valueEnd]; bytes.ContainsRune(style, '(') {
				var b strings.Builder
				w.sheet(&short{Writer: &b, left: maxGrown}, []byte(value(a)))
				if b.Len() < maxGrown {
					put(a, b.String())
				}
			}
		case "srcdoc":
			var b bytes.Buffer
			buffered := bufio.NewWriter(&short{Writer: &b, left: maxGrown})
			inner := w.within()
			inner.insert = w.inner
			if w.nested < maxNested && inner.page(buffered, strings.NewReader(value(a))) == nil &&
				buffered.Flush() == nil {
				put(a, b.String())
			}
		case "target":
			put(a, "_self") // there is no other window
		case "content":
			switch strings.ToLower(strings.TrimSpace(named("http-equiv"))) {
			case "refresh":
				if m := refresh.FindStringSubmatchIndex(value(a)); m != nil {
					v := value(a)
					if to, ok := w.link(v[m[2]:m[3]]); ok {
						put(a, v[:m[2]]+to+v[m[3]:])
					}
				}
			case "content-security-policy", "content-security-policy-report-only", "x-dns-prefetch-control":
				rename(a)
			}
		}
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

var refresh = regexp.MustCompile(`(?i)^[^;,]*[;,]\s*(?:url\s*=\s*)?['"]?([^'"]+)`)

// escape writes text for between quotes of either kind. What is not ASCII becomes a numeric reference, which every
// encoding can write.
func escape(dst []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '&':
			dst = append(dst, "&amp;"...)
		case r == '<':
			dst = append(dst, "&lt;"...)
		case r == '"' || r == '\'' || r >= 0x80:
			dst = append(strconv.AppendInt(append(dst, "&#"...), int64(r), 10), ';')
		default:
			dst = append(dst, byte(r))
		}
	}
	return dst
}

// text is the value of an attribute, decoded, with its entities resolved.
func (w *rewriter) text(raw []byte) string {
	decoded, err := charset.Decode(raw, w.encoding)
	if err != nil {
		decoded = raw
	}
	return html.UnescapeString(string(decoded))
}

// srcset rewrites a list of pictures: URLs, each with a width or density behind it, divided by commas.
func (w *rewriter) srcset(list string) string {
	var b strings.Builder
	for list != "" {
		rest := strings.TrimLeft(list, " \t\r\n\f,")
		b.WriteString(list[:len(list)-len(rest)])
		url := rest
		if i := strings.IndexAny(rest, " \t\r\n\f"); i >= 0 {
			url = rest[:i]
		}
		bare := strings.TrimRight(url, ",")
		if to, ok := w.link(bare); ok && b.Len() < maxGrown {
			b.WriteString(to)
		} else {
			b.WriteString(bare)
		}
		b.WriteString(url[len(bare):])
		list = rest[len(url):]
		if bare == url { // its descriptor ends at the next comma outside of parentheses
			end, depth := len(list), 0
			for i := range len(list) {
				if list[i] == '(' {
					depth++
				} else if list[i] == ')' {
					depth--
				} else if list[i] == ',' && depth <= 0 {
					end = i
					break
				}
			}
			b.WriteString(list[:end])
			list = list[end:]
		}
	}
	return b.String()
}

// sheet writes a style sheet, rewritten. An error stays with out, which is asked for it in the end.
func (w *rewriter) sheet(out io.Writer, sheet []byte) {
	done := 0
	links.References(sheet, func(raw []byte, _ outlink.Kind) {
		if len(raw) == 0 || len(raw) > maxValue {
			return
		}
		decoded, err := charset.Decode(links.UnescapeCSS(raw), w.encoding)
		if err != nil {
			return
		}
		if to, ok := w.link(string(decoded)); ok {
			start := cap(sheet) - cap(raw) // both end where their array ends
			out.Write(sheet[done:start])
			io.WriteString(out, cssEscaper.Replace(to))
			done = start + len(raw)
		}
	})
	out.Write(sheet[done:])
}

var cssEscaper = strings.NewReplacer(`"`, "%22", "'", "%27", "(", "%28", ")", "%29", `\`, "%5C", " ", "%20")
