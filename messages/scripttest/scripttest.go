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

// Play plays every testdata/*.script, each with what begin returns: play carries out a command, which is in words, and
// after, if there is one, ends a block. Both write what followed to said.
func Play(t *testing.T, begin func(said *strings.Builder) (play func(words []string) error, after func())) {
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
			said := new(strings.Builder)
			play, after := begin(said)
			got := rewritten(t, string(text), said, play, after)
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
func rewritten(t *testing.T, text string, said *strings.Builder, play func([]string) error, after func()) string {
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
		said.Reset()
		for line := range strings.Lines(lines) {
			words := strings.Fields(line)
			if len(words) == 0 || strings.HasPrefix(words[0], "#") {
				continue
			}
			if err := play(words); err != nil {
				t.Fatalf("%q: %v, after\n%s%s", words, err, got.String(), said)
			}
		}
		if after != nil {
			after()
		}
		got.WriteString("----\n" + said.String())
	}
	return got.String()
}
