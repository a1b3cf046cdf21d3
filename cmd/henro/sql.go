package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/messages/ticks"
	"henro/store/report/query"
	"henro/store/report/tables"
)

func newSQLCommand() *cobra.Command {
	var r tableReader
	var format string
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "sql DIR [QUESTION]",
		Short: "Ask a crawl in SQL, running or not, without an export before",
		Long: `Ask the tables of a crawl in the SQL of SQLite; without a question, a shell. Nothing can be written.

Tables: pages, links, hosts, captures, stoplist; their columns: henro sql DIR .schema
Views:  edges (links with names that need no quotes: source, target, source_host, target_host …), and the
        four tables of Toyoda's link collector: input_urls, stop_list, parsed_urls, collected_links

A question that names one host or one URL (host = '…', url = '…', "from" = '…') is answered without reading
all. A join that would read a table again and again is answered from a copy with indexes, which is made first
in a temporary file. An answer that took a second or more is kept in DIR/cache, and the same question has it
at once until the crawl goes on.`,
		Example: `  henro sql crawl "SELECT status, count(*) FROM pages GROUP BY status"
  henro sql crawl "SELECT target, count(*) AS n FROM edges GROUP BY target ORDER BY n DESC LIMIT 20" --format csv
  henro sql crawl        # a shell: .help says more`,
		Args: config.Takes(1, 2, `which crawl, and which question? henro sql crawl "SELECT count(*) FROM pages"`),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if limit < 0 {
				return config.Usage("--timeout %v: want a duration such as 10m, or 0 for none", limit)
			}
			if answerFormats[format] == nil {
				return config.Usage("--format %q: want table, csv, tsv, json or jsonl", format)
			}
			r.dir = arguments[0]
			return r.read(cmd, func(_ *reading.Crawl, source *tables.Source) (err error) {
				session, err := query.Open(cmd.Context(), source)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, session.Close()) }()
				shell := &sqlShell{session: session, out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr(),
					bar: newBar(cmd.ErrOrStderr()), format: format, limit: limit}
				session.Told = func(table string) {
					fmt.Fprintf(shell.notes,
						"%s would be read again and again: copying it to a temporary file first, with indexes\n", table)
				}
				session.Reading = func(table string, rows int64) {
					shell.bar.count("reading "+table, rows, shell.began)
				}
				if len(arguments) == 2 {
					return shell.do(cmd.Context(), arguments[1])
				}
				return shell.run(cmd.Context(), cmd.InOrStdin())
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "of answers: table, csv, tsv, json or jsonl")
	cmd.Flags().DurationVar(&limit, "timeout", 30*time.Minute, "how long a question may take; 0: as long as it wants")
	r.register(cmd)
	return cmd
}

// sqlShell asks and prints.
type sqlShell struct {
	session *query.Session
	out     io.Writer // answers
	notes   io.Writer // everything else
	format  string
	timing  bool
	limit   time.Duration // of one question; 0: none
	pending string        // begun, without its semicolon
	bar     *bar
	began   time.Time // when the question was asked
}

const sqlHelp = `A question ends with a semicolon and may take several lines. The arrow keys bring back earlier
lines; Ctrl-C stops a long answer.
.tables         the tables and views
.schema [NAME]  their columns
.format NAME    table, csv, tsv, json or jsonl
.quit           leave (or Ctrl-D)
`

// run asks what is typed, or what a file holds.
func (s *sqlShell) run(ctx context.Context, in io.Reader) error {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return s.do(ctx, string(text))
	}
	s.timing = true
	fmt.Fprintln(s.notes, "SQL of SQLite on the tables of the crawl; .help says more.")
	terminal := term.NewTerminal(f, "")
	for {
		prompt := "henro> "
		if s.pending != "" {
			prompt = "  ...> "
		}
		line, err := readLine(f, terminal, prompt)
		if err == io.EOF {
			fmt.Fprintln(s.notes)
			return nil
		}
		if err != nil {
			return err
		}
		command, questions := s.take(line + "\n")
		if command != "" {
			if err := s.command(command); err == io.EOF {
				return nil
			} else if err != nil {
				fmt.Fprintln(s.notes, err)
			}
		}
		for _, question := range questions {
			if err := s.interruptible(ctx, question); err != nil {
				fmt.Fprintln(s.notes, err)
			}
		}
	}
}

