package config_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"henro/cmd/config"
	"henro/master"
	"henro/master/frontier"
)

func inForce(t *testing.T, flags *pflag.FlagSet, crawl *config.Crawl) string {
	t.Helper()
	var out strings.Builder
	if err := config.PrintInForce(&out, flags, crawl,
		func(f *pflag.Flag) bool { return f.Name != "config" }); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What is in force is printed with where it comes from, and is a henro.yaml that gives the same settings.
func TestSettingsInForceAreAFileThatGivesThem(t *testing.T) {
	path := write(t, "depth: 5\nexclude: ['\\.pdf$', \"a # b\"]\nmax-body: 1MiB\ndelay: 7s\ncontact: 'x: y@z'\n")
	t.Setenv("HENRO_FETCH_TIMEOUT", "8s")
	t.Setenv("HENRO_ALLOW_PRIVATE", "10.1.0.0/16")
	var crawl config.Crawl
	flags := config.AllSettings(new(config.Run), &crawl)
	if err := flags.Parse([]string{"--pages=9", "--include", "/a"}); err != nil {
		t.Fatal(err)
	}
	if err := config.Load(flags, path, nil); err != nil {
		t.Fatal(err)
	}
	text := inForce(t, flags, &crawl)
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
	again := config.AllSettings(new(config.Run), new(config.Crawl))
	if err := config.Load(again, write(t, text), nil); err != nil {
		t.Fatal(err)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if got := again.Lookup(f.Name).Value.String(); got != f.Value.String() && f.Name != "config" {
			t.Errorf("%s is %s when the file is read again, was %s", f.Name, got, f.Value)
		}
	})
}

// What follows from other settings is said with its reason, and is what the crawl does; what was given stays.
func TestWhatFollowsFromOtherSettingsIsSaid(t *testing.T) {
	const visitedOnce = "stop-after: -1 # default: 0, as nothing is visited again without --continuous"
	for given, want := range map[string]string{
		"": visitedOnce,
		"--scope=any": "obey: [] # default: nofollow too, as --scope any leads wherever strangers " +
			"have put links",
		"--continuous": "sitemaps: auto # default: on, as --continuous uses what they " +
			"say of changes",
		"--continuous --sitemaps=off":  "sitemaps: off # flag",
		"--mime=html":                  "requisites: all # default: none, as --mime html would not archive them",
		"--mime=html --requisites=all": "requisites: all # flag",
		"--requisites=off": "browser: auto # default: off, as what scripts ask for " +
			"would be requisites",
		"--mime=html --browser=all":         "browser: all # flag",
		"--profile=archive":                 "delay: 5s # default: as --profile archive has it",
		"--profile=archive --delay=9s":      "delay: 9s # flag",
		"--topic=x.txt":                     "frontier: host # default: ranked, by the --topic",
		"--topic=x.txt --again":             "frontier: host # default",
		"--topic=x.txt --frontier=mercator": "frontier: mercator # flag",
		"--continuous --stop-after=7":       "stop-after: 7 # flag",
	} {
		var crawl config.Crawl
		flags := config.AllSettings(new(config.Run), &crawl)
		if err := flags.Parse(strings.Fields(given)); err != nil {
			t.Fatal(err)
		}
		text := inForce(t, flags, &crawl)
		if !strings.Contains("\n"+strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' }), " "),
			"\n"+want+"\n") {
			t.Errorf("%s: %q is not in\n%s", given, want, text)
		}
	}
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
	if err := config.Load(config.AllSettings(new(config.Run), new(config.Crawl)), packaged, nil); err != nil {
		t.Error(err)
	}
}

// Secrets may be a list of the file, and none is printed.
func TestSecretsInForceAreNotShown(t *testing.T) {
	path := write(t, "header: ['https://a.test/ X-Token: one', 'X-Two: two']\nbasic: ['https://me:three@b.test/']\n"+
		"proxy: http://me:four@c.test:3128\n")
	var crawl config.Crawl
	flags := config.AllSettings(new(config.Run), &crawl)
	if err := config.Load(flags, path, nil); err != nil {
		t.Fatal(err)
	}
	text := inForce(t, flags, &crawl)
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

// The crawl does what is said to follow.
func TestWhatFollowsIsDone(t *testing.T) {
	topic := write(t, "tea\n")
	policy := func(p frontier.Policy) func(*master.Options) bool {
		return func(o *master.Options) bool { return o.Frontier.Policy == p }
	}
	for given, does := range map[string]func(*master.Options) bool{
		"": func(o *master.Options) bool {
			return o.Hosts.Stop.MinBroken == 0 && !o.Hosts.Sitemaps
		},
		"--continuous": func(o *master.Options) bool {
			return o.Hosts.Stop.MinBroken > 0 && o.Hosts.Sitemaps
		},
		"--stop-after=7": func(o *master.Options) bool { return o.Hosts.Stop.MinBroken == 7 },
		"--scope=any":    func(o *master.Options) bool { return o.Hosts.Admission.ObeyNofollow },
		"--scope=host":   func(o *master.Options) bool { return !o.Hosts.Admission.ObeyNofollow },
		"--mime=html":    func(o *master.Options) bool { return o.Hosts.Admission.Requisites == 0 },
		"--lang=ja": func(o *master.Options) bool {
			return o.Fetch.Browser == "auto"
		},
		"--mime=html --lang=ja": func(o *master.Options) bool {
			return o.Fetch.Browser == "off"
		},
		"--requisites=off": func(o *master.Options) bool { return o.Fetch.Browser == "off" },
		"--profile=archive": func(o *master.Options) bool {
			return o.Hosts.Politeness.Floor >= time.Minute
		},
		"--delay=7s": func(o *master.Options) bool {
			return o.Hosts.Politeness.Floor == 7*time.Second
		},
		"--topic=" + topic:         policy(frontier.PolicyRanked),
		"--again --topic=" + topic: policy(frontier.PolicyHost),
	} {
		var crawl config.Crawl
		flags := config.AllSettings(new(config.Run), &crawl)
		if err := flags.Parse(append(strings.Fields(given), "--contact=you@example.org")); err != nil {
			t.Fatal(err)
		}
		if o, err := crawl.Options(flags); err != nil || !does(&o) {
			t.Errorf("%s: %+v, %v", given, o.Hosts, err)
		}
	}
}
