// Package search finds archived pages by the words in their text.
//
// The index is one file of SQLite with a table of FTS5. Its tokens are words in small letters, and of scripts without
// spaces between words (Japanese, Chinese, Thai …) each two letters that stand beside each other, and the last letter
// of a run: a word of two letters, as most of Japanese are, is one token, a longer one a phrase. FTS5's own trigram
// tokenizer finds nothing of less than three letters. The texts themselves lie beside it, compressed, for the lines
// that are shown around what was found.
//
// A page has an entry for each of its versions, so that it is found by words that it had once, at a moment.
package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/unicode/norm"
	_ "modernc.org/sqlite" // the driver
)

// Name is that of the index in the directory of a crawl.
const Name = "search.db"

var (
	// ErrNoIndex is returned where no index has been made.
	ErrNoIndex = errors.New("no search index: henro search --index makes it")
	// ErrQuery is returned for a question in which there is no word.
	ErrQuery = errors.New("no word to search for")
)

// Index is an open index. It is for one goroutine at a time that adds, and for any number that search.
type Index struct {
	db     *sql.DB
	pack   *zstd.Encoder
	unpack *zstd.Decoder
}

// maxText bounds the text of one page that is indexed.
const maxText = 1 << 20

const schema = `
CREATE TABLE IF NOT EXISTS page (id INTEGER PRIMARY KEY, url TEXT NOT NULL, at INTEGER NOT NULL, title TEXT NOT NULL,
	text BLOB NOT NULL, UNIQUE (url, at));
CREATE TABLE IF NOT EXISTS file (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (title, text, content = '', tokenize = 'unicode61');`

// Open opens the index of a crawl to search it, or to add to it, which makes it where there is none.
func Open(ctx context.Context, dir string, add bool) (x *Index, err error) {
	path, err := filepath.Abs(filepath.Join(dir, Name))
	if err != nil {
		return nil, err
	}
	mode := "ro"
	if add {
		mode = "rwc"
	} else if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoIndex
	}
	name := &url.URL{Scheme: "file", Path: filepath.ToSlash(path),
		RawQuery: "mode=" + mode + "&_pragma=busy_timeout(10000)&_pragma=synchronous(1)&_pragma=cache_size(-65536)"}
	if add {
		name.RawQuery += "&_pragma=journal_mode(WAL)"
	}
	x = &Index{}
	if x.db, err = sql.Open("sqlite", name.String()); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if x.pack, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err == nil {
		x.unpack, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(4*maxText))
	}
	if err == nil && add {
		_, err = x.db.ExecContext(ctx, schema)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), x.Close())
	}
	return x, nil
}

// Close closes the index.
func (x *Index) Close() error { return x.db.Close() }

// Files are the names of the WARC files that are in the index.
func (x *Index) Files(ctx context.Context) (map[string]bool, error) {
	rows, err := x.db.QueryContext(ctx, "SELECT name FROM file")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names[name] = true
	}
	return names, rows.Err()
}

// Page is one version of a page.
type Page struct {
	URL   string
	At    time.Time
	Title string
	Text  string
}

// Add takes pages, and then counts files as indexed, all in one transaction. Pages that are there already are left as
// they are.
func (x *Index) Add(ctx context.Context, pages []Page, files ...string) (added int, err error) {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	for i := range pages {
		p := &pages[i]
		text := strings.ToValidUTF8(p.Text[:min(len(p.Text), maxText)], "")
		result, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO page (url, at, title, text) VALUES (?, ?, ?, ?)",
			p.URL, p.At.Unix(), p.Title, x.pack.EncodeAll([]byte(text), nil))
		if err != nil {
			return added, err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			if err != nil {
				return added, err
			}
			continue
		}
		id, err := result.LastInsertId()
		if err != nil {
			return added, err
		}
		added++
		if _, err := tx.ExecContext(ctx, "INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", id,
			strings.Join(tokens(p.Title, false), " "), strings.Join(tokens(text, false), " ")); err != nil {
			return added, err
		}
	}
	for _, name := range files {
		if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO file (name) VALUES (?)", name); err != nil {
			return added, err
		}
	}
	return added, tx.Commit()
}

// Question says what is searched for.
type Question struct {
	Words    string // all must be there; "in quotes" as they stand
	Prefix   string // of the URLs; empty: all
	From, To time.Time
	Versions bool // each version that fits, not the best of each page
	Most     int
}

