package query

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"henro/store/report/tables"
)

// A question that only counts need not see every row. SELECT status, count(*) FROM pages GROUP BY status means the same
// as
//
//	SELECT status, coalesce(sum("rows"),0) FROM "pages grouped" GROUP BY status
//
// where "pages grouped" has a row for each kind of pages that differ in the columns asked for, and in "rows" how many
// they are; it counts on all processors and hands a few rows to SQLite instead of millions. condense makes the one of
// the other where it surely means the same, and leaves everything else as it is:
//
//   - a SELECT of one table or view, with nothing but functions of a row, count(*), count(DISTINCT …), min and max; or
//   - SELECT DISTINCT without counting; or
//   - the SELECT behind IN, in which repeats do not matter.

// grouped is how the twin of a table is called that shows rows that are equal once.
func grouped(table string) string { return table + " grouped" }

const rowsColumn = "rows"

// token is a piece of SQL.
type token struct {
	from, to int    // where it stands in the text
	word     string // in lower case: a word, a number or a sign; what is in quotes stands in name
	name     string // a name in quotes; a word as it is written
	quoted   bool
	depth    int // of parentheses; the parentheses themselves have that of what is around them
}

// scan divides SQL into tokens; !ok: it ends within one.
func scan(text string) (tokens []token, ok bool) {
	depth := 0
	for i := 0; i < len(text); {
		t := token{from: i, to: i + 1, depth: depth}
		switch c := text[i]; {
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			i++
			continue
		case strings.HasPrefix(text[i:], "--"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return tokens, depth == 0
			}
			i += end
			continue
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return nil, false
			}
			i += end + 4
			continue
		case strings.IndexByte("'\"`[", c) >= 0:
			end, name, ok := quotedEnd(text, i)
			if !ok {
				return nil, false
			}
			t.to, t.quoted = end, true
			if c == '\'' {
				t.word = "'"
			} else {
				t.name = name
			}
		case isWordByte(c):
			for t.to < len(text) && isWordByte(text[t.to]) {
				t.to++
			}
			t.name = text[i:t.to]
			t.word = strings.ToLower(t.name)
		case c == '(':
			t.word = "("
			depth++
		case c == ')':
			depth--
			t.word, t.depth = ")", depth
		default:
			t.word = text[i : i+1]
		}
		if depth < 0 {
			return nil, false
		}
		tokens = append(tokens, t)
		i = t.to
	}
	return tokens, depth == 0
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// quotedEnd returns the end of what is in quotes at i, where the quote itself is written twice, and the name in it.
func quotedEnd(text string, i int) (end int, name string, ok bool) {
	closing := text[i]
	if closing == '[' {
		closing = ']'
	}
	for end = i + 1; end < len(text); end++ {
		if text[end] != closing {
			continue
		}
		if closing != ']' && end+1 < len(text) && text[end+1] == closing {
			end++
			continue
		}
		name = text[i+1 : end]
		if closing != ']' {
			name = strings.ReplaceAll(name, string([]byte{closing, closing}), string(closing))
		}
		return end + 1, name, true
	}
	return 0, "", false
}

// edit puts other words in the place of a part of the text.
type edit struct {
	from, to int
	with     string
}

// unknown are words of which condense does not know what they would mean.
var unknown = []string{"with", "over", "filter", "window", "rowid", "oid", "_rowid_", rowsColumn}

