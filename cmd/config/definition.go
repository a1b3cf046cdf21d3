package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"henro/actors/reading"
	"henro/master"
)

// notOfTheCrawl are the settings that belong to one run or to a machine. All others are the crawl's, and are kept in
// its directory.
var notOfTheCrawl = []string{"dir", "seeds", "pages", "for", "bytes", "again", // of one run
	"connections", "browser-path", "listen-http", "token-file", "progress",
	"config", "log-level", "name", "gossip", "actors", "advertise", "join", "key", "standby", "masters",
	"help"}

// kept is the file of a crawl's directory that has its settings, and the source of a setting that comes from there.
const kept = "crawl.json"

// Define completes the settings by those of the crawl in the directory, gives the crawl those that were given now, and
// says what they change. A crawl that another master leads already is followed: nothing given here changes it.
func (c *Crawl) Define(flags *pflag.FlagSet, follow bool, say func(line string)) error {
	d, err := reading.ReadDefinition(c.Dir)
	if err != nil {
		return Usage("%v", err)
	}
	for name := range d.Given {
		if instead, went := gone[name]; went {
			delete(d.Given, name)
			say(fmt.Sprintf("the setting %s of %s is gone: %s", name, kept, instead))
		} else if flags.Lookup(name) == nil || slices.Contains(notOfTheCrawl, name) {
			return Usage("%s has a setting %q that this program does not know%s; or take it out of the file",
				filepath.Join(c.Dir, kept), name, suggestion(name, names(flags)))
		}
	}
	if slices.Equal(d.Given["frontier"], []string{"slots"}) {
		d.Given["frontier"] = []string{"ranked"}
		say("--frontier slots is gone: ranked, as bounded and with the best URLs first, takes its place")
	}
	secrets := d.Secrets
	s := settling{d, follow && d.Judged != "", say} // a crawl that is not known yet is as it is given
	flags.VisitAll(func(f *pflag.Flag) {
		if from := f.Annotations[sourceOf]; len(from) > 0 && from[0] == kept && err == nil { // an earlier Define
			f.Changed, f.Annotations = false, nil
			err = setWords(f, nil)
		}
	})
	if c.Watches {
		s.prefer(flags, map[string]string{"depth": "0", "continuous": "true"})
	}
	s.chooseMode(flags, c.Dir)
	d.Secrets = nil
	flags.VisitAll(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(notOfTheCrawl, f.Name) {
			err = s.settle(f)
		}
	})
	if err != nil {
		return err
	}
	for _, name := range secrets {
		if !slices.Contains(d.Secrets, name) {
			say(name + ": the crawl had it and does not keep it, since it is secret; give it again if it is needed")
			d.Secrets = append(d.Secrets, name)
		}
	}
	d.Deepen(c.Depth)
	c.definition, c.follows = d, follow
	if strangers := strangers(c.Dir); len(strangers) > 0 {
		say(fmt.Sprintf("%s has files that are of no crawl, such as %q: they stay as they are, and the crawl is put "+
			"beside them; --dir names another directory", c.Dir, strangers[0]))
	}
	return nil
}

// Recall completes settings by those that the crawl in a directory keeps, for who looks at them.
func Recall(flags *pflag.FlagSet, dir string) error {
	d, err := reading.ReadDefinition(dir)
	flags.VisitAll(func(f *pflag.Flag) {
		if err == nil && d.Given[f.Name] != nil && !f.Changed {
			err = (&settling{d, true, nil}).settle(f)
		}
	})
	return err
}

// strangers are the files of a directory in which no crawl has left anything. Hidden ones do not count, nor do those
// that people put there for a crawl or that a disk begins with.
func strangers(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // one that cannot be read is no directory for a crawl: Dir says so
	for _, entry := range entries {
		switch name := entry.Name(); name {
		case "state", "warc", "logs", kept:
			return nil
		case "henro.yaml", "watch.yaml", "watch.list", "list.txt", "tell.yaml", "lost+found":
		default:
			if !strings.HasPrefix(name, ".") {
				names = append(names, name)
			}
		}
	}
	return names
}

// settling brings the settings of a crawl and those given together.
type settling struct {
	*reading.Definition
	follow bool
	say    func(line string)
}

