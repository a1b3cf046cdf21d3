package configtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var shell = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// Examples fails unless each call of the program in the help of its commands, and in a shell block of the documents,
// names a command that exists, flags that it has, and as many arguments as it takes.
func Examples(t *testing.T, newCommand func() *cobra.Command) {
	t.Helper()
	name, seen := newCommand().Name(), 0
	try := func(where, text string) {
		text = strings.ReplaceAll(text, "\\\n", " ")
		for line := range strings.Lines(text) {
			for _, call := range calls(line) {
				if call[0] != name {
					continue
				}
				seen++
				if err := parse(newCommand(), call[1:]); err != nil {
					t.Errorf("%s: %s: %v", where, strings.TrimSpace(line), err)
				}
			}
		}
	}
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	measured, err := filepath.Glob("../../docs/measured/*.md")
	if err != nil {
		t.Fatal(err)
	}
	documents = append(documents, measured...)
	for _, document := range append(documents, "../../README.md", "../../store/FORMAT.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range shell.FindAllStringSubmatch(string(text), -1) {
			try(document, block[1])
		}
	}
	var help func(c *cobra.Command)
	help = func(c *cobra.Command) {
		try(c.CommandPath()+" --help", c.Example)
		for _, child := range c.Commands() {
			help(child)
		}
	}
	help(newCommand())
	if seen == 0 {
		t.Errorf("no document calls %s", name)
	}
}

// calls splits a line of a shell into its simple commands, each in words. Redirections and substitutions are not read.
func calls(line string) (all [][]string) {
	var call []string
	var word strings.Builder
	var quote rune
	begun := false
	end := func() {
		if begun {
			call = append(call, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == '#' && !begun:
			if len(call) > 0 {
				all = append(all, call)
			}
			return all
		case strings.ContainsRune(" \t\n", r):
			end()
		case strings.ContainsRune("|;&><", r):
			end()
			if len(call) > 0 {
				all = append(all, call)
			}
			call = nil
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	if len(call) > 0 {
		all = append(all, call)
	}
	return all
}

// parse reads the words behind a program's name as the program would, and runs nothing.
func parse(root *cobra.Command, words []string) error {
	root.InitDefaultCompletionCmd()
	c, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	// Files of keys, which some flags read at once, are not there.
	if err := c.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) &&
		!strings.Contains(err.Error(), syscall.ENOENT.Error()) {
		return err
	}
	if !c.Runnable() && c.Flags().NArg() > 0 {
		return fmt.Errorf("%s has no command %s", c.CommandPath(), c.Flags().Arg(0))
	}
	return c.ValidateArgs(c.Flags().Args())
}
