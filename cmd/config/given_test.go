package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"henro/messages"
	"henro/slave/botauth"
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

// Files that flags name are read as programs of Windows leave them.
func TestListsOfWindowsAreRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	for sentence, text := range map[string]string{
		"UTF-8 with a mark": "\ufeffa.test\r\nb.test\r\n",
		"UTF-16":            "\xff\xfea\x00.\x00t\x00e\x00s\x00t\x00\n\x00b\x00.\x00t\x00e\x00s\x00t\x00",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, read := range []func(string) ([]string, error){readLines, func(name string) ([]string, error) {
			return listed("@" + name)
		}} {
			if lines, err := read(name); err != nil || !slices.Equal(lines, []string{"a.test", "b.test"}) {
				t.Errorf("%s: %q, %v", sentence, lines, err)
			}
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
	r := &messages.FetchSettings{CookieHosts: []string{"@a", "b.test", "@b"}}
	if err := checkSecrets(r, "host"); err != nil || !slices.Equal(r.CookieHosts, []string{"b.test"}) ||
		string(r.CookieFile) != line+"\n"+line {
		t.Errorf("%v, hosts %q, cookies %q", err, r.CookieHosts, r.CookieFile)
	}
}

// What is secret may hold any sign.
func TestAHeaderInAFileIsTakenWhole(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "# of the archive\n\nhttps://a.test/ Authorization: Bearer a#b #c\n"
	if err := os.WriteFile("h", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := headers{rules: &messages.FetchSettings{}}
	if err := h.Set("@h"); err != nil || len(h.given) != 1 || h.given[0].Value != "Bearer a#b #c" {
		t.Errorf("%v, %v", h.given, err)
	}
}

// A crawl and a file of settings that name what an earlier version had are opened without it, and say so.
func TestSettingsThatWentAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "settings.yaml")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, kept), []byte(
		`{"version":1,"settings":{"warc-metadata":["true"],"depth":["7"],"frontier":["slots"]}}`), 0o644),
		os.WriteFile(name, []byte("bot-agent: https://bot.test\nretries: 5\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	var c Crawl
	f := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	c.Register(f)
	c.Dir = dir
	var said []string
	say := func(line string) { said = append(said, line) }
	if err := errors.Join(Load(f, name, nil), c.Define(f, false, say)); err != nil ||
		c.Depth != 7 || c.Frontier != "ranked" || c.Retries != 5 || c.definition.Given["warc-metadata"] != nil ||
		!strings.Contains(strings.Join(said, "\n"), "the setting warc-metadata of crawl.json is gone") {
		t.Errorf("%v, depth %d, retries %d, said %q", err, c.Depth, c.Retries, said)
	}
}

// A watch follows no links and goes on, unless somebody has said otherwise, now or when the crawl began.
func TestAWatchFollowsNoLinks(t *testing.T) {
	for file, want := range map[string]struct {
		depth      int
		continuous bool
	}{"": {0, true}, `{"version":1,"settings":{"depth":["1"]}}`: {1, true}} {
		var c Crawl
		f := pflag.NewFlagSet("watch", pflag.ContinueOnError)
		c.Register(f)
		c.Dir, c.Watches = t.TempDir(), true
		if file != "" {
			if err := os.WriteFile(filepath.Join(c.Dir, kept), []byte(file), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Define(f, false, func(string) {}); err != nil || c.Depth != want.depth ||
			c.Continuous != want.continuous || c.definition.Given["depth"][0] != strconv.Itoa(want.depth) {
			t.Errorf("%s: depth %d, continuous %v, kept %v: %v", file, c.Depth, c.Continuous, c.definition.Given, err)
		}
	}
}

// The file of a key for requests may name its directory, before the key or behind it.
func TestAKeyNamesItsDirectory(t *testing.T) {
	key, err := botauth.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "bot.key")
	for text, want := range map[string]string{string(key): "",
		string(key) + "Signature-Agent: https://a.test\n": "https://a.test",
		"Signature-Agent: https://a.test\n" + string(key): "https://a.test"} {
		r := &messages.FetchSettings{}
		b := &botKey{rules: r}
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), b.Set(name)); err != nil || r.BotAgent != want {
			t.Errorf("%q names %q, want %q: %v", text, r.BotAgent, want, err)
		}
	}
	if err := os.WriteFile(name, append(key, "Signature-Agent: http://a.test\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&botKey{rules: &messages.FetchSettings{}}).Set(name); err == nil {
		t.Error("a directory without TLS is taken")
	}
}