// take takes a line: it is a command, or part of questions, of which those that end in it are returned.
func (s *sqlShell) take(line string) (command string, questions []string) {
	if s.pending == "" && strings.HasPrefix(strings.TrimSpace(line), ".") {
		return line, nil
	}
	s.pending += line
	if strings.Contains(line, ";") {
		questions, s.pending = statements(s.pending)
	}
	if strings.TrimSpace(s.pending) == "" {
		s.pending = ""
	}
	return "", questions
}

// readLine reads a line with editing and history. Only meanwhile the terminal is raw, so that Ctrl-C stops an answer.
func readLine(f *os.File, terminal *term.Terminal, prompt string) (string, error) {
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return "", err
	}
	defer term.Restore(int(f.Fd()), before)
	if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		terminal.SetSize(width, height)
	}
	terminal.SetPrompt(prompt)
	line, err := terminal.ReadLine()
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err
}

// interruptible asks a question that Ctrl-C ends, and not the shell.
func (s *sqlShell) interruptible(ctx context.Context, question string) error {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt)
	defer stop()
	return s.ask(ctx, question)
}

// do asks all questions of a text; a line that begins with a point, and is within no question, is a command.
func (s *sqlShell) do(ctx context.Context, text string) error {
	for line := range strings.Lines(text) {
		command, questions := s.take(line)
		if command != "" {
			if err := s.command(command); err == io.EOF {
				return nil
			} else if err != nil {
				return config.Usage("%v", err)
			}
		}
		for _, question := range questions {
			if err := s.ask(ctx, question); err != nil {
				return err
			}
		}
	}
	if s.pending == "" {
		return nil
	}
	return s.ask(ctx, s.pending)
}

func (s *sqlShell) command(line string) error {
	words := strings.Fields(line)
	name := ""
	if len(words) > 1 {
		name = words[1]
	}
	switch words[0] {
	case ".quit", ".exit":
		return io.EOF
	case ".help":
		fmt.Fprint(s.notes, sqlHelp)
	case ".format":
		if answerFormats[name] == nil {
			return errors.New(".format table, csv, tsv, json or jsonl")
		}
		s.format = name
	case ".tables":
		for _, t := range tables.Tables() {
			fmt.Fprintf(s.out, "%-16s %s\n", t.Name, t.Doc)
		}
		for _, v := range query.Views {
			fmt.Fprintf(s.out, "%-16s %s\n", v.Name, v.SQL)
		}
	case ".schema":
		found := name == ""
		for _, t := range tables.Tables() {
			if name != "" && name != t.Name {
				continue
			}
			found = true
			fmt.Fprintf(s.out, "%s: %s\n", t.Name, t.Doc)
			for _, c := range t.Columns {
				fmt.Fprintf(s.out, "  %-17s %-8s %s\n", c.Name, query.TypeOf(c.Kind), c.Doc)
			}
		}
		for _, v := range query.Views {
			if name == "" || name == v.Name {
				found = true
				fmt.Fprintf(s.out, "%s: %s\n", v.Name, v.SQL)
			}
		}
		if !found {
			return fmt.Errorf("no table %s: .tables lists them", name)
		}
	default:
		return fmt.Errorf("no command %s: .help lists them", words[0])
	}
	return nil
}

