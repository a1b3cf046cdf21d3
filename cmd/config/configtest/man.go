// Package configtest has the tests that all programs share.
package configtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// ManPages fails unless every command of a program gets its man page.
func ManPages(t *testing.T, root *cobra.Command) {
	t.Helper()
	dir := t.TempDir()
	root.SetArgs([]string{"man", dir})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil || !strings.Contains(string(page), ".SH SYNOPSIS") {
			t.Errorf("%s: %v; its page is %.200q", c.CommandPath(), err, page)
		}
		for _, child := range c.Commands() {
			if child.IsAvailableCommand() {
				look(child)
			}
		}
	}
	look(root)
}
