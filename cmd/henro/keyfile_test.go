package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestASecretThatEveryUserCanReadIsRefused, as a key file is.
func TestASecretThatEveryUserCanReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // where the bits say nothing
	}
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 30)), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true, 0o604: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		for _, arguments := range []string{"status --master 127.0.0.1:1 --token-file ", "wacz x y --sign "} {
			root := newRootCommand()
			root.SetOut(io.Discard)
			root.SetErr(io.Discard)
			root.SetArgs(strings.Fields(arguments + path))
			err := execute(t.Context(), root)
			if err == nil || strings.Contains(err.Error(), "every user can read it") != refused {
				t.Errorf("%s, mode %04o: %v", arguments, mode, err)
			}
		}
	}
}

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
