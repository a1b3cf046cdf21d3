package weburl

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

var update = flag.Bool("update", false, "rewrite testdata/deviations.jsonl, keeping the reasons given")

// deviation is a case of a foreign suite that this package answers otherwise, on purpose.
type deviation struct {
	Suite  string `json:"suite"`
	Case   string `json:"case"`
	Got    string `json:"got"`
	Want   string `json:"want"`
	Reason string `json:"reason"`
}

func readLines[T any](t testing.TB, name string) (all []T) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var one T
		if err := json.Unmarshal(in.Bytes(), &one); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, one)
	}
	return all
}

// suite is one file of cases; answers gives for each its name, our answer and the one expected.
type suite struct {
	name  string
	cases func(t *testing.T) []deviation
	least float64 // share of the cases that must agree
}

const failure = "failure"

func orFailure(s string, err error) string {
	if err != nil {
		return failure
	}
	return s
}

var suites = []suite{
	{"whatwg_parse", whatwgCases, 0.99},
	{"rfc3986_5_4", resolveCases("rfc3986_5_4.jsonl"), 0.9},
	{"resolve_crawler_commons", resolveCases("resolve_crawler_commons.jsonl"), 0.9},
	{"idna_toascii", idnaCases, 0.98},
	{"percent_encoding_by_charset", charsetCases, 1},
	{"psl", pslCases, 0.99},
	{"wayback_surt_key", surtCases, 0.7},
	{"ia_canonicalize", iaCases, 0.5},
	{"crawler_commons_normalize", crawlerCommonsCases, 0.7},
	{"w3lib_canonicalize_url", w3libCanonicalCases, 0.7},
	{"w3lib_safe_url_string", w3libSafeCases, 0.5},
}

// Every case of every suite is answered as the suite has it, or as deviations.jsonl says, with a reason; an entry there
// that is no deviation any more is an error too.
func TestForeignSuites(t *testing.T) {
	var now []deviation
	known := map[[2]string]deviation{}
	for _, d := range readLines[deviation](t, "deviations.jsonl") {
		known[[2]string{d.Suite, d.Case}] = d
	}
	for _, s := range suites {
		cases := s.cases(t)
		agree := 0
		for _, c := range cases {
			c.Suite = s.name
			key := [2]string{c.Suite, c.Case}
			if c.Got == c.Want {
				agree++
				continue
			}
			c.Reason = known[key].Reason
			now = append(now, c)
			if *update {
				continue
			}
			if k, ok := known[key]; !ok {
				t.Errorf("%s: %s\n  got  %q\n  want %q", s.name, c.Case, c.Got, c.Want)
			} else if k != c {
				t.Errorf("%s: %s deviates otherwise than listed\n  got    %q\n  listed %q", s.name, c.Case, c.Got,
					k.Got)
			} else if k.Reason == "" {
				t.Errorf("%s: %s deviates without a reason: got %q want %q", s.name, c.Case, c.Got, c.Want)
			}
			delete(known, key)
		}
		t.Logf("%-28s %4d of %4d agree", s.name, agree, len(cases))
		if len(cases) == 0 || float64(agree)/float64(len(cases)) < s.least {
			t.Errorf("%s: only %d of %d agree", s.name, agree, len(cases))
		}
	}
	if *update {
		writeDeviations(t, now)
		return
	}
	for key := range known {
		t.Errorf("%s: %s is listed but does not deviate", key[0], key[1])
	}
}

