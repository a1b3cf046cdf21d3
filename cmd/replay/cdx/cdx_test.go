package cdx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/store/archive/cdxj"
)

// An index as others wrote it (with blanks in the objects) and as we do: hosts beside each other, revisits, a POST, a
// field of somebody else's, and what is damaged.
const index = `com,example)/ 20140103030321 {"url": "http://example.com/", "mime": "text/html", "status": "200", ` +
	`"digest": "AAAA", "length": "1043", "offset": "333", "filename": "a.warc.gz"}
com,example)/ 20140127171200 {"url":"http://example.com/","mime":"warc/revisit","digest":"AAAA","length":"553",` +
	`"offset":"1864","filename":"a.warc.gz"}
com,example)/ 20150101000000 {"url":"http://example.com/","mime":"text/html","status":"404","digest":"BBBB",` +
	`"length":"400","offset":"9000","filename":"b.warc.gz"}
com,example)/ 20150101000000 {"url":"https://example.com/","mime":"text/html","status":"200","digest":"CCCC",` +
	`"length":"401","offset":"9900","filename":"b.warc.gz","languages":["eng"]}
com,example)/a 20160000000000 {"not an entry
com,example)/a.php 20150601000000 {"url":"http://example.com/a.php","mime":"text/html","status":"200",` +
	`"digest":"DDDD","length":"1","offset":"2","filename":"b.warc.gz"}
com,example)/form?__wb_method=post&q=1 20150602000000 {"url":"http://example.com/form","mime":"application/json",` +
	`"status":"200","digest":"EEEE","offset":"3","filename":"b.warc.gz","method":"POST","requestBody":"q=1"}
com,example)/path/x 20150603000000 {"url":"http://example.com/path/x","mime":"text/css","status":"200",` +
	`"digest":"FFFF","offset":"4","filename":"b.warc.gz"}
com,example)/pathology 20150604000000 {"url":"http://example.com/pathology","mime":"text/plain","status":"301",` +
	`"digest":"GGGG","offset":"5","filename":"b.warc.gz"}
com,example,sub)/ 20150605000000 {"url":"http://sub.example.com/","mime":"image/png","status":"200",` +
	`"digest":"HHHH","offset":"6","filename":"b.warc.gz"}
com,example-shop)/ 20150606000000 {"url":"http://example-shop.com/","mime":"text/html","status":"200",` +
	`"digest":"IIII","offset":"7","filename":"b.warc.gz"}
org,iana)/a_b 20150607000000 {"url":"http://iana.org/a\nb c","mime":"text/html","offset":"8","filename":"b.warc.gz"}
`

func over(text string) Lines {
	return func(from string, visit func([]byte) bool) error {
		for line := range strings.Lines(text) {
			if line >= from && !visit([]byte(line)) {
				break
			}
		}
		return nil
	}
}

func ask(t *testing.T, target string, lines Lines) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	if err := Answer(w, httptest.NewRequest(http.MethodGet, target, nil), lines); err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return w
}

