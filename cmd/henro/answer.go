package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"henro/messages/visible"
)

// answerFormats are the ways to print rows: each is called with the names of the columns, then with every row, then
// with nil.
var answerFormats = map[string]func(w *bufio.Writer, columns []string) func(row []any) error{
	"table": answerTable,
	"csv":   func(w *bufio.Writer, columns []string) func([]any) error { return answerCSV(w, columns, ',') },
	"tsv":   func(w *bufio.Writer, columns []string) func([]any) error { return answerCSV(w, columns, '\t') },
	"json": func(w *bufio.Writer, columns []string) func([]any) error {
		return answerJSON(w, columns, "[\n", ",\n", "\n]\n")
	},
	"jsonl": func(w *bufio.Writer, columns []string) func([]any) error {
		return answerJSON(w, columns, "", "\n", "\n")
	},
}

// printAnswer prints rows until next returns nil, and counts them.
func printAnswer(out io.Writer, format string, columns []string, next func() ([]any, error)) (rows int, err error) {
	if len(columns) == 0 {
		return 0, nil
	}
	if format == "csv" || format == "tsv" {
		out = visible.Exact(out)
	}
	w := bufio.NewWriter(out)
	show := answerFormats[format](w, columns)
	for {
		row, err := next()
		if err != nil {
			w.Flush()
			return rows, err
		}
		if err := show(row); err != nil {
			return rows, err
		}
		if row == nil {
			return rows, w.Flush()
		}
		rows++
	}
}

func wordOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []byte:
		return fmt.Sprintf("%x", v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return fmt.Sprintf("%.1f", v)
		}
		return fmt.Sprintf("%.15g", v)
	}
	return fmt.Sprint(value)
}

// The first rows of a table set the widths of its columns, up to a bound; wider values in later rows stick out.
const (
	measuredRows = 500
	widestColumn = 80
)

// answerTable writes columns below their names, with numbers flush right.
func answerTable(w *bufio.Writer, columns []string) func(row []any) error {
	var kept [][]any
	widths, numbers := make([]int, len(columns)), make([]bool, len(columns))
	var line func(row []any) error
	begin := func() {
		for i, name := range columns {
			widths[i], numbers[i] = utf8.RuneCountInString(name), len(kept) > 0
			for _, row := range kept {
				widths[i] = max(widths[i], min(widestColumn, utf8.RuneCountInString(visible.Line(wordOf(row[i])))))
				switch row[i].(type) {
				case string, []byte:
					numbers[i] = false
				}
			}
		}
		line = func(row []any) error {
			for i, value := range row {
				if i > 0 {
					w.WriteString("  ")
				}
				word := visible.Line(wordOf(value))
				pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(word)))
				switch {
				case numbers[i]:
					w.WriteString(pad + word)
				case i == len(row)-1:
					w.WriteString(word)
				default:
					w.WriteString(word + pad)
				}
			}
			return w.WriteByte('\n')
		}
		head, rule := make([]any, len(columns)), make([]any, len(columns))
		for i, name := range columns {
			head[i], rule[i] = name, strings.Repeat("-", widths[i])
		}
		line(head)
		line(rule) // an error stays with the writer
		for _, row := range kept {
			line(row)
		}
		kept = nil
	}
	return func(row []any) error {
		if line == nil && row != nil {
			kept = append(kept, append([]any(nil), row...))
		}
		if line == nil && (row == nil || len(kept) == measuredRows) {
			begin()
			return nil
		}
		if row == nil || line == nil {
			return nil
		}
		return line(row)
	}
}

func answerCSV(w *bufio.Writer, columns []string, comma rune) func(row []any) error {
	out := csv.NewWriter(w)
	out.Comma = comma
	out.Write(columns) // an error stays with the writer
	words := make([]string, len(columns))
	return func(row []any) error {
		if row == nil {
			out.Flush()
			return out.Error()
		}
		for i := range row {
			words[i] = wordOf(row[i])
			if _, text := row[i].(string); text && comma == ',' {
				words[i] = visible.Cell(words[i])
			}
		}
		return out.Write(words)
	}
}

// answerJSON writes an object for each row, with text before the first, between them and after the last.
func answerJSON(w *bufio.Writer, columns []string, begin, between, end string) func(row []any) error {
	rows := 0
	w.WriteString(begin)
	return func(row []any) error {
		if row == nil {
			if begin == "" && rows == 0 {
				return nil
			}
			_, err := w.WriteString(end)
			return err
		}
		if rows++; rows > 1 {
			w.WriteString(between)
		}
		for i, name := range columns {
			w.WriteByte("{,"[min(i, 1)])
			key, err := json.Marshal(name)
			if err != nil {
				return err
			}
			value, err := json.Marshal(row[i])
			if err != nil {
				return err
			}
			w.Write(key)
			w.WriteByte(':')
			w.Write(value)
		}
		return w.WriteByte('}')
	}
}