func writeDeviations(t *testing.T, all []deviation) {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	for _, d := range all {
		if err := e.Encode(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("testdata/deviations.jsonl", []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// name makes a case's name of its parts, kept short.
func name(parts ...string) string {
	s := strings.Join(parts, " | ")
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

func web(url string) bool {
	url = strings.ToLower(strings.TrimLeft(url, "\x00\x01\x02\x03\x1f \t\n"))
	return strings.HasPrefix(url, "http:") || strings.HasPrefix(url, "https:")
}

// foreign reports whether a URL has a scheme that is not ours; such cases are left out.
func foreign(url string) bool {
	scheme, _ := splitScheme(strings.TrimSpace(url))
	return scheme != "" && !web(url)
}

// whatwgCases are those whose answer is an http or https URL, or a failure to become one.
func whatwgCases(t *testing.T) (cases []deviation) {
	type urlTest struct {
		Input   string
		Base    *string
		Href    string
		Failure bool
	}
	for _, c := range readLines[urlTest](t, "whatwg_parse.jsonl") {
		base, want := "", c.Href
		if c.Base != nil {
			base = *c.Base
		}
		if c.Failure {
			want = failure
		}
		if c.Failure && !web(c.Input) && !web(base) || !c.Failure && !web(c.Href) {
			continue
		}
		if base != "" && !web(base) {
			base = ""
		}
		got := orFailure(Href(c.Input, base))
		cases = append(cases, deviation{Case: name(c.Input, base), Got: got, Want: want})
	}
	return cases
}

// slashed gives a URL its path; many suites leave an empty path empty, where a request needs a slash.
func slashed(url string) string {
	i := strings.Index(url, "://")
	if i < 0 {
		return url
	}
	host := url[i+3:]
	if j := strings.IndexAny(host, "/?#"); j < 0 {
		return url + "/"
	} else if host[j] != '/' {
		return url[:i+3+j] + "/" + url[i+3+j:]
	}
	return url
}

func resolveCases(file string) func(t *testing.T) []deviation {
	return func(t *testing.T) (cases []deviation) {
		type refTest struct{ Ref, Base, Expected string }
		for _, c := range readLines[refTest](t, file) {
			if c.Base != "" && !web(c.Base) {
				continue
			}
			cases = append(cases, deviation{Case: name(c.Ref, c.Base), Got: orFailure(Href(c.Ref, c.Base)),
				Want: slashed(c.Expected)})
		}
		return cases
	}
}

func idnaCases(t *testing.T) (cases []deviation) {
	type idnaTest struct {
		Input  string
		Output *string
	}
	for _, c := range readLines[idnaTest](t, "idna_toascii.jsonl") {
		got, want := orFailure(Href("https://"+c.Input+"/x", "")), failure
		if c.Output != nil {
			want = "https://" + *c.Output + "/x"
		}
		cases = append(cases, deviation{Case: name(c.Input), Got: got, Want: want})
	}
	return cases
}

func encodingOf(t testing.TB, label string) encoding.Encoding {
	enc, err := htmlindex.Get(label)
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

func charsetCases(t *testing.T) (cases []deviation) {
	type charsetTest struct {
		Input  string
		Output map[string]string
	}
	for _, c := range readLines[charsetTest](t, "percent_encoding_by_charset.jsonl") {
		for label, want := range c.Output {
			got := orFailure(HrefIn("?"+c.Input, "http://a/", encodingOf(t, label)))
			cases = append(cases, deviation{Case: name(c.Input, label), Got: got, Want: "http://a/?" + want})
		}
	}
	return cases
}

func pslCases(t *testing.T) (cases []deviation) {
	type pslTest struct {
		Domain      string
		Registrable *string
	}
	for _, c := range readLines[pslTest](t, "psl.jsonl") {
		ascii := func(s string) string { // the suite wants Unicode names too; ours are ASCII
			out, err := unusualHost(s)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		want := failure
		if c.Registrable != nil {
			want = ascii(*c.Registrable)
		}
		got, ok := RegistrableDomain(ascii(c.Domain))
		if !ok {
			got = failure
		}
		cases = append(cases, deviation{Case: name(c.Domain), Got: got, Want: want})
	}
	return cases
}

func surtCases(t *testing.T) (cases []deviation) {
	type surtTest struct{ Input, Expected string }
	for _, c := range readLines[surtTest](t, "wayback_surt_key.jsonl") {
		if c.Input != "" && !web(c.Input) {
			continue
		}
		u, err := Parse(c.Input)
		got := u.IndexKey()
		if err != nil && c.Input != "" {
			got = failure
		}
		cases = append(cases, deviation{Case: name(c.Input), Got: got, Want: c.Expected})
	}
	return cases
}

func iaCases(t *testing.T) (cases []deviation) {
	type iaTest struct{ Input, Expected, Canonicalizer string }
	for _, c := range readLines[iaTest](t, "ia_canonicalize.jsonl") {
		var got string
		switch {
		case c.Canonicalizer == "alphaReorderQuery":
			got = sortQuery(c.Input)
		case c.Canonicalizer == "massageHost":
			got = trimWWW(c.Input)
		case foreign(c.Input):
			continue
		case strings.Contains(c.Input, "://") && strings.Contains(c.Canonicalizer, "IA"):
			u, err := Parse(c.Input)
			got = orFailure(unreverse(u), err)
		case strings.HasPrefix(c.Input, "/"):
			path, query, found := strings.Cut(c.Input, "?")
			if got = stripPathSession(path); found {
				got += "?" + stripQuerySession(query)
			}
		case strings.HasPrefix(c.Input, "?"):
			got = "?" + stripQuerySession(strings.ToLower(c.Input[1:]))
		default:
			u, err := ParseTyped(c.Input)
			got = orFailure(u.String(), err)
		}
		cases = append(cases, deviation{Case: name(c.Canonicalizer, c.Input), Got: got, Want: c.Expected})
	}
	return cases
}

// unreverse turns an index key back into a URL of the scheme it came from.
func unreverse(u URL) string {
	host, path, _ := strings.Cut(u.IndexKey(), ")")
	host, port, found := strings.Cut(host, ":")
	labels := strings.Split(host, ",")
	slices.Reverse(labels)
	host = strings.Join(labels, ".")
	if found {
		host += ":" + port
	}
	return u.Scheme() + "://" + host + path
}

// sortedQuery is a URL with its parameters in order, without empty ones and those of these names, as others have it.
func sortedQuery(url string, without ...string) string {
	path, query, _ := strings.Cut(url, "?")
	query = sortQuery(strings.Join(slices.DeleteFunc(strings.Split(query, "&"), func(parameter string) bool {
		name, _, _ := strings.Cut(parameter, "=")
		return name == "" || slices.ContainsFunc(without, func(w string) bool { return strings.EqualFold(w, name) })
	}), "&"))
	if query == "" {
		return path
	}
	return path + "?" + query
}

func crawlerCommonsCases(t *testing.T) (cases []deviation) {
	type normalizeTest struct {
		Input    string
		Expected *string
		Config   string
	}
	for _, c := range readLines[normalizeTest](t, "crawler_commons_normalize.jsonl") {
		want := failure
		if c.Expected != nil {
			want = *c.Expected
		}
		list, _, _ := strings.Cut(strings.TrimPrefix(c.Config, "remove=["), "]")
		if foreign(c.Input) {
			continue
		}
		u, err := ParseTyped(c.Input)
		got := orFailure(sortedQuery(u.String(), strings.Split(list, ", ")...), err)
		cases = append(cases, deviation{Case: name(c.Input, c.Config), Got: got, Want: want})
	}
	return cases
}

const page = "http://host/"

// w3lib writes a string, or its bytes in base 64.
func argument(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var bytes struct{ B64 string }
	if json.Unmarshal(raw, &bytes) == nil {
		b, _ := base64.StdEncoding.DecodeString(bytes.B64)
		return string(b)
	}
	return string(raw)
}

type w3libTest struct {
	Args   []json.RawMessage
	Kwargs map[string]any
	Result string
}

func (c w3libTest) name() string {
	var s strings.Builder
	for i, a := range c.Args {
		if i > 0 {
			s.WriteString(" ")
		}
		if strings.HasPrefix(string(a), `{"b64"`) {
			s.WriteString("bytes ")
		}
		s.WriteString(argument(a))
	}
	b, _ := json.Marshal(c.Kwargs)
	return name(s.String(), string(b))
}

func (c w3libTest) encoding(t testing.TB) encoding.Encoding {
	label, ok := c.Kwargs["encoding"].(string)
	if !ok {
		return nil
	}
	if web, ok := map[string]string{"iso2022jp": "iso-2022-jp", "latin-1": "latin1",
		"cp1251": "windows-1251"}[label]; ok {
		label = web
	}
	return encodingOf(t, label)
}

func w3libCanonicalCases(t *testing.T) (cases []deviation) {
	for _, c := range readLines[w3libTest](t, "w3lib_canonicalize_url.jsonl") {
		url, want := argument(c.Args[0]), c.Result
		var split []string // as Python's urlsplit gives them: scheme, host, path, parameters, query, fragment
		if json.Unmarshal(c.Args[0], &split) == nil {
			url = split[0] + "://" + split[1] + split[2] + "?" + split[4]
		}
		if !web(url) {
			want = page + strings.TrimPrefix(want, "/")
		}
		u, err := MustParse(page).ResolveIn(url, c.encoding(t))
		got := orFailure(sortedQuery(u.String()), err)
		cases = append(cases, deviation{Case: c.name(), Got: got, Want: want})
	}
	return cases
}

func w3libSafeCases(t *testing.T) (cases []deviation) {
	for _, c := range readLines[w3libTest](t, "w3lib_safe_url_string.jsonl") {
		url, want := argument(c.Args[0]), slashed(c.Result)
		if foreign(url) {
			continue
		}
		if !web(want) {
			want = page + strings.TrimPrefix(want, "/")
		}
		got := orFailure(HrefIn(url, page, c.encoding(t)))
		cases = append(cases, deviation{Case: c.name(), Got: got, Want: want})
	}
	return cases
}