// Each query of the documents of pywb and OutbackCDX, on lines of ours.
func TestQueriesAreAnsweredAsTheirDocumentsHaveIt(t *testing.T) {
	const ts = "&fl=timestamp&output=text"
	for _, c := range []struct{ query, want string }{
		// pywb: url, matchType, and the wildcards that stand for it
		{"/cdx?url=example.com" + ts, "20140103030321 20140127171200 20150101000000 20150101000000"},
		{"/web/cdx?url=http://www.EXAMPLE.com/" + ts, "20140103030321 20140127171200 20150101000000 20150101000000"},
		{"/cdx?url=example.com/none" + ts, ""},
		{"/cdx?url=http://example.com/path/*" + ts, "20150603000000"},
		{"/cdx?url=http://example.com/path/&matchType=prefix" + ts, "20150603000000"},
		{"/cdx?url=http://example.com/path*" + ts, "20150603000000 20150604000000"},
		{"/cdx?url=example.com/form?*" + ts, "20150602000000"},
		{"/cdx?url=http://example.com/any&matchType=host&from=201506" + ts,
			"20150601000000 20150602000000 20150603000000 20150604000000"},
		{"/cdx?url=*.example.com&from=201506" + ts,
			"20150601000000 20150602000000 20150603000000 20150604000000 20150605000000"},
		{"/cdx?url=com&matchType=domain&from=201506&limit=1&sort=reverse" + ts, "20150606000000"},
		{"/cdx?url=*&filter=mime:css" + ts, "20150603000000"}, // all there is
		{"/cdx?urlkey=com,example)/pathology" + ts, "20150604000000"},
		// from, to
		{"/cdx?url=example.com&from=2014&to=2014" + ts, "20140103030321 20140127171200"},
		{"/cdx?url=example.com&to=20140103" + ts, "20140103030321"},
		// filter: contains, =, ~, and the negation of each
		{"/cdx?url=*.example.com&filter=mime:css" + ts, "20150603000000"},
		{"/cdx?url=*.example.com&filter==mime:text/html&filter=!=status:200" + ts, "20150101000000"},
		{"/cdx?url=example.com&matchType=domain&filter=~url:.*%5C.php$" + ts, "20150601000000"},
		{"/cdx?url=example.com&filter=~mime:html" + ts, ""}, // from the beginning
		{"/cdx?url=example.com&filter=!~mime:.*/html" + ts, "20140127171200"},
		{"/cdx?url=example.com&filter=!mime:html" + ts, "20140127171200"},
		{"/cdx?url=example.com&filter=statuscode:404" + ts, "20150101000000"},
		{"/cdx?url=example.com&filter=example)/+20140127" + ts, "20140127171200"}, // of the line
		{"/cdx?url=example.com&filter=blah:200" + ts, ""},
		// sort, closest, limit
		{"/cdx?url=example.com&sort=closest&closest=20140120" + ts,
			"20140127171200 20140103030321 20150101000000 20150101000000"},
		{"/cdx?url=example.com&closest=20140120000000&limit=1" + ts, "20140127171200"},
		{"/cdx?url=example.com&sort=reverse&limit=2&fl=offset&output=text", "9900 9000"},
		{"/cdx?url=example.com&reverse=1&limit=1" + ts, "20150101000000"},
		{"/cdx?url=example.com&closest=&sort=closest&limit=1" + ts, "20140103030321"}, // as pywb sends it
		{"/cdx?url=example.com&limit=-2&fl=offset&output=text", "9000 9900"},
		// collapse
		{"/cdx?url=example.com&collapse=timestamp:4" + ts, "20140103030321 20150101000000"},
		{"/cdx?url=example.com&collapse=digest" + ts, "20140103030321 20150101000000 20150101000000"},
		{"/cdx?url=example.com&collapseToLast=digest" + ts, "20140127171200 20150101000000 20150101000000"},
		{"/cdx?url=example.com&collapseTime=4&fl=offset&output=text", "333 1864 9000 9900"}, // and status
		// a request by POST
		{"/cdx?url=http://example.com/form" + ts, ""},
		{"/cdx?url=http://example.com/form&method=POST&requestBody=q%3D1" + ts, "20150602000000"},
		// OutbackCDX: expressions of all of a field, ~ for a part
		{"/web?url=example.com&fl=timestamp&filter=mimetype:text/.*", "20140103030321 20150101000000 20150101000000"},
		{"/web?url=example.com&fl=timestamp&filter=mimetype:text", ""},
		{"/web?url=example.com&fl=timestamp&filter=!mimetype:warc/revisit",
			"20140103030321 20150101000000 20150101000000"},
		{"/web?url=example.com&fl=timestamp&filter=~mimetype:revi", "20140127171200"},
		{"/web?url=example.com&fl=timestamp&filter=~!mimetype:revi",
			"20140103030321 20150101000000 20150101000000"},
		{"/web?url=example.com&fl=timestamp&sort=closest&closest=20140120000000&limit=1", "20140127171200"},
		{"/web?url=example.com&fl=timestamp&closest=20140120000000&limit=1", "20140103030321"}, // no sort
		// pages
		{"/cdx?url=example.com&page=0" + ts, "20140103030321 20140127171200 20150101000000 20150101000000"},
	} {
		w := ask(t, c.query, over(index))
		if got := strings.Join(strings.Fields(w.Body.String()), " "); got != c.want || w.Code != 200 {
			t.Errorf("%s: %d %q\nwant %q", c.query, w.Code, got, c.want)
		}
	}
}

