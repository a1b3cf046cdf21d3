package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"henro/messages"
)

// What is kept of a crawl names files from the root, and leaves alone what only begins like one.
func TestFilesAreKeptFromTheRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var c Crawl
	f := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	c.Register(f)
	if err := f.Parse([]string{"--exclude=@2x", "--cookies=a.test", "--cookies=@c.txt", "--stop-list=s"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"exclude": {"@2x"}, "stop-list": {filepath.Join(here, "s")},
		"cookies": {"a.test", "@" + filepath.Join(here, "c.txt")}} {
		if got, err := given(f.Lookup(name)); err != nil || !slices.Equal(got, want) {
			t.Errorf("--%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

// Files of cookies are read one after the other, also where the last line of one has no end.
func TestSeveralFilesOfCookies(t *testing.T) {
	t.Chdir(t.TempDir())
	line := "a.test\tFALSE\t/\tFALSE\t4102444800\tname\tvalue"
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &messages.FetchRules{CookieHosts: []string{"@a", "b.test", "@b"}}
	if err := checkSecrets(r, "host"); err != nil || !slices.Equal(r.CookieHosts, []string{"b.test"}) ||
		string(r.CookieFile) != line+"\n"+line {
		t.Errorf("%v, hosts %q, cookies %q", err, r.CookieHosts, r.CookieFile)
	}
}
