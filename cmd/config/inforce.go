package config

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"

	"github.com/spf13/pflag"
)

// AllSettings are the settings of all programs, each once.
func AllSettings(run *Run, crawl *Crawl) *pflag.FlagSet {
	f := pflag.NewFlagSet("all", pflag.ContinueOnError)
	crawl.Register(f)
	new(Work).Register(f)
	new(Collect).Register(f)
	new(Peers).Register(f, "127.0.0.1:7781", "127.0.0.1:7782")
	new(Masters).Register(f)
	run.Register(f)
	new(Log).Register(f)
	return f
}

// PrintInForce writes the value of every setting, where it comes from, and what follows for the crawl where that is
// another, as a file that henro reads as henro.yaml.
func PrintInForce(w io.Writer, flags *pflag.FlagSet, crawl *Crawl, shown func(*pflag.Flag) bool) (err error) {
	follows := crawl.Derived(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if !shown(f) || err != nil {
			return
		}
		source := "default"
		switch from := f.Annotations[sourceOf]; {
		case len(from) > 0:
			source = from[0]
		case f.Changed:
			source = "flag"
		}
		line := f.Name + ": " + inYAML(f)
		if hides(f) {
			line = "# " + line // what is shown would not give the same setting
		}
		_, err = fmt.Fprintf(w, "%-36s # %s\n", line, source+follows[f.Name])
	})
	return err
}

var plain = regexp.MustCompile(`^(-[0-9]+|[A-Za-z0-9/][A-Za-z0-9._/@+-]*)$`)

// inYAML writes the value of a flag: JSON, which is YAML, or a plain word.
func inYAML(f *pflag.Flag) string {
	if many, ok := f.Value.(pflag.SliceValue); ok && len(many.GetSlice()) > 0 {
		return asJSON(many.GetSlice())
	}
	value := f.Value.String()
	if value == "[]" || plain.MatchString(value) {
		return value
	}
	return asJSON(value)
}

func asJSON(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err) // words and lists of words
	}
	return string(b)
}