func TestAnswersHaveTheFormsOfBoth(t *testing.T) {
	for _, c := range []struct{ query, media, want string }{
		{"/cdx?url=example.com&limit=1", "text/x-cdxj", // as it is in the index
			`com,example)/ 20140103030321 {"url": "http://example.com/", "mime": "text/html", "status": "200", ` +
				`"digest": "AAAA", "length": "1043", "offset": "333", "filename": "a.warc.gz"}` + "\n"},
		{"/cdx?url=example.com&limit=1&fields=urlkey,timestamp,original,robotflags", "text/x-cdxj",
			`com,example)/ 20140103030321 {"original":"http://example.com/"}` + "\n"},
		{"/cdx?url=example.com&limit=-2&output=json", "text/x-ndjson",
			`{"urlkey":"com,example)/","timestamp":"20150101000000","url":"http://example.com/","mime":"text/html",` +
				`"status":"404","digest":"BBBB","length":"400","offset":"9000","filename":"b.warc.gz"}` + "\n" +
				`{"urlkey":"com,example)/","timestamp":"20150101000000","url":"https://example.com/",` +
				`"mime":"text/html","status":"200","digest":"CCCC","length":"401","offset":"9900",` +
				`"filename":"b.warc.gz","languages":["eng"]}` + "\n"},
		{"/cdx?url=example.com&filter=status:200&limit=-1&output=json&fl=urlkey,status,languages,none", "text/x-ndjson",
			`{"urlkey":"com,example)/","status":"200","languages":["eng"]}` + "\n"},
		{"/cdx?url=example.com&limit=1&output=text", "text/plain",
			"com,example)/ 20140103030321 http://example.com/ text/html 200 AAAA 1043 333 a.warc.gz\n"},
		{"/web?url=example.com&limit=2", "text/plain",
			"com,example)/ 20140103030321 http://example.com/ text/html 200 AAAA - - 1043 333 a.warc.gz\n" +
				"com,example)/ 20140127171200 http://example.com/ warc/revisit - AAAA - - 553 1864 a.warc.gz\n"},
		{"/web?url=example.com/pathology&output=json", "application/json",
			`[["urlkey","timestamp","url","mime","status","digest","redirecturl","robotflags","length","offset",` +
				`"filename"],["com,example)/pathology",20150604000000,"http://example.com/pathology","text/plain",` +
				`301,"GGGG","-","-",null,5,"b.warc.gz"]]`},
		{"/web?url=example.com/pathology&output=jsondict", "application/json",
			`[{"urlkey":"com,example)/pathology","timestamp":20150604000000,"url":"http://example.com/pathology",` +
				`"mime":"text/plain","status":301,"digest":"GGGG","offset":5,"filename":"b.warc.gz"}]`},
		{"/web?url=example.com/pathology&output=cdxj&fl=urlkey,offset,mime", "text/x-cdxj",
			`com,example)/pathology 20150604000000 {"offset":"5","mime":"text/plain"}` + "\n"},
		{"/web?url=example.com/none&output=json&fl=urlkey", "application/json", `[["urlkey"]]`},
		{"/web?url=example.com/none&output=jsondict", "application/json", `[]`},
		{"/web?url=example.com/none", "text/plain", ``},
		{"/cdx?url=*.example.com&showNumPages=true", "application/json",
			`{"blocks": 1, "pages": 1, "pageSize": 5}` + "\n"},
		{"/cdx?url=iana.org/*&output=text", "text/plain", // what is in a field ends neither it nor the line
			"org,iana)/a_b 20150607000000 http://iana.org/a%0Ab%20c text/html - - - 8 b.warc.gz\n"},
	} {
		w := ask(t, c.query, over(index))
		media, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
		if got := w.Body.String(); w.Code != 200 || got != c.want || media != c.media {
			t.Errorf("%s: %d %s\n%s\nwant %s\n%s", c.query, w.Code, media, got, c.media, c.want)
		}
	}
}

