package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"henro/cmd/config"
)

func flags() (*pflag.FlagSet, *int, *time.Duration, *[]string) {
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	return f, f.Int("depth", 3, ""), f.Duration("fetch-timeout", time.Minute, ""), f.StringArray("resolve", nil, "")
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "henro.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	path := write(t, "depth: 5\nfetch-timeout: 7s\nresolve: [a:80:127.0.0.1, b:80:127.0.0.2]\n")
	f, depth, timeout, resolve := flags()
	t.Setenv("HENRO_FETCH_TIMEOUT", "8s")
	t.Setenv("HENRO_DEPTH", "6")
	if err := f.Parse([]string{"--depth=9"}); err != nil {
		t.Fatal(err)
	}
	if err := config.Load(f, path, nil); err != nil {
		t.Fatal(err)
	}
	if *depth != 9 || *timeout != 8*time.Second || len(*resolve) != 2 {
		t.Errorf("depth %d, timeout %v, resolve %q", *depth, *timeout, *resolve)
	}
}

func TestBadInputIsBadUsage(t *testing.T) {
	for _, c := range []struct{ sentence, text, want string }{
		{"an unknown key is named, with its neighbour", "dept: 5\n", `did you mean "depth"`},
		{"a value that does not parse is named, with what is wanted", "depth: deep\n",
			`henro.yaml: "deep": want a number`},
		{"a span without a unit is named", "fetch-timeout: 5\n", `"5": want a span such as 30s`},
		{"a list for a single value is refused", "depth: [1, 2]\n", "want one value"},
		{"a key without a value is refused", "depth: 1\nresolve:\n", "want a value, or a list"},
		{"a setting within another is shown as it stands", "fetch: {timeout: 5s}\n",
			`"fetch: timeout"; did you mean "fetch-timeout"`},
		{"a broken file is refused", "depth: [\n", "read the configuration"},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			f, _, _, _ := flags()
			err := config.Load(f, write(t, c.text), nil)
			if config.Code(err) != config.ExitUsage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	f, _, _, _ := flags()
	if err := config.Load(f, filepath.Join(t.TempDir(), "none.yaml"), nil); config.Code(err) != config.ExitUsage {
		t.Errorf("a missing file that was named: %v", err)
	}
}

// The environment names the file too, and is named where its value does not parse.
func TestTheEnvironmentNamesTheFile(t *testing.T) {
	f, depth, _, _ := flags()
	t.Setenv("HENRO_CONFIG", write(t, "depth: 7\n"))
	if err := config.Load(f, "", nil); err != nil || *depth != 7 {
		t.Errorf("depth %d, %v", *depth, err)
	}
	t.Setenv("HENRO_DEPTH", "")
	f, _, _, _ = flags()
	if err := config.Load(f, "", nil); err == nil || !strings.Contains(err.Error(), `HENRO_DEPTH: "": want a number`) {
		t.Errorf("got %v", err)
	}
}

func TestAKeyOfAnotherProgramIsNoError(t *testing.T) {
	f, _, _, _ := flags()
	if err := config.Load(f, write(t, "gossip: 127.0.0.1:7781\n"), []string{"gossip"}); err != nil {
		t.Error(err)
	}
}

// A flag that stands in no group is none: henro crawl would not know it.
func TestEveryFlagStandsInAGroup(t *testing.T) {
	var c, grouped config.Crawl
	all, shown := pflag.NewFlagSet("all", pflag.ContinueOnError), pflag.NewFlagSet("shown", pflag.ContinueOnError)
	c.Register(all)
	for _, group := range grouped.Groups() {
		group.Register(shown)
	}
	all.VisitAll(func(f *pflag.Flag) {
		if shown.Lookup(f.Name) == nil {
			t.Errorf("--%s is in no group", f.Name)
		}
	})
}
