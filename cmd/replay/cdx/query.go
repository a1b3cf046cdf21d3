package cdx

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/store/archive/cdxj"
)

// Bounds of a query.
const (
	maxFilters    = 16         // of one query
	maxExpression = 256        // bytes of a filter
	maxProgram    = 2_000      // instructions of RE2 that a regular expression comes to
	maxFields     = 32         // of an answer
	usualLimit    = 100_000    // lines of an answer to a query that gives no limit, as pywb has it
	maxLimit      = 1_000_000  // lines that a query may ask for
	maxSorted     = 10_000     // lines of an answer that is not in the order of the index
	maxScanned    = 10_000_000 // lines of the index that are looked at for an answer
	blockLines    = 3_000      // lines that a block of pages stands for, as in a ZipNum index
	usualPage     = 5          // blocks of a page
	maxPage       = 1_000      // blocks of a page that a query may ask for
)

// dialect is what an address understands.
type dialect uint8

const (
	pywb    dialect = iota // filter=[!][=~]field:text; CDXJ, or a JSON object a line
	outback                // filter=[~][!]field:expression; CDX of 11 fields, or JSON arrays in one
)

// addresses are the paths at which queries are answered: pywb's for the collection that is called web here, and
// OutbackCDX' for it.
var addresses = map[string]dialect{"/cdx": pywb, "/web/cdx": pywb, "/web": outback}

// outputs are the forms of answers with their media types, the usual one first.
var outputs = map[dialect][]struct{ name, media string }{
	pywb: {{"cdxj", "text/x-cdxj"}, {"json", "text/x-ndjson"}, {"text", "text/plain"}},
	outback: {{"cdx", "text/plain"}, {"json", "application/json"}, {"jsondict", "application/json"},
		{"cdxj", "text/x-cdxj"}, {"text", "text/plain"}},
}

// columns are the fields of text, and of all in JSON arrays.
var columns = map[dialect]string{
	pywb:    "urlkey,timestamp,url,mime,status,digest,length,offset,filename",
	outback: "urlkey,timestamp,url,mime,status,digest,redirecturl,robotflags,length,offset,filename",
}

// aliases are other names of fields, of both dialects and of the Internet Archive's.
var aliases = map[string]string{
	"original": "url", "u": "url", "statuscode": "status", "mimetype": "mime", "m": "mime", "l": "length",
	"o": "offset", "d": "digest", "t": "timestamp", "k": "urlkey", "f": "filename", "redirecturl": "redirect",
}

// field is one of an answer: as it was asked for, and what it is called here.
type field struct{ asked, name string }

func fieldOf(asked string) field { return field{asked, cmp.Or(aliases[asked], asked)} }

// part is the beginning of a field, by which lines are told apart.
type part struct {
	name   string
	digits int // 0: all of it
}

// told is an error in the words of pywb.
type told string

// Error returns the words.
func (t told) Error() string { return string(t) }

// query is what is asked.
type query struct {
	dialect
	from, end    string // lines of the index that are not below from, and below end
	since, until string // moments, padded; empty: any
	filters      []filter
	collapse     []part
	keepsLast    bool // of the lines that are one, the last
	closest      time.Time
	reverse      bool
	tail         bool // the last lines, in their order
	limit        int
	output       string
	media        string
	fields       []field // nil: all
	skip         int     // lines that begin as from does, and were in the answer before
	showsResume  bool
	page         int // -1: all
	pageSize     int // blocks
	countsPages  bool
}

// sorted reports that lines are held until all are known.
func (q *query) sorted() bool { return !q.closest.IsZero() || q.reverse || q.tail }

// parse reads a query. Its errors are what the one who asks is told.
func parse(d dialect, raw string) (*query, error) {
	v, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fmt.Errorf("the query is not percent-encoded: %w", err)
	}
	q := &query{dialect: d, page: -1, showsResume: truth(v.Get("showResumeKey")), reverse: truth(v.Get("reverse"))}
	for _, read := range []func(url.Values) error{q.readKeys, q.readTimes, q.readFilters, q.readCollapse, q.readOrder,
		q.readForm, q.readPages, q.readResume} {
		if err := read(v); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func truth(s string) bool { return s == "1" || strings.EqualFold(s, "true") }

// number reads a count between two bounds; without one it is usual.
func number(v url.Values, name string, usual, least, most int) (int, error) {
	text := v.Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s=%.20s: want a number from %d to %d", name, text, least, most)
	}
	return n, nil
}