// condense returns a question that means the same and reads tables grouped, or the question as it is.
func condense(question string) string {
	tokens, ok := scan(question)
	if !ok || slices.ContainsFunc(tokens, func(t token) bool {
		return slices.Contains(unknown,
			strings.ToLower(t.name))
	}) {
		return question
	}
	var edits []edit
	for i, t := range tokens {
		if t.word == "select" {
			edits = append(edits, core(question, tokens, i)...)
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(question[at:e.from])
		b.WriteString(e.with)
		at = e.to
	}
	b.WriteString(question[at:])
	return b.String()
}

// clauses begin behind the name of the table; setOperators end a SELECT.
var (
	clauses      = []string{"where", "group", "having", "order", "limit"}
	setOperators = []string{"union", "except", "intersect", ";"}
)

// core returns what is to be changed in the SELECT that begins at tokens[first]: nothing where it is none of those that
// condense is for.
func core(text string, tokens []token, first int) []edit {
	depth := tokens[first].depth
	last := first + 1
	for last < len(tokens) && tokens[last].depth >= depth &&
		(tokens[last].depth > depth || !slices.Contains(setOperators, tokens[last].word)) {
		last++
	}
	if first > 0 && slices.Contains([]string{"union", "except", "intersect", "all"}, tokens[first-1].word) ||
		last < len(tokens) && slices.Contains(setOperators[:3], tokens[last].word) {
		return nil // the columns of a union are those of its first part; few ask for one
	}
	body := tokens[first+1 : last]
	if slices.ContainsFunc(body, func(t token) bool { return t.word == "select" }) {
		return nil
	}
	from := slices.IndexFunc(body, func(t token) bool { return t.depth == depth && t.word == "from" })
	if from < 1 || from+1 >= len(body) {
		return nil
	}
	source, alias, rest := tableIn(body[from+1:])
	if source == "" {
		return nil
	}
	what, ok := read(body, depth)
	behindIn := first > 1 && tokens[first-1].word == "(" && tokens[first-2].word == "in"
	switch {
	case !ok:
		return nil
	case what.counts || what.extremes || what.groups:
	case what.distinct || behindIn && !what.limited:
		what.distinct = true
	default:
		return nil
	}
	edits := []edit{{body[from+1].from, rest, source + " AS " + quote(alias)}}
	if begin, end, ok := mostOfGroups(body, from, depth); ok && first == 0 { // in a subquery, columns may be left out
		edits = append(edits, counts(text, body, from, depth, quote(rowsColumn))...)
		return append(edits, edit{body[begin].from, body[end-1].to, ""})
	}
	edits = append(edits, counts(text, body, from, depth, `coalesce(sum("rows"),0)`)...)
	if at := descending(body, depth); what.groups && at > 0 {
		edits = append(edits, edit{at, at, ", NULL"})
	}
	return edits
}

// descending returns the end of an ORDER BY that has DESC in it, or 0. Where ORDER BY has as many terms as GROUP BY,
// SQLite wants the groups in the direction of the former, which grouped tables do not have, and then sorts all their
// rows; one more term, which is always the same, spares it that.
func descending(body []token, depth int) (end int) {
	desc := false
	order := slices.IndexFunc(body, func(t token) bool { return t.depth == depth && t.word == "order" })
	if order < 0 {
		return 0
	}
	for _, t := range body[order:] {
		if t.depth == depth && t.word == "limit" {
			break
		}
		end, desc = t.to, desc || t.depth == depth && t.word == "desc"
	}
	if !desc {
		return 0
	}
	return end
}

// mostRows is the greatest LIMIT for which a grouped table puts its rows in order itself.
const mostRows = 10_000

// mostOfGroups recognises a question for the largest groups, whose columns are what they are grouped by and their
// count: SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY n DESC LIMIT 20. A grouped table has each of these groups
// in one row, so that GROUP BY, which is body[first:last], can be left out; then SQLite tells the table ORDER BY and
// LIMIT, and is shown some rows of millions.
func mostOfGroups(body []token, from, depth int) (first, last int, ok bool) {
	clause := func(word string) int {
		return slices.IndexFunc(body, func(t token) bool { return t.depth == depth && !t.quoted && t.word == word })
	}
	group, order, limit := clause("group"), clause("order"), clause("limit")
	if group < 0 || order < group || limit < order || limit+2 != len(body) || clause("where") >= 0 ||
		clause("having") >= 0 || clause("distinct") >= 0 || clause("window") >= 0 {
		return 0, 0, false
	}
	if n, err := strconv.Atoi(body[limit+1].word); err != nil || n > mostRows {
		return 0, 0, false
	}
	var s selection
	return group, order, s.read(body[:from], depth) && s.isGroupedBy(body[group+2:order], depth) &&
		s.isOrderedBy(body[order+2:limit], depth)
}

// selection is the columns of an answer: their names, which are empty for a count, and their aliases, or names.
type selection struct{ names, aliases []string }

func (s *selection) read(columns []token, depth int) bool {
	for _, column := range split(columns, depth) {
		name, alias, ok := columnIn(column)
		if _, err := strconv.Atoi(name); !ok || err == nil {
			return false
		}
		s.names, s.aliases = append(s.names, name), append(s.aliases, cmp.Or(alias, name))
	}
	for i, alias := range s.aliases { // GROUP BY and ORDER BY might mean either
		if alias != s.names[i] && slices.Contains(s.names, alias) {
			return false
		}
	}
	return true
}

// isGroupedBy reports whether the terms of GROUP BY are all columns that are no counts.
func (s *selection) isGroupedBy(terms []token, depth int) bool {
	by := []string{""}
	for _, term := range split(terms, depth) {
		name, alias, ok := columnIn(term)
		if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(s.names) {
			name = s.names[n-1]
		}
		if !ok || alias != "" || name == "" || !slices.Contains(s.names, name) {
			return false
		}
		by = append(by, name)
	}
	return !slices.ContainsFunc(s.names, func(name string) bool { return !slices.Contains(by, name) })
}

// isOrderedBy reports whether the terms of ORDER BY are columns, in whatever direction.
func (s *selection) isOrderedBy(terms []token, depth int) bool {
	for _, term := range split(terms, depth) {
		if end := len(term) - 1; end > 0 && (term[end].word == "desc" || term[end].word == "asc") {
			term = term[:end]
		}
		name, alias, ok := columnIn(term)
		n, err := strconv.Atoi(name)
		isOne := name == "" || slices.Contains(s.aliases, name)
		if err == nil {
			isOne = n >= 1 && n <= len(s.names)
		}
		if !ok || alias != "" || !isOne {
			return false
		}
	}
	return true
}

// split divides tokens at the commas of a depth.
func split(tokens []token, depth int) (parts [][]token) {
	begin := 0
	for i, t := range tokens {
		if t.depth == depth && !t.quoted && t.word == "," {
			parts, begin = append(parts, tokens[begin:i]), i+1
		}
	}
	return append(parts, tokens[begin:])
}

// columnIn reads a column by its bare name, or count(*), whose name is empty, and its alias, both in lower case.
func columnIn(tokens []token) (name, alias string, ok bool) {
	if len(tokens) > 0 && tokens[0].word == "count" && !tokens[0].quoted && isStar(tokens[1:]) {
		tokens = tokens[4:]
	} else if len(tokens) == 0 || tokens[0].name == "" || tokens[0].quoted && tokens[0].name[0] <= '9' {
		return "", "", false // also a name in quotes that might be a number
	} else {
		name, tokens = strings.ToLower(tokens[0].name), tokens[1:]
	}
	if len(tokens) == 2 && tokens[0].word == "as" {
		tokens = tokens[1:]
	}
	if len(tokens) == 1 && tokens[0].name != "" {
		return name, strings.ToLower(tokens[0].name), true
	}
	return name, "", len(tokens) == 0
}

// tableIn reads the name of a table or view and its alias, when nothing but clauses follow; it returns what to read
// instead.
func tableIn(tokens []token) (source, alias string, end int) {
	name := tokens[0].name
	if source = twinOf(strings.ToLower(name)); source == "" {
		return "", "", 0
	}
	alias, end = name, tokens[0].to
	rest := tokens[1:]
	if len(rest) > 0 && rest[0].word == "as" {
		rest = rest[1:]
		if len(rest) == 0 {
			return "", "", 0
		}
	}
	if len(rest) > 0 && rest[0].name != "" && (rest[0].quoted || !slices.Contains(clauses, rest[0].word)) {
		alias, end, rest = rest[0].name, rest[0].to, rest[1:]
	}
	if len(rest) > 0 && !slices.Contains(clauses, rest[0].word) {
		return "", "", 0
	}
	return source, alias, end
}

// twinOf returns what shows the rows of a table or view grouped.
func twinOf(name string) string {
	if tables.Named(name) != nil {
		return "temp." + quote(grouped(name))
	}
	for _, v := range Views {
		if v.Name == name {
			columns, rest, _ := strings.Cut(v.SQL, " FROM ")
			table, where, _ := strings.Cut(rest, " ")
			return "(" + columns + ", " + quote(rowsColumn) + " FROM temp." + quote(grouped(table)) + " " + where + ")"
		}
	}
	return ""
}

// traits are what condense must know of a SELECT.
type traits struct{ counts, extremes, groups, distinct, limited bool }

// perRow are functions of one row, which do not mind how often they see it; keywords may stand before a parenthesis
// too.
var perRow = strings.Fields(`abs coalesce char concat date datetime format glob hex ifnull iif instr julianday
length like lower ltrim nullif
	octet_length printf quote replace round rtrim sign strftime substr substring time trim typeof unicode
	unixepoch upper timediff json_extract floor ceil ceiling sqrt ln log log10 log2 pow power mod trunc cast
	and or not in between is when then else case where having by select on as from distinct exists escape collate
	end limit offset like glob`)

// read looks through a SELECT; !ok: it has what condense does not know.
func read(body []token, depth int) (what traits, ok bool) {
	for i, t := range body {
		if t.depth == depth && !t.quoted {
			switch t.word {
			case "group":
				what.groups = true
			case "limit":
				what.limited = true
			case "distinct":
				what.distinct = what.distinct || i == 0
			}
		}
		if t.word == "*" && (i == 0 || body[i-1].word == "," || body[i-1].word == "." || body[i-1].word == "distinct" &&
			body[i-1].depth == depth) {
			return what, false // all columns
		}
		if t.word != "(" || i == 0 {
			continue
		}
		switch function := body[i-1]; {
		case function.quoted && function.name != "":
			return what, false
		case function.word == "count" && isStar(body[i:]), function.word == "count" && i+1 < len(body) &&
			body[i+1].word == "distinct":
			what.counts = true
		case function.word == "min" || function.word == "max":
			// with several arguments a function of a row, which only makes the answer that of a SELECT that counts
			what.extremes = true
			if commaIn(body[i:]) {
				return what, false
			}
		case function.name != "" && !slices.Contains(perRow, function.word):
			return what, false
		}
	}
	return what, true
}

// isStar reports whether tokens begin with (*).
func isStar(tokens []token) bool {
	return len(tokens) > 2 && tokens[0].word == "(" && tokens[1].word == "*" && tokens[2].word == ")"
}

// commaIn reports whether there are several arguments in the parenthesis with which tokens begin.
func commaIn(tokens []token) bool {
	for _, t := range tokens[1:] {
		if t.depth == tokens[0].depth {
			return false
		}
		if t.word == "," && t.depth == tokens[0].depth+1 {
			return true
		}
	}
	return false
}

// counts puts the sum of rows in the place of count(*). A column that had no name keeps the words that were its name.
func counts(text string, body []token, from, depth int, sum string) (edits []edit) {
	begin := 0
	for i := range body {
		if body[i].word == "count" && isStar(body[i+1:]) {
			edits = append(edits, edit{body[i].from, body[i+3].to, sum})
		}
		if i > from || i < from && (body[i].word != "," || body[i].depth != depth) {
			continue
		}
		// body[begin:i] is one column of the answer.
		column := body[begin:i]
		begin = i + 1
		counted := slices.IndexFunc(column, func(t token) bool { return t.word == "count" })
		if counted < 0 || isNamed(column) {
			continue
		}
		first, last := column[0], column[len(column)-1]
		if first.word == "distinct" || first.word == "all" {
			first = column[1]
		}
		edits = append(edits, edit{last.to, last.to, " AS " + quote(text[first.from:last.to])})
	}
	return edits
}

// isNamed reports whether a column of an answer has a name of its own: AS name, or a name behind something complete.
func isNamed(column []token) bool {
	if len(column) < 2 {
		return false
	}
	last, before := column[len(column)-1], column[len(column)-2]
	if last.word == ")" || last.word == "end" || last.name == "" && last.word != "'" {
		return false
	}
	return before.word == "as" || before.word == ")" || before.word == "end" || before.name != "" &&
		!slices.Contains(perRow, before.word)
}