func TestAQueryThatIsNoneIsToldWhy(t *testing.T) {
	for query, want := range map[string]string{
		"":                                              `The "url" param is required`,
		"url=a.test&urlkey=test,a)/":                    "not both",
		"url=http://%5B":                                "url",
		"url=*.":                                        "behind the star",
		"url=%zz":                                       "percent-encoded",
		"urlkey=a+b":                                    "no blanks",
		"url=a.test&matchType=foo":                      "Invalid match_type: foo: want exact, prefix, host or domain",
		"url=a.test&output=foo":                         "output=foo not supported",
		"url=a.test&from=x":                             "14 digits",
		"url=a.test&to=-1":                              "14 digits",
		"url=a.test&limit=x":                            "want a number",
		"url=a.test&limit=0":                            "not 0",
		"url=a.test&limit=1000001":                      "want a number from -10000 to 1000000",
		"url=a.test&limit=100000&sort=reverse":          "at most 10000 lines are sorted",
		"url=a.test&sort=up":                            "want closest or reverse",
		"url=a.test&closest=soon":                       "closest",
		"url=a.test&collapse=timestamp:x":               "field:characters",
		"url=a.test&collapse=":                          "field:characters",
		"url=a.test&collapse=digest:-1":                 "field:characters",
		"url=a.test&collapseTime=15":                    "from 1 to 14",
		"url=a.test&page=-1":                            "want a number",
		"url=a.test&page=1":                             "Page 1 invalid: First Page is 0, Last Page is 0",
		"url=a.test&pageSize=0":                         "want a number",
		"url=a.test&resumeKey=b":                        "resumeKey",
		"url=a.test&resumeKey=com,b)/+2014!0":           "resumeKey",
		"url=a.test&sort=reverse&resumeKey=b":           "not resumed",
		"url=a.test&filter=~mime:(":                     "regular expression of RE2",
		"url=a.test&filter=~mime:a)|(b":                 "regular expression of RE2",
		"url=a.test&filter=~mime:(%3F=a)":               "regular expression of RE2",
		"url=a.test&filter=~mime:(a{99}b{99}c{99}){10}": "too large",
		"url=a.test&filter=" + strings.Repeat("a", maxExpression+1): "longer than 256 bytes",
		"url=a.test" + strings.Repeat("&filter=a:b", maxFilters+1):  "at most 16 are applied",
		"url=a.test&fl=" + strings.Repeat("a,", maxFields):          "at most 32 are shown",
		"url=a.test" + strings.Repeat("&collapse=url", maxFields+1): "at most 32 are",
	} {
		w := ask(t, "/cdx?"+query, over(index))
		var told struct{ Message string }
		if err := json.Unmarshal(w.Body.Bytes(), &told); err != nil || w.Code != 400 ||
			!strings.Contains(told.Message, want) {
			t.Errorf("%.60s: %d %s, want 400 with %q", query, w.Code, w.Body, want)
		}
	}
	if w := ask(t, "/web?url=a.test&filter=html", over(index)); w.Code != 400 {
		t.Errorf("a filter without a field is answered with %d", w.Code)
	}
}

// many is an index of n captures of one page, three at each moment.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `test,a)/ %s {"url":"http://a.test/","status":"%d","offset":"%d","filename":"a"}`+"\n",
			cdxj.Stamp(time.Date(2021, 1, 1, 0, 0, 1+i/3, 0, time.UTC)), 200+i%2, i)
	}
	return b.String()
}

