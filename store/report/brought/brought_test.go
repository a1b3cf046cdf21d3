package brought

import (
	"fmt"
	"testing"
)

func TestRowsOfADifference(t *testing.T) {
	const diff = "--- a\n+++ b\n@@ -1,3 +1,4 @@\n kept\n-Salt costs 1 € today\n-gone\n+Salt costs 2 € today\n" +
		" other\n+new\n@@ -9 +9 @@\n-x\n+y z\n+"
	got := ""
	for _, r := range Rows(diff) {
		got += fmt.Sprintf("%q\n", []string{r.Went.Begin, r.Went.Middle, r.Went.End, r.Came.Begin, r.Came.Middle,
			r.Came.End})
	}
	if want := `["Salt costs " "1" " € today" "Salt costs " "2" " € today"]
["" "gone" "" "" "" ""]
["" "" "" "" "new" ""]
["" "x" "" "" "y z" ""]
`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func FuzzRows(f *testing.F) {
	f.Add("a b", "a c")
	f.Add("é", "è \xff")
	f.Fuzz(func(t *testing.T, went, came string) {
		for _, l := range []struct {
			text string
			line Line
		}{{went, beside(went, came).Went}, {came, beside(went, came).Came}} {
			if l.line.Begin+l.line.Middle+l.line.End != l.text {
				t.Errorf("%q becomes %q", l.text, l.line)
			}
		}
		Rows(went + "\n" + came)
	})
}
