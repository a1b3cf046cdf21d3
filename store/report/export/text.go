package export

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"henro/messages/visible"
	"henro/store/report/tables"
)

// lines writes a row as one line of text, made by row behind line.
type lines struct {
	out  io.Writer
	line []byte
	row  func(line []byte, row tables.Row) []byte
}

func (l *lines) Write(row tables.Row) error {
	l.line = append(l.row(l.line[:0], row), '\n')
	_, err := l.out.Write(l.line)
	return err
}

func (l *lines) Close() error { return nil }

// separated makes a format of values with a separator between them and the names of the columns in the first line;
// clean gives the text at line[from:] the form that the format wants.
func separated(out io.Writer, table *tables.Table, separator byte, clean func(line []byte, from int) []byte) (Writer,
	error) {
	var line []byte
	for i := range table.Columns {
		if i > 0 {
			line = append(line, separator)
		}
		line = append(line, table.Columns[i].Name...)
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	return &lines{out: out, row: func(line []byte, row tables.Row) []byte {
		for i := range table.Columns {
			if i > 0 {
				line = append(line, separator)
			}
			from := len(line)
			value := row.Value(i)
			line = value.Append(line)
			if value.Kind == tables.Text {
				line = clean(line, from)
			}
		}
		return line
	}}, nil
}

// newCSV writes RFC 4180 with plain line ends; no text is a formula to a spreadsheet.
func newCSV(out io.Writer, table *tables.Table) (Writer, error) {
	return separated(out, table, ',', func(line []byte, from int) []byte {
		if first, _ := utf8.DecodeRune(line[from:]); visible.Formula(first) {
			line = slices.Insert(line, from, '\'')
		}
		if field := line[from:]; !bytes.ContainsAny(field, ",\"\r\n") && field[0] != ' ' {
			return line
		}
		field := bytes.ReplaceAll(line[from:], []byte(`"`), []byte(`""`))
		line = append(line[:from], '"')
		return append(append(line, field...), '"')
	})
}

// newTSV writes text/tab-separated-values: no quoting, so tabs and line ends in a value become blanks.
func newTSV(out io.Writer, table *tables.Table) (Writer, error) {
	return separated(out, table, '\t', func(line []byte, from int) []byte {
		for i, c := range line[from:] {
			if c == '\t' || c == '\n' || c == '\r' {
				line[from+i] = ' '
			}
		}
		return line
	})
}

// newJSONLines writes an object a line; empty values are null.
func newJSONLines(out io.Writer, table *tables.Table) (Writer, error) {
	return &lines{out: out, row: func(line []byte, row tables.Row) []byte {
		line = append(line, '{')
		for i := range table.Columns {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(append(append(line, '"'), table.Columns[i].Name...), '"', ':')
			line = AppendJSON(line, row.Value(i))
		}
		return append(line, '}')
	}}, nil
}

// AppendJSON writes a value as JSON behind b.
func AppendJSON(b []byte, v tables.Value) []byte {
	switch v.Kind {
	case tables.Empty:
		return append(b, "null"...)
	case tables.Text:
		return appendString(b, v.Text)
	case tables.Moment:
		return append(v.Append(append(b, '"')), '"')
	case tables.Real:
		if math.IsNaN(v.Real) || math.IsInf(v.Real, 0) {
			return append(b, "null"...)
		}
	}
	return v.Append(b)
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == '"' || s[i] == '\\' || s[i] >= utf8.RuneSelf {
			quoted, err := json.Marshal(s) // makes what is no UTF-8 U+FFFD
			if err != nil {
				return append(b, "null"...) // no string has an error
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