// An answer in pieces is the answer: at every limit, with every form of key.
func TestAnAnswerGoesOnWhereItEnded(t *testing.T) {
	text := many(50)
	const query = "/cdx?url=a.test&output=text&fl=offset&filter==status:200"
	whole := strings.Fields(ask(t, query, over(text)).Body.String())
	for limit := 1; limit < 30; limit++ {
		var got []string
		key := ""
		for rounds := 0; rounds < 60; rounds++ {
			target := query + "&showResumeKey=true&limit=" + strconv.Itoa(limit) + "&resumeKey=" + key
			part, next, more := strings.Cut(ask(t, target, over(text)).Body.String(), "\n\n")
			got = append(got, strings.Fields(part)...)
			if !more {
				break
			}
			if key = strings.TrimSpace(next); limit%2 == 0 { // clients encode it once more, or not
				key = url.QueryEscape(key)
			}
		}
		if !slices.Equal(got, whole) {
			t.Fatalf("in pieces of %d: %v\nwant %v", limit, got, whole)
		}
	}
	for query, want := range map[string]string{
		"/cdx?output=json&":     `^\{"offset":"0"\}\n\[\]\n\["test%2Ca%29%2F\+20210101000001%211"\]\n$`,
		"/web?output=json&":     `^\[\["offset"\],\[0\],\[\],\["test%2Ca%29%2F\+20210101000001%211"\]\]$`,
		"/web?output=jsondict&": `^\[\{"offset":0\},\[\],\["test%2Ca%29%2F\+20210101000001%211"\]\]$`,
		"/cdx?&":                `\}\n\ntest%2Ca%29%2F\+20210101000001%211\n$`,
	} {
		if got := ask(t, query+"fl=offset&url=a.test&limit=1&showResumeKey=true", over(text)).Body.String(); !regexp.
			MustCompile(want).MatchString(got) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestPagesAreThoseOfBlocks(t *testing.T) {
	text := many(2*blockLines + 1)
	if got := ask(t, "/cdx?url=a.test&pageSize=1&showNumPages=true", over(text)).Body.String(); got !=
		"{\"blocks\": 3, \"pages\": 3, \"pageSize\": 1}\n" {
		t.Errorf("%s", got)
	}
	var lines int
	for page, want := range []int{blockLines, blockLines, 1} {
		body := ask(t, fmt.Sprint("/cdx?url=a.test&pageSize=1&page=", page), over(text)).Body.String()
		n := strings.Count(body, "\n")
		if lines += n; n > want || n < want-blockLines/2 {
			t.Errorf("page %d has %d lines of at most %d", page, n, want)
		}
	}
	if w := ask(t, "/cdx?url=a.test&pageSize=1&page=3", over(text)); w.Code != 400 {
		t.Errorf("a page behind the last: %d", w.Code)
	}
}

// What is sorted is bounded, and right, however many lines there are.
func TestTheNearestOfManyAreFound(t *testing.T) {
	var b strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&b, `test,a)/ 2020%02d%02d%02d%02d%02d {"url":"http://a.test/","offset":"%d","filename":"a"}`+"\n",
			1+i/2500, 1+i/100%25, i/10%10, i%10, 0, i)
	}
	if got := ask(t, "/cdx?url=a.test&limit=3&closest=20200701000100&fl=offset&output=text", over(b.String())).Body.
		String(); got != "15001\n15000\n15002\n" {
		t.Errorf("nearest: %q", got)
	}
	got := ask(t, "/cdx?url=a.test&sort=reverse&fl=offset&output=text", over(b.String())).Body.String()
	if strings.Count(got, "\n") != maxSorted || !strings.HasPrefix(got, "29999\n29998\n") ||
		!strings.HasSuffix(got, "\n20000\n") {
		t.Errorf("the last: %d lines, %.20q", strings.Count(got, "\n"), got)
	}
	long := strings.ReplaceAll(b.String(), `"filename":"a"`, `"filename":"`+strings.Repeat("a", 4000)+`"`)
	if w := ask(t, "/cdx?url=a.test&sort=reverse", over(long)); w.Code != 400 || !strings.Contains(w.Body.String(),
		"smaller limit") {
		t.Errorf("too much to sort: %d %.80s", w.Code, w.Body)
	}
}

// endless is an index without end.
func endless(from string, visit func([]byte) bool) error {
	line := []byte(`test,a)/ 20200101000000 {"url":"http://a.test/","status":"200","offset":"1","filename":"a"}` + "\n")
	for visit(line) {
	}
	return nil
}

