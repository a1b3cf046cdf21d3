package main

import (
	"errors"

	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"henro/cmd/config"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

// Whatever is wrong with the files of a state, a crawl and its check end with the exit code of damage.
func TestADamagedStateHasOneExitCode(t *testing.T) {
	whole, earlier := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 12, Hosts: 3, Domains: 1, Pages: 60, Degree: 12})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		crawltest.Run(t, crawltest.Of(t, whole, web, -1, func(o *master.Options) {
			o.Store.Partitions,
				o.MaxPages = 3, 20
		}))
		if err := os.CopyFS(earlier, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		crawltest.Run(t, crawltest.Of(t, whole, web, -1, func(o *master.Options) { o.MaxPages = 60 }))
	})
	for name, spoil := range map[string]func(path string) error{
		"cut in its first page":  func(path string) error { return os.Truncate(path, 100) },
		"cut in its second page": func(path string) error { return os.Truncate(path, 5000) },
		"cut behind its metas":   func(path string) error { return os.Truncate(path, 8192) },
		"emptied":                func(path string) error { return os.Truncate(path, 0) },
		"gone":                   os.Remove,
		"something else":         func(path string) error { return os.WriteFile(path, make([]byte, 1<<16), 0o644) },
		"older than the others": func(path string) error {
			b, err := os.ReadFile(filepath.Join(earlier, "state", "p002.db"))
			return errors.Join(err, os.WriteFile(path, b, 0o644))
		},
		"that of another partition": func(path string) error {
			b, err := os.ReadFile(filepath.Join(whole, "state", "p001.db"))
			return errors.Join(err, os.WriteFile(path, b, 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(dir, "state", "p002.db")); err != nil {
				t.Fatal(err)
			}
			_, err := command(t, "crawl", "--dir", dir, "--allow-private", "--progress", "off", "--listen-http", "off")
			if code := config.Code(err); code != config.ExitDamaged || strings.Contains(err.Error(), "panic") {
				t.Errorf("crawl: exit code %d: %v", code, err)
			}
			_, err = command(t, "check", dir)
			if code := config.Code(err); code != config.ExitDamaged {
				t.Errorf("check: exit code %d: %v", code, err)
			}
		})
	}
}
