package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What is secret is its owner's alone to read, whatever the shell made of the file.
func TestSecretsAreTheirOwnersAloneToRead(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "cluster.key")
	for _, arguments := range []string{"key new", "key node pc7 --key " + whole, "key token", "key signing"} {
		path := filepath.Join(dir, "secret")
		if arguments == "key new" {
			path = whole
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Chmod(0o644); err != nil {
			t.Fatal(err)
		}
		root := newRootCommand()
		root.SetOut(f)
		root.SetArgs(strings.Fields(arguments))
		err = execute(t.Context(), root)
		info, statErr := f.Stat()
		if f.Close(); err != nil || statErr != nil ||
			runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 { // where the bits say nothing
			t.Errorf("%s: mode %v, %v, %v", arguments, info.Mode(), err, statErr)
		}
	}
}