func TestWhatCostsTooMuchEnds(t *testing.T) {
	short := func(target string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		if err := answerWithin(1000, w, httptest.NewRequest(http.MethodGet, target, nil), endless); err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := short("/cdx?url=a.test&filter==status:404")
	if w.Code != 400 || !strings.Contains(w.Body.String(), "showResumeKey") {
		t.Errorf("no line of an index without end: %d %s", w.Code, w.Body)
	}
	w = short("/cdx?url=a.test&filter==status:404&showResumeKey=true")
	if w.Code != 200 || w.Body.String() != "\n"+url.QueryEscape(fmt.Sprintf("test,a)/ 20200101000000!%d", 1000))+"\n" {
		t.Errorf("with a key: %d %s", w.Code, w.Body)
	}
	// who has gone is not worked for
	ctx, stop := context.WithCancel(context.Background())
	seen := 0
	r := httptest.NewRequest(http.MethodGet, "/cdx?url=a.test&filter==status:404", nil).WithContext(ctx)
	if err := Answer(httptest.NewRecorder(), r, func(from string, visit func([]byte) bool) error {
		return endless(from, func(line []byte) bool {
			if seen++; seen == 100 {
				stop()
			}
			return visit(line)
		})
	}); err != nil || seen != 100 {
		t.Errorf("%d lines for one who went at 100, %v", seen, err)
	}
	// an answer that was begun and cannot be ended is cut off
	failing := func(from string, visit func([]byte) bool) error {
		_ = over(many(2000))(from, visit)
		return cdxj.ErrLine
	}
	func() {
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("it is taken for whole")
			}
		}()
		_ = Answer(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/cdx?url=a.test", nil), failing)
	}()
	none := func(string, func([]byte) bool) error { return cdxj.ErrLine }
	if err := Answer(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/cdx?url=a.test", nil),
		none); !errors.Is(err, cdxj.ErrLine) {
		t.Errorf("an index that cannot be read: %v", err)
	}
}

// The key of a POST is that under which its capture is stored.
func TestAPOSTIsFoundByWhatItsLineSays(t *testing.T) {
	r := posted.Request{URL: weburl.MustParse("http://a.test/q?x=1"), ContentType: "application/json",
		Body: []byte(`{"query":"a b","n":[1,2]}`)}
	query, body := r.Query()
	for _, sent := range []string{query, body} {
		line := r.Key() + ` 20200101000000 {"url":"http://a.test/q?x=1","offset":"1","filename":"a","method":"POST"}`
		target := "/web?url=" + url.QueryEscape(r.URL.String()) + "&method=post&fl=offset&requestBody=" +
			url.QueryEscape(sent)
		if got := ask(t, target, over(line+"\n")).Body.String(); got != "1\n" {
			t.Errorf("%s: %q", target, got)
		}
	}
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{"url=example.com", "url=*.example.com&filter=!~mime:.*&collapse=timestamp:4&limit=-3",
		"urlkey=com,example)/&output=json&fl=urlkey,languages&showResumeKey=1&resumeKey=com,example)/+2014!1&limit=1",
		"url=example.com/*&closest=2014&sort=closest&page=0&pageSize=1", "url=a&method=POST&requestBody=q%3d1"} {
		f.Add("/web", s)
		f.Add("/cdx", s)
	}
	f.Fuzz(func(t *testing.T, path, raw string) {
		if !Is(path) {
			path = "/cdx"
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.URL.RawQuery = raw
		if err := Answer(w, r, over(index)); err != nil || w.Code != 200 && w.Code != 400 {
			t.Fatalf("%d %v", w.Code, err)
		}
		q, err := parse(addresses[path], raw)
		if (err == nil) != (w.Code == 200) && q != nil && q.page <= 0 {
			t.Fatalf("%v, but %d", err, w.Code)
		}
		if err == nil && w.Code == 200 {
			if n := strings.Count(w.Body.String(), "\n"); n > min(q.limit, 12)+4 {
				t.Fatalf("%d lines for a limit of %d", n, q.limit)
			}
			if strings.HasSuffix(q.media, "/json") && !json.Valid(w.Body.Bytes()) {
				t.Fatalf("no JSON: %s", w.Body)
			}
		}
	})
}