// readKeys reads which lines of the index are meant.
func (q *query) readKeys(v url.Values) error {
	raw, key, match := v.Get("url"), v.Get("urlkey"), v.Get("matchType")
	if raw == "" && key == "" {
		return told(`The "url" param is required`)
	}
	if raw != "" && key != "" {
		return errors.New("give url or urlkey, and not both")
	}
	if match == "" || match == "default" {
		switch {
		case strings.HasPrefix(raw, "*."):
			raw, match = raw[2:], "domain"
		case strings.HasSuffix(raw, "*"):
			raw, match = raw[:len(raw)-1], "prefix"
		default:
			match = "exact"
		}
	}
	if raw != "" {
		u, err := weburl.ParseTyped(raw)
		if err != nil {
			return fmt.Errorf("url: %w", err)
		}
		key = u.IndexKey()
		if method := v.Get("method"); method != "" && !strings.EqualFold(method, "GET") {
			key = posted.KeyOf(u, strings.ToUpper(method), v.Get("requestBody"))
		}
	}
	switch {
	case strings.ContainsAny(key, " \r\n"):
		return errors.New("urlkey: a key has no blanks")
	case key == "" && match == "prefix": // url=*
		q.end = "\xff"
		return nil
	case key == "":
		return errors.New("url: a name is wanted behind the star")
	}
	host, _, _ := strings.Cut(key, ")")
	switch match {
	case "exact":
		q.from, q.end = key+" ", key+"!"
	case "prefix":
		for _, end := range []string{"/", "?"} {
			if strings.HasSuffix(raw, end) && !strings.HasSuffix(key, end) {
				key += end
			}
		}
		q.from, q.end = key, key[:len(key)-1]+string([]byte{key[len(key)-1] + 1})
	case "host":
		q.from, q.end = host+")", host+"*"
	case "domain":
		q.from, q.end = host+")", host+"-"
	default:
		return told(fmt.Sprintf("Invalid match_type: %.20s: want exact, prefix, host or domain", match))
	}
	return nil
}

// readTimes reads between which moments lines are meant.
func (q *query) readTimes(v url.Values) error {
	for _, t := range []struct {
		name, pad string
		to        *string
	}{{"from", "00000000000000", &q.since}, {"to", "99999999999999", &q.until}} {
		text := v.Get(t.name)
		if strings.Trim(text, "0123456789") != "" {
			return fmt.Errorf("%s=%.20s: want up to 14 digits, YYYYMMDDhhmmss", t.name, text)
		}
		if text != "" {
			*t.to = (text + t.pad)[:len(t.pad)]
		}
	}
	return nil
}

// filter is one that a line passes or not.
type filter struct {
	name   string // of the field; empty: the line
	invert bool
	passes func(value string) bool
}

func (q *query) readFilters(v url.Values) error {
	all := v["filter"]
	if len(all) > maxFilters {
		return fmt.Errorf("%d filters: at most %d are applied", len(all), maxFilters)
	}
	for _, text := range all {
		f, err := filterOf(q.dialect, text)
		if err != nil {
			return fmt.Errorf("filter=%.40s: %w", text, err)
		}
		q.filters = append(q.filters, f)
	}
	return nil
}

func filterOf(d dialect, text string) (f filter, err error) {
	if len(text) > maxExpression {
		return f, fmt.Errorf("longer than %d bytes", maxExpression)
	}
	kind := ""
	cut := func(mark string) {
		if rest, ok := strings.CutPrefix(text, mark); ok && kind == "" {
			kind, text = mark, rest
		}
	}
	if d == outback {
		cut("~")
	}
	if rest, ok := strings.CutPrefix(text, "!"); ok {
		f.invert, text = true, rest
	}
	if d == pywb {
		cut("=")
		cut("~")
	}
	name, value, ok := strings.Cut(text, ":")
	switch {
	case ok:
		f.name = fieldOf(name).name
	case d == pywb:
		value = text
	default:
		return f, errors.New("want field:expression")
	}
	switch {
	case d == pywb && kind == "=":
		f.passes = func(s string) bool { return s == value }
	case d == pywb && kind == "", d == outback && kind == "~":
		f.passes = func(s string) bool { return strings.Contains(s, value) }
	default:
		end := ""
		if d == outback { // all of the field, in pywb its beginning
			end = "$"
		}
		f.passes, err = expression(value, end)
	}
	return f, err
}

