// Package scripttest plays the golden scripts of a test: text files that say what is done and what followed.
//
// A script is blocks with empty lines between them. A block is commands, one a line, then a line of dashes, then what
// followed. A block without dashes is a comment, as is a line that begins with #.
package scripttest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata/*.script")

// Play plays every testdata/*.script, each with what begin returns: a function that carries out the commands of a
// block, each in words, and says what followed.
func Play(t *testing.T, begin func() func(commands [][]string) (string, error)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := rewritten(t, string(text), begin())
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("got\n%s\nwant\n%s", got, text)
			}
		})
	}
}

// rewritten is a script with what follows now.
func rewritten(t *testing.T, text string, play func([][]string) (string, error)) string {
	var got strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		lines, _, found := strings.Cut(block+"\n", "----\n")
		if i > 0 {
			got.WriteString("\n")
		}
		got.WriteString(lines)
		if !found {
			continue // a comment
		}
		var commands [][]string
		for line := range strings.Lines(lines) {
			if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
				commands = append(commands, words)
			}
		}
		followed, err := play(commands)
		if err != nil {
			t.Fatalf("%v, in\n%s, after\n%s%s", err, lines, got.String(), followed)
		}
		got.WriteString("----\n" + followed)
	}
	return got.String()
}
