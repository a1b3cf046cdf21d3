package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"henro/cmd/config"
)

func inForce(t *testing.T, flags *pflag.FlagSet) string {
	t.Helper()
	var out strings.Builder
	if err := config.PrintInForce(&out, flags, func(f *pflag.Flag) bool { return f.Name != "config" }); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What is in force is printed with where it comes from, and is a henro.yaml that gives the same settings.
func TestSettingsInForceAreAFileThatGivesThem(t *testing.T) {
	path := write(t, "depth: 5\nexclude: ['\\.pdf$', \"a # b\"]\nmax-body: 1MiB\ndelay: 7s\ncontact: 'x: y@z'\n")
	t.Setenv("HENRO_FETCH_TIMEOUT", "8s")
	t.Setenv("HENRO_ALLOW_PRIVATE", "10.1.0.0/16")
	flags := config.AllSettings(new(config.Run))
	if err := flags.Parse([]string{"--pages=9", "--include", "/a"}); err != nil {
		t.Fatal(err)
	}
	if err := config.Load(flags, path, nil); err != nil {
		t.Fatal(err)
	}
	text := inForce(t, flags)
	lines := map[string]bool{}
	for line := range strings.Lines(text) {
		lines[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, want := range []string{"depth: 5 # " + path, `exclude: ["\\.pdf$","a # b"] # ` + path, "pages: 9 # flag",
		"fetch-timeout: 8s # HENRO_FETCH_TIMEOUT", "retries: 3 # default", `include: ["/a"] # flag`,
		`allow-private: ["10.1.0.0/16"] # HENRO_ALLOW_PRIVATE`} {
		if !lines[want] {
			t.Errorf("%q is not among\n%s", want, text)
		}
	}
	t.Setenv("HENRO_FETCH_TIMEOUT", "8s")
	again := config.AllSettings(new(config.Run))
	if err := config.Load(again, write(t, text), nil); err != nil {
		t.Fatal(err)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if got := again.Lookup(f.Name).Value.String(); got != f.Value.String() && f.Name != "config" {
			t.Errorf("%s is %s when the file is read again, was %s", f.Name, got, f.Value)
		}
	})
}

// A setting of the file is as good as a flag for whoever asks whether it was given.
func TestASettingOfTheFileCountsAsGiven(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	var c config.Crawl
	c.Register(flags)
	if err := config.Load(flags, write(t, "profile: archive\ndelay: 9s\ncontact: you@example.org\n"),
		config.Settings()); err != nil {
		t.Fatal(err)
	}
	o, err := c.Options(flags)
	if err != nil || o.Hosts.Politeness.Floor.Seconds() != 9 {
		t.Errorf("the interval is %v, %v", o.Hosts.Politeness.Floor, err)
	}
}

// The henro.yaml of the packages names settings that there are.
func TestThePackagedFileIsTaken(t *testing.T) {
	packaged := filepath.Join("..", "..", ".ci", "release", "files", "henro.yaml")
	if err := config.Load(config.AllSettings(new(config.Run)), packaged, nil); err != nil {
		t.Error(err)
	}
}

// Secrets may be a list of the file, and none is printed.
func TestSecretsInForceAreNotShown(t *testing.T) {
	path := write(t, "header: ['https://a.test/ X-Token: one', 'X-Two: two']\nbasic: ['https://me:three@b.test/']\n"+
		"proxy: http://me:four@c.test:3128\n")
	flags := config.AllSettings(new(config.Run))
	if err := config.Load(flags, path, nil); err != nil {
		t.Fatal(err)
	}
	text := inForce(t, flags)
	for _, want := range []string{`# header: "(2, not shown)"`, `# basic: "(1, not shown)"`,
		`# proxy: "http://me:xxxxx@c.test:3128"`} {
		if !strings.Contains(text, "\n"+want+" ") {
			t.Errorf("%q is not among\n%s", want, text)
		}
	}
	for _, secret := range []string{"one", "three", "four"} {
		if strings.Contains(text, secret+"\"") || strings.Contains(text, ":"+secret) {
			t.Errorf("%q is shown", secret)
		}
	}
}