// ask asks one question and prints the answer.
func (s *sqlShell) ask(ctx context.Context, question string) error {
	s.began = time.Now()
	ctx, stop := whileRoom(ctx, temporaryFolder(), freeSpace)
	defer stop()
	if s.limit > 0 {
		var over context.CancelFunc
		ctx, over = context.WithTimeoutCause(ctx, s.limit, &tooLong{s.limit})
		defer over()
	}
	answer, err := s.session.Ask(ctx, question)
	if err != nil {
		s.bar.end()
		return sqlError(ctx, err)
	}
	defer answer.Close()
	rows, err := printAnswer(s.out, s.format, answer.Columns, func() ([]any, error) {
		values, err := answer.Next()
		s.bar.end()
		return values, err
	})
	if err != nil {
		return sqlError(ctx, err)
	}
	if s.timing {
		fmt.Fprintf(s.notes, "%d %s in %.3f s\n", rows, map[bool]string{true: "row", false: "rows"}[rows == 1],
			time.Since(s.began).Seconds())
	}
	return nil
}

// sqlRoom is what temporary files of a question leave free on their disk, in bytes.
const sqlRoom = 1 << 30

// errNoRoom ends a question.
var errNoRoom = errors.New("stopped: its temporary files have filled the disk but for the last GiB, or but for half " +
	"of what was free; ask for less, or name another folder in TMPDIR")

// tooLong ends a question that takes longer than it may.
type tooLong struct{ limit time.Duration }

func (e *tooLong) Error() string {
	return fmt.Sprintf("stopped after %v: ask for less, or give it more time with --timeout", e.limit)
}

// whileRoom returns a context that ends when a disk fills: a question may sort rows without end. It looks each second.
func whileRoom(ctx context.Context, dir string, free func(string) (uint64, error)) (context.Context, func()) {
	ctx, stop := context.WithCancelCause(ctx)
	begun, err := free(dir)
	if err != nil {
		return ctx, func() { stop(nil) } // a disk that does not say how much is free
	}
	go func() {
		for range ticks.Every(ctx, time.Second) {
			if left, err := free(dir); err == nil && left < min(sqlRoom, begun/2) {
				stop(errNoRoom)
			}
		}
	}()
	return ctx, func() { stop(nil) }
}

// temporaryFolder is where SQLite makes its temporary files: in TMPDIR, or in /var/tmp where there is none.
func temporaryFolder() string {
	const usual = "/var/tmp"
	if dir := os.TempDir(); dir != "/tmp" {
		return dir
	}
	if _, err := os.Stat(usual); err != nil {
		return os.TempDir()
	}
	return usual
}

func sqlError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errNoRoom) {
		return errNoRoom
	}
	if long, ok := errors.AsType[*tooLong](context.Cause(ctx)); ok {
		return long
	}
	if ctx.Err() != nil {
		return errors.New("stopped")
	}
	hint := ""
	if text := err.Error(); strings.Contains(text, `near "from"`) || strings.Contains(text, `near "to"`) {
		hint = ` ("from" and "to" are words of SQL: write them with double quotes, or ask edges for source and target)`
	}
	return fmt.Errorf("SQL: %w%s", err, hint)
}

// statements divides a text at the semicolons outside of quotes and comments; rest is what is not ended.
func statements(text string) (whole []string, rest string) {
	from := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"' || c == '`':
			i = behind(text, i+1, string(c))
		case strings.HasPrefix(text[i:], "--"):
			i = behind(text, i+2, "\n")
		case strings.HasPrefix(text[i:], "/*"):
			i = behind(text, i+2, "*/")
		case c == ';':
			if strings.TrimSpace(text[from:i]) != "" {
				whole = append(whole, text[from:i])
			}
			from = i + 1
		}
	}
	if strings.TrimSpace(text[from:]) == "" {
		return whole, ""
	}
	return whole, text[from:]
}

// behind returns the last byte of the next end, or that of the text.
func behind(text string, from int, end string) int {
	if from >= len(text) {
		return len(text)
	}
	if at := strings.Index(text[from:], end); at >= 0 {
		return from + at + len(end) - 1
	}
	return len(text)
}