// prefer gives settings values where neither the crawl nor who runs it has given one.
func (s *settling) prefer(flags *pflag.FlagSet, values map[string]string) {
	for name, value := range values {
		if f := flags.Lookup(name); !f.Changed && s.Given[name] == nil {
			f.Value.Set(value) //nolint:errcheck // it takes this
			f.Changed = true
		}
	}
}

// chooseMode decides between --again and --continuous: the one given now holds, otherwise the one that the crawl has.
func (s *settling) chooseMode(flags *pflag.FlagSet, dir string) {
	again, continuous := flags.Lookup("again"), flags.Lookup("continuous")
	rounds, err := master.ReadRounds(dir)
	interrupted := err == nil && len(rounds) > 0 && rounds[len(rounds)-1].Ended.IsZero() // Start reports err
	switch {
	case again.Changed && !continuous.Changed && !s.follow:
		s.change(continuous, nil)
	case continuous.Changed && !s.follow:
		s.change(flags.Lookup("every"), nil)
	case s.Given["every"] != nil:
		again.Value.Set("true") //nolint:errcheck // it takes this
	case interrupted && s.Given["continuous"] == nil:
		again.Value.Set("true") //nolint:errcheck // it takes this
		s.say(fmt.Sprintf("round %d goes on", rounds[len(rounds)-1].Number))
	}
}

// settle gives one setting the value that the crawl has, or the crawl the one that was given.
func (s *settling) settle(f *pflag.Flag) error {
	before := s.Given[f.Name]
	switch {
	case hides(f):
		s.Secrets = append(s.Secrets, f.Name)
		return nil
	case f.Changed && !s.follow:
		now, err := given(f)
		if err == nil {
			s.change(f, now)
		}
		return err
	case before == nil && f.Changed:
		f.Changed = false
		return setWords(f, nil)
	case before == nil:
		return nil
	}
	if err := setWords(f, before); err != nil {
		return Usage("%s: setting %s: %v", kept, f.Name, err)
	}
	f.Changed, f.Annotations = true, map[string][]string{sourceOf: {kept}}
	return nil
}

// change gives the crawl another value of a setting; nil: the default.
func (s *settling) change(f *pflag.Flag, now []string) {
	before := s.Given[f.Name]
	if now == nil {
		delete(s.Given, f.Name)
	} else {
		s.Given[f.Name] = now
	}
	if len(s.Seeds) == 0 || slices.Equal(before, now) { // a crawl that begins, or what it was
		return
	}
	s.Change(reading.SettingChange{At: time.Now(), Setting: f.Name, From: before, To: now})
	s.say(fmt.Sprintf("%s: %s → %s", f.Name, shown(f, before), shown(f, now)))
}

// shown is a value as people read it.
func shown(f *pflag.Flag, value []string) string {
	if value != nil {
		return strings.Join(value, ", ")
	}
	if _, repeatable := f.Value.(pflag.SliceValue); repeatable {
		return "none"
	}
	return f.DefValue
}

// hides reports whether a setting has a secret.
func hides(f *pflag.Flag) bool {
	secret, ok := f.Value.(interface{ Hides() bool })
	return ok && secret.Hides()
}

// given is the value of a flag, as setWords takes it: nil where it is the default. Files are named from the root, since
// the crawl may go on in another folder. An empty word in a list stands for none.
func given(f *pflag.Flag) (value []string, err error) {
	value = []string{f.Value.String()}
	if many, ok := f.Value.(pflag.SliceValue); ok && len(many.GetSlice()) > 0 {
		value = slices.DeleteFunc(slices.Clone(many.GetSlice()), func(word string) bool { return word == "" })
		if err := many.Replace(value); err != nil {
			return nil, err
		}
	}
	if len(value) == 0 || f.Value.String() == f.DefValue {
		return nil, nil
	}
	kind, usage := pflag.UnquoteUsage(f)
	for i, name := range value {
		at, isFile := "", kind == "FILE"
		if strings.Contains(usage, "@FILE") && strings.HasPrefix(name, "@") {
			at, name, isFile = "@", name[1:], true
		}
		if isFile {
			if name, err = filepath.Abs(name); err != nil {
				return nil, err
			}
			value[i] = at + name
		}
	}
	return value, nil
}

// setWords gives a flag a value; nil: the default.
func setWords(f *pflag.Flag, value []string) error {
	if many, ok := f.Value.(pflag.SliceValue); ok {
		return many.Replace(value)
	}
	if len(value) == 0 {
		value = []string{f.DefValue}
	}
	return f.Value.Set(value[0])
}
