package query

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"henro/store/report/tables"
)

// limits are what SQLite refuses to go beyond. A text of the largest page that a crawl takes has its place.
var limits = []struct{ id, most int }{
	{lib.SQLITE_LIMIT_LENGTH, 64 << 20},    // of a value and of a row, in bytes
	{lib.SQLITE_LIMIT_SQL_LENGTH, 1 << 20}, // of a question
	{lib.SQLITE_LIMIT_ATTACHED, 0},         // databases beside that of the session
}

// restrict makes SQLite itself refuse whatever a question has no business with: from here on only statements of the
// session's own (exec) may do more than read.
func (s *Session) restrict(ctx context.Context) error {
	for _, l := range limits {
		if _, err := sqlite.Limit(s.conn, l.id, l.most); err != nil {
			return fmt.Errorf("limit SQL: %w", err)
		}
	}
	readable := map[string]bool{"": true, "sqlite_schema": true, "sqlite_master": true, "sqlite_temp_schema": true,
		"sqlite_temp_master": true, "json_each": true, "json_tree": true}
	for _, t := range tables.Tables() {
		readable[t.Name] = true
	}
	for _, v := range Views {
		readable[v.Name] = true
	}
	harmless, err := s.names(ctx, fmt.Sprintf("SELECT lower(name) FROM pragma_function_list WHERE flags & %d",
		lib.SQLITE_INNOCUOUS))
	if err != nil {
		return err
	}
	modules, err := s.names(ctx, "SELECT lower(name) FROM pragma_module_list")
	if err != nil {
		return err
	}
	may := &permissions{readable, harmless, modules}
	return s.conn.Raw(func(conn any) error {
		registerer, ok := conn.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errors.New("this SQLite cannot be kept from writing files")
		}
		return registerer.RegisterAuthorizer(func(action sqlite.AuthorizerActionCode, first, second, _,
			_ string) sqlite.AuthorizerReturnCode {
			if s.own {
				return sqlite.AuthorizerOK
			}
			s.changing = s.changing || changes(action, first, second)
			if may.ask(action, first, second) {
				return sqlite.AuthorizerOK
			}
			return sqlite.AuthorizerDeny
		})
	})
}

// permissions are what a question may read and call.
type permissions struct {
	readable map[string]bool // tables and views
	harmless map[string]bool // functions that reach nothing but their arguments, as SQLite marks them
	modules  map[string]bool // of virtual tables, which may be read without being created
}

// names returns the names that answer a statement of the session.
func (s *Session) names(ctx context.Context, statement string) (map[string]bool, error) {
	rows, err := s.conn.QueryContext(ctx, statement)
	if err != nil {
		return nil, fmt.Errorf("list what SQL has: %w", err)
	}
	defer rows.Close()
	names := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list what SQL has: %w", err)
		}
		names[name] = true
	}
	return names, rows.Err()
}

// ErrRefused is returned for a question that wants more than to read the tables.
var ErrRefused = errors.New("a question reads the tables of the crawl and nothing else")

// refused names an error of the authorizer, and of a disk that is full.
func refused(err error) error {
	var of *sqlite.Error
	if errors.As(err, &of) && of.Code()&0xff == lib.SQLITE_FULL {
		return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	}
	if errors.As(err, &of) && (of.Code()&0xff == lib.SQLITE_AUTH || strings.Contains(of.Error(), "not authorized")) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// ask reports whether a question may do this: read the tables of the crawl, and compute. SQLite asks while it prepares
// a statement, and also of statements that statements run within (VACUUM INTO attaches a file). It asks of a named
// subquery, too, of which no column is read: SELECT count(*) FROM it. Its name may be any but that of a module.
func (p *permissions) ask(action sqlite.AuthorizerActionCode, first, second string) bool {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRecursive:
		return true
	case sqlite.AuthRead:
		name := strings.ToLower(first)
		return p.readable[name] || second == "" && !p.modules[name] && !strings.HasPrefix(name, "sqlite_") &&
			!strings.HasPrefix(name, "pragma_")
	case sqlite.AuthFunction:
		return p.harmless[strings.ToLower(second)]
	default: // writes, transactions, PRAGMA, ATTACH, and what later versions of SQLite ask for
		return false
	}
}

// changes reports whether a question reads what may change while the state is the same: the archive, a clock, or
// chance.
func changes(action sqlite.AuthorizerActionCode, first, second string) bool {
	return action == sqlite.AuthRead && strings.EqualFold(first, "captures") ||
		action == sqlite.AuthFunction && slices.Contains(changing, strings.ToLower(second))
}

// changing are functions that may depend on more than their arguments: those of date and time know now.
var changing = []string{"random", "randomblob", "date", "time", "datetime", "julianday", "unixepoch", "strftime",
	"timediff", "current_date", "current_time", "current_timestamp"}

// fileURI is a path as a name of SQLite, in which nothing is taken for a parameter; no path is a temporary database.
func fileURI(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	slashed := filepath.ToSlash(whole)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/
	}
	return "file://" + strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(slashed), nil
}