// Found is one answer.
type Found struct {
	URL    string    `json:"url"`
	At     time.Time `json:"at"`
	Title  string    `json:"title,omitempty"`
	Around string    `json:"around,omitempty"` // the text around the first word
}

// Search returns what fits, the best first.
func (x *Index) Search(ctx context.Context, q Question) (found []Found, err error) {
	match, first := matchOf(q.Words)
	if match == "" {
		return nil, ErrQuery
	}
	// ids alone are sorted: with the pages in it, the sorter would hold all that fit
	ids, err := x.db.QueryContext(ctx, "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank", match)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	defer ids.Close()
	about, err := x.db.PrepareContext(ctx, "SELECT url, at, title FROM page WHERE id = ?")
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	defer about.Close()
	seen := map[string]bool{}
	for len(found) < q.Most && ids.Next() {
		var f Found
		var id, at int64
		err := ids.Scan(&id)
		if err == nil {
			err = about.QueryRowContext(ctx, id).Scan(&f.URL, &at, &f.Title)
		}
		if err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		f.At = time.Unix(at, 0).UTC()
		if seen[f.URL] && !q.Versions || !strings.HasPrefix(f.URL, q.Prefix) ||
			!q.From.IsZero() && f.At.Before(q.From) || !q.To.IsZero() && f.At.After(q.To) {
			continue
		}
		seen[f.URL] = true
		var packed []byte
		if err := x.db.QueryRowContext(ctx, "SELECT text FROM page WHERE id = ?", id).Scan(&packed); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		if text, err := x.unpack.DecodeAll(packed, nil); err == nil {
			f.Around = around(string(text), first)
		}
		found = append(found, f)
	}
	return found, ids.Err()
}

// matchOf makes a question of FTS5, and the first word as it may stand in a text.
func matchOf(words string) (match, first string) {
	var phrases []string
	for i, part := range strings.Split(words, `"`) {
		terms := []string{part} // what stands in quotes is one
		if i%2 == 0 {
			terms = strings.Fields(part)
		}
		for _, term := range terms {
			list := tokens(term, true)
			if len(list) == 0 {
				continue
			}
			phrase := `"` + strings.Join(list, " ") + `"`
			if r, n := utf8.DecodeRuneInString(list[0]); len(list) == 1 && n == len(list[0]) && isDense(r) {
				phrase += "*" // one letter: whichever stands behind it
			}
			phrases = append(phrases, phrase)
			if first == "" {
				first = strings.TrimSpace(strings.ToLower(norm.NFKC.String(term)))
			}
		}
	}
	return strings.Join(phrases, " "), first
}

// isDense reports whether a letter is of a script that is written without spaces between words.
func isDense(r rune) bool {
	return r == 'ー' || r == '々' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// tokens are those of a text, or of a question, which leaves out the single letter at the end of a run of two or more.
func tokens(text string, question bool) (list []string) {
	var word []rune
	var run []rune
	flush := func() {
		if len(word) > 0 {
			list = append(list, string(word))
		}
		for i := range run {
			switch {
			case i+1 < len(run):
				list = append(list, string(run[i:i+2]))
			case !question || len(run) == 1:
				list = append(list, string(run[i:]))
			}
		}
		word, run = word[:0], run[:0]
	}
	for _, r := range norm.NFKC.String(text) {
		switch dense := isDense(r); {
		case dense || unicode.IsMark(r) && len(run) > 0:
			if len(word) > 0 {
				flush()
			}
			run = append(run, r)
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if len(run) > 0 {
				flush()
			}
			word = append(word, unicode.ToLower(r))
		default:
			flush()
		}
	}
	flush()
	return list
}

// aroundLetters is how much of a text is shown on each side of what was found.
const aroundLetters = 80

// around is the part of a text in which a word stands, or its beginning.
func around(text, word string) string {
	letters := []rune(norm.NFKC.String(text))
	lower := make([]rune, len(letters))
	for i, r := range letters {
		lower[i] = unicode.ToLower(r)
	}
	at := max(0, strings.Index(string(lower), word))
	middle := utf8.RuneCountInString(string(lower)[:at])
	from, to := max(0, middle-aroundLetters), min(len(letters), middle+utf8.RuneCountInString(word)+aroundLetters)
	shown := strings.TrimSpace(string(letters[from:to]))
	if from > 0 {
		shown = "…" + shown
	}
	if to < len(letters) {
		shown += "…"
	}
	return shown
}