// expression compiles one that matches from the beginning of a text.
func expression(text, end string) (func(string) bool, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("a regular expression of RE2 is wanted: %w", err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err == nil && len(program.Inst) > maxProgram {
		err = errors.New("the regular expression is too large")
	}
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(`\A(?:` + text + ")" + end)
	if err != nil {
		return nil, err
	}
	return re.MatchString, nil
}

// readCollapse reads which lines behind each other are one.
func (q *query) readCollapse(v url.Values) error {
	all := slices.Concat(v["collapse"], v["collapseToFirst"], v["collapseToLast"])
	if len(all) > maxFields {
		return fmt.Errorf("%d fields to collapse by: at most %d are", len(all), maxFields)
	}
	q.keepsLast = v.Has("collapseToLast")
	for _, text := range all {
		name, count, some := strings.Cut(text, ":")
		p := part{name: fieldOf(name).name}
		if n, err := strconv.Atoi(count); some && (err != nil || n < 1) || name == "" {
			return fmt.Errorf("collapse=%.40s: want field or field:characters", text)
		} else {
			p.digits = n
		}
		q.collapse = append(q.collapse, p)
	}
	if v.Has("collapseTime") { // pywb's: of the same time and status
		n, err := number(v, "collapseTime", 10, 1, 14)
		q.collapse = append(q.collapse, part{"timestamp", n}, part{"status", 0})
		return err
	}
	return nil
}

// readOrder reads in which order lines come, and how many.
func (q *query) readOrder(v url.Values) (err error) {
	order := v.Get("sort")
	switch order {
	case "", "default", "closest":
	case "reverse":
		q.reverse = true
	default:
		return fmt.Errorf("sort=%.20s: want closest or reverse", order)
	}
	// closest alone is enough for pywb, which sends an empty one where any will do
	if at := v.Get("closest"); at != "" && (q.dialect == pywb || order == "closest") {
		if q.closest, err = cdxj.ParseStamp(at); err != nil {
			return fmt.Errorf("closest: %w", err)
		}
	}
	if q.limit, err = number(v, "limit", usualLimit, -maxSorted, maxLimit); err != nil {
		return err
	}
	switch {
	case q.limit == 0:
		return errors.New("limit=0: want a number that is not 0")
	case q.limit < 0: // the Internet Archive's: the last ones
		q.limit, q.tail = -q.limit, true
	}
	if q.sorted() {
		if v.Get("limit") != "" && q.limit > maxSorted {
			return fmt.Errorf("limit: at most %d lines are sorted", maxSorted)
		}
		q.limit = min(q.limit, maxSorted)
	}
	return nil
}

// readForm reads what of a line the answer has, and how.
func (q *query) readForm(v url.Values) error {
	forms := outputs[q.dialect]
	asked := cmp.Or(v.Get("output"), forms[0].name)
	for _, form := range forms {
		if form.name == asked {
			q.output, q.media = form.name, form.media
		}
	}
	if q.output == "" {
		return told(fmt.Sprintf("output=%.20s not supported", asked))
	}
	names := cmp.Or(v.Get("fields"), v.Get("fl"))
	if names == "" && (q.output == "cdxj" || q.output == "json" && q.dialect == pywb) {
		return nil
	}
	for _, name := range strings.Split(cmp.Or(names, columns[q.dialect]), ",") {
		q.fields = append(q.fields, fieldOf(strings.TrimSpace(name)))
	}
	if len(q.fields) > maxFields {
		return fmt.Errorf("%d fields: at most %d are shown", len(q.fields), maxFields)
	}
	return nil
}

func (q *query) readPages(v url.Values) (err error) {
	q.countsPages = truth(v.Get("showNumPages"))
	if q.pageSize, err = number(v, "pageSize", usualPage, 1, maxPage); err != nil {
		return err
	}
	q.page, err = number(v, "page", -1, 0, maxScanned/blockLines)
	return err
}

// readResume reads where an answer goes on.
func (q *query) readResume(v url.Values) error {
	key := v.Get("resumeKey")
	if key == "" && !q.showsResume {
		return nil
	}
	if q.sorted() || q.keepsLast || q.page >= 0 {
		return errors.New("an answer in another order, of pages, or with collapseToLast is not resumed")
	}
	if key == "" {
		return nil
	}
	// it may come as it was printed, or decoded once more
	if !strings.Contains(key, " ") {
		key, _ = url.QueryUnescape(key)
	}
	line, count, _ := strings.Cut(key, "!")
	skip, err := strconv.Atoi(count)
	if err != nil || skip < 0 || strings.Count(line, " ") != 1 || line+" " < q.from || line >= q.end {
		return errors.New("resumeKey: give one that an answer to the same query ended with")
	}
	q.from, q.skip = line+" ", skip
	return nil
}
