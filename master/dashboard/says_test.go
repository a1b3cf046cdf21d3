package dashboard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"henro/actors/politeness"
	"henro/actors/scope"
	"henro/actors/stoplist"
	"henro/actors/traps"
	"henro/messages/speech"
)

// spoken are the English words of all sentences that other packages say, each with where it is said.
func spoken(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, top := range []string{"../../actors", "../../master"} {
		if err := filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				switch f := call.Fun.(type) {
				case *ast.SelectorExpr:
					ok = f.Sel.Name == "Say"
				case *ast.Ident:
					ok = f.Name == "say"
				default:
					ok = false
				}
				if words := literal(call.Args[0]); ok && words != "" && words != "%s" {
					all[words] = path
				}
				return true
			})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	// Those that are made of words of a closed set.
	for _, v := range []scope.Verdict{scope.In, scope.OutOfReach, scope.WrongTLD, scope.NotIncluded, scope.Excluded,
		scope.StopListed} {
		all[v.String()] = "scope"
	}
	for v := traps.Fine; v <= traps.Session; v++ {
		all[v.String()] = "traps"
	}
	for v := politeness.Feasible; v < politeness.Verdicts; v++ {
		all[v.String()] = "politeness"
	}
	for v := stoplist.Missing; v <= stoplist.Alike; v++ {
		all[v.String()] = "stoplist"
	}
	all[stoplist.ByPerson] = "stoplist"
	all[stoplist.Says("10 broken pages in a row, the last missing (http://a.test/b)").Words] = "stoplist"
	return all
}

// literal is a string that is written out, in one piece or in several.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}

var anyVerb = regexp.MustCompile(`%[.0-9]*(\[(\d+)\])?[a-z]`)

// values are the numbers of those that a text writes out.
func values(text string) map[int]bool {
	used, next := map[int]bool{}, 1
	for _, m := range anyVerb.FindAllStringSubmatch(strings.ReplaceAll(text, "%%", ""), -1) {
		if m[2] != "" {
			next, _ = strconv.Atoi(m[2])
		}
		used[next] = true
		next++
	}
	return used
}

func TestWhatOthersSayIsSaidInJapanese(t *testing.T) {
	ja, all := languages[1].speech.Words, spoken(t)
	if len(all) < 90 {
		t.Errorf("only %d sentences were found", len(all))
	}
	for words, where := range all {
		japanese, ok := ja[words]
		if !ok {
			t.Errorf("%s: nobody has said in Japanese: %q", where, words)
			continue
		}
		if a, b := values(words), values(japanese); len(a) != len(b) || len(a) > 0 && !b[len(a)] {
			t.Errorf("%q has %d values, and %q has %v", words, len(a), japanese, b)
		}
	}
	chart := regexp.MustCompile(`^[^%]*$`) // names on charts have no values, and are not all said by Say
	for words := range ja {
		if _, ok := all[words]; !ok && !chart.MatchString(words) {
			t.Errorf("nobody says %q", words)
		}
	}
}

func TestFactsAreWrittenAsTheLanguageDoes(t *testing.T) {
	now := time.Now()
	s := speech.Say("nothing was fetched for %s: %d URLs wait, and no host says that it may be asked; henro trace "+
		"shows what goes on", 150*time.Second, uint64(12345))
	for i, want := range []string{
		"nothing was fetched for 2 min 30 s: 12345 URLs wait, and no host says that it may be asked; henro trace " +
			"shows what goes on",
		"2分30秒何も取得していません。URL 12,345件が待っていますが、訪問できるホストがありません。henro trace で様子がわかります。",
	} {
		if got := languages[i].say(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := languages[1].clock(time.Date(2030, 5, 4, 3, 2, 1, 0, time.Local), now); got != "2030年5月4日 03:02" {
		t.Errorf("a day in Japanese is %q", got)
	}
}
