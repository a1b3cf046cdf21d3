package charset

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const (
	noScripts = "scripts are not run"
	anywhere  = "browsers look for meta elements in the first 1,024 bytes, in the body too"
	anyAttr   = "browsers want http-equiv=content-type exactly"
	notMarkup = "\"< meta\" is no tag"
	noUTF32   = "browsers know no UTF-32"
	better    = "the page is not what Chromium takes it for; it shows garbage"
)

// suites lists the cases that are answered otherwise here, with the reason.
var suites = map[string]string{
	"html5lib_prescan:50": noScripts,

	"w3lib_html_body_declared_encoding:4":  notMarkup,
	"w3lib_html_body_declared_encoding:15": notMarkup,
	"w3lib_html_body_declared_encoding:8":  anywhere,
	"w3lib_html_body_declared_encoding:17": anywhere,
	"w3lib_html_body_declared_encoding:9":  anyAttr,
	"w3lib_html_body_declared_encoding:10": anyAttr,
	"w3lib_html_body_declared_encoding:18": anyAttr,
	"w3lib_html_to_unicode:14":             noUTF32,
	"w3lib_html_to_unicode:15":             noUTF32,

	// UTF-16 without a mark
	"chromium tr0840": better, "chromium tr0848": better, "chromium tr0896": better, "chromium tr0904": better,
	"chromium tr0918":  better, // ISO-2022-JP, undeclared
	"chromium cd0829":  better, // UTF-8, undeclared
	"chromium deb0201": better,
}

// check notes one case and fails if it differs without being listed, or is listed without differing.
func check(t *testing.T, key string, ok bool, what string) (agrees int) {
	switch _, listed := suites[key]; {
	case ok && listed:
		t.Errorf("%s is listed as a deviation but agrees", key)
	case !ok && !listed:
		t.Errorf("%s: %s", key, what)
	}
	if ok {
		return 1
	}
	return 0
}

// body is a string, or bytes in base 64, as w3lib's cases have them.
type body []byte

func (s *body) UnmarshalJSON(b []byte) error {
	var raw struct{ B64 *string }
	if json.Unmarshal(b, &raw) == nil && raw.B64 != nil {
		var err error
		*s, err = base64.StdEncoding.DecodeString(*raw.B64)
		return err
	}
	var text *string
	err := json.Unmarshal(b, &text)
	if text != nil {
		*s = body(*text)
	}
	return err
}

// python maps Python's names of encodings.
func python(name any) string {
	s, _ := name.(string)
	s = strings.Replace(s, "utf-16-", "utf-16", 1)
	s = strings.Replace(s, "iso8859-", "iso-8859-", 1)
	s = map[string]string{"big5hkscs": "big5", "gb18030": "gbk", "ascii": Default}[s] +
		strings.NewReplacer("big5hkscs", "", "gb18030", "", "ascii", "").Replace(s)
	known, _ := Lookup(s)
	return known
}

func TestHTML5LibCases(t *testing.T) {
	type prescanned struct {
		HTML, Encoding string
		B64            []byte `json:"html_b64"`
	}
	agree, cases := 0, readCases[prescanned](t, "html5lib_prescan.jsonl")
	for i, c := range cases {
		if c.HTML == "" {
			c.HTML = string(c.B64)
		}
		got, _ := Detect("", []byte(c.HTML))
		agree += check(t, fmt.Sprintf("html5lib_prescan:%d", i+1), strings.EqualFold(got, c.Encoding),
			fmt.Sprintf("%q: %s, want %s", c.HTML[:min(len(c.HTML), 400)], got, c.Encoding))
	}
	t.Logf("%d of %d agree", agree, len(cases))
}

func TestW3libCases(t *testing.T) {
	type w3lib struct {
		Args   []body
		Result any
	}
	agree, all := 0, 0
	for _, suite := range []struct {
		name   string
		answer func(c w3lib) (got, want string)
	}{
		{"w3lib_html_body_declared_encoding", func(c w3lib) (string, string) {
			return prescan(c.Args[0]),
				python(c.Result)
		}},
		{"w3lib_http_content_type_encoding", func(c w3lib) (string, string) {
			name, _ := Lookup(Parameter(string(c.Args[0])))
			return name, python(c.Result)
		}},
		{"w3lib_read_bom", func(c w3lib) (string, string) {
			return byteOrderMark(c.Args[0]),
				python(c.Result.([]any)[0])
		}},
		{"w3lib_resolve_encoding", func(c w3lib) (string, string) {
			name, _ := Lookup(string(c.Args[0]))
			return name, python(c.Result)
		}},
		{"w3lib_html_to_unicode", func(c w3lib) (string, string) {
			name, _ := Detect(string(c.Args[0]), c.Args[1])
			text, err := Decode(c.Args[1], name)
			if err != nil {
				t.Error(err)
			}
			return string(text), c.Result.([]any)[1].(string)
		}},
	} {
		for i, c := range readCases[w3lib](t, suite.name+".jsonl") {
			all++
			got, want := suite.answer(c)
			agree += check(t, fmt.Sprintf("%s:%d", suite.name, i+1), got == want,
				fmt.Sprintf("%q: %q, want %q", c.Args, got, want))
		}
	}
	t.Logf("%d of %d agree", agree, all)
}

func TestSameAsChromium(t *testing.T) {
	type page struct {
		ID          string
		ContentType string `json:"content_type"`
		Body        []byte `json:"body_b64"`
		Expect      struct{ CharacterSet, Title string }
	}
	agree, cases := 0, readCases[page](t, "links/chromium_pages.jsonl.gz")
	for _, c := range cases {
		got, _ := Detect(c.ContentType, c.Body)
		agree += check(t, "chromium "+c.ID, strings.EqualFold(got, c.Expect.CharacterSet),
			got+", want "+c.Expect.CharacterSet)
	}
	t.Logf("%d of %d agree", agree, len(cases))
	if 100*agree < 98*len(cases) {
		t.Errorf("only %d of %d agree", agree, len(cases))
	}
}

// Real pages are decoded to the right text, as they are and with their declarations ignored.
func TestRealPages(t *testing.T) {
	type real struct {
		Name, Encoding string
		Bytes          []byte `json:"bytes_b64"`
	}
	names := map[string]string{"SHIFT_JIS": "shift_jis", "utf-8-sig": "utf-8"}
	agree, guessed, all := 0, 0, 0
	for _, c := range readCases[real](t, "charset/chardet_real_pages.jsonl.gz") {
		label, ok := names[c.Encoding]
		if !ok {
			label = c.Encoding
		}
		if _, ok := Lookup(label); !ok {
			continue // IBM855 and Johab: no browser knows them
		}
		all++
		name, _ := Detect("", c.Bytes)
		agree += check(t, "real "+c.Name, sameText(t, c.Bytes, name, label), name+", want "+label)
		if sameText(t, c.Bytes, guess(c.Bytes), label) {
			guessed++
		} else if byteOrderMark(c.Bytes) == "" {
			t.Logf("%s: guessed %s, is %s", c.Name, guess(c.Bytes), label)
		}
	}
	t.Logf("%d of %d pages are right, %d by looks alone", agree, all, guessed)
	if 100*agree < 98*all || 100*guessed < 98*all {
		t.Errorf("only %d of %d pages are right, %d by looks alone", agree, all, guessed)
	}
}

func sameText(t *testing.T, b []byte, one, other string) bool {
	x, err := Decode(b, one)
	if err != nil {
		t.Error(err)
	}
	y, err := Decode(b, other)
	if err != nil {
		t.Error(err)
	}
	return string(x) == string(y)
}
