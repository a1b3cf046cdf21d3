// Package config reads the settings of the programs: a flag beats the environment, which beats henro.yaml, which beats
// the default.
//
// The set of flags of a command is the one list of settings: the environment knows --fetch-timeout as
// HENRO_FETCH_TIMEOUT and the file as fetch-timeout, and all three are read by the flag's own parser, so that they
// accept the same values and fail with the same words. A key of the file that no command knows is an error, so that a
// slip of the pen is not a silent default.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"henro/store"
	"henro/store/archive/warc"
)

// Exit codes of all programs.
const (
	ExitFinished    = 0
	ExitFailed      = 1
	ExitUsage       = 2 // bad usage or configuration: nothing was touched
	ExitDiskFull    = 3
	ExitDamaged     = 4 // the state or an archive is damaged
	ExitPanicked    = 5 // a fault of henro: the state is as after a kill, and the same directory resumes
	ExitSeedsFailed = 6 // every seed failed: the crawl is over
	ExitSizeLimit   = 14
	ExitTimeLimit   = 15
	ExitPageLimit   = 16
	ExitInterrupted = 130 // the state is kept
)

// Exit is an error that knows the exit code it means.
type Exit struct {
	Code int
	Err  error
}

func (e *Exit) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *Exit) Unwrap() error { return e.Err }

// Usage makes an error of bad usage: one line that says what to do.
func Usage(format string, args ...any) error {
	return &Exit{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Takes refuses too few and too many arguments of a command with a question.
func Takes(least, most int, question string) cobra.PositionalArgs {
	return func(_ *cobra.Command, arguments []string) error {
		if len(arguments) < least || len(arguments) > most {
			return Usage("%s; given: %s", question, cmp.Or(strings.Join(arguments, " "), "nothing"))
		}
		return nil
	}
}

// Code returns the exit code that an error means.
func Code(err error) int {
	var exit *Exit
	switch {
	case err == nil:
		return ExitFinished
	case errors.As(err, &exit):
		return exit.Code
	case errors.Is(err, store.ErrCorrupt), errors.Is(err, store.ErrMismatch):
		return ExitDamaged
	case errors.Is(err, store.ErrDiskFull), warc.DiskFull(err):
		return ExitDiskFull
	default:
		return ExitFailed
	}
}

// gone are settings that an earlier version had, each with what takes its place. Where a file has one, it is said and
// left out.
var gone = map[string]string{
	"bot-agent":        "a line Signature-Agent: URL of the FILE of --bot-key names the directory",
	"lease":            "it is as long as --fetch-timeout, 6s to 1m",
	"objective":        "--relief freshness and --relief age share visits out for these, optimal for versions",
	"requisite-delay":  "--delay is for requisites too, and --parallel HOST=N for hosts whose operators consent",
	"retry-wait":       "twelve times --delay, 1s to 1m",
	"warc-compression": "each record is a gzip member, which every tool reads",
	"warc-metadata":    "language, title and links are in the state: henro export, henro sql",
	"warc-prefix":      "the names of WARC files begin with " + WARCPrefix,
}

// EnvironmentPrefix is before every setting in the environment.
const EnvironmentPrefix = "HENRO_"

// Load completes the flags that were not given from the environment and the file. An empty path means the one that the
// environment names, or henro.yaml in the working directory, if there is one. Keys are the settings of any program,
// since they share one file.
func Load(flags *pflag.FlagSet, path string, keys []string) error {
	k := koanf.New("\x00")
	path = cmp.Or(path, os.Getenv(variable("config")))
	name := cmp.Or(path, "henro.yaml")
	if _, err := os.Stat(name); err == nil || path != "" {
		if err := k.Load(file.Provider(name), yaml.Parser()); err != nil {
			return Usage("read the configuration %s: %v", name, err)
		}
		for _, key := range k.Keys() {
			if instead, went := gone[key]; went {
				fmt.Fprintf(os.Stderr, "%s: the setting %s is gone: %s\n", name, key, instead)
			} else if flags.Lookup(key) == nil && !slices.Contains(keys, key) {
				return Usage("%s: unknown key %q%s", name, strings.ReplaceAll(key, "\x00", ": "),
					suggestion(key, append(names(flags), keys...)))
			}
		}
	}
	environment := koanf.New("\x00")
	if err := environment.Load(env.Provider("\x00", env.Opt{Prefix: EnvironmentPrefix,
		TransformFunc: func(key, value string) (string, any) {
			return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(key, EnvironmentPrefix)), "_", "-"), value
		}}), nil); err != nil {
		return Usage("read the environment: %v", err)
	}
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		from, source := environment, variable(f.Name)
		if !from.Exists(f.Name) {
			from, source = k, name
		}
		if f.Changed || !from.Exists(f.Name) || failed != nil {
			return
		}
		if err := set(f, from.Get(f.Name)); err != nil {
			failed = Usage("setting %s of %s: %v", f.Name, source, err)
		}
		f.Changed = true // as if it had been given: --partitions, --delay … ask
		if err := flags.SetAnnotation(f.Name, sourceOf, []string{source}); err != nil {
			failed = err // there is no such flag: does not happen
		}
	})
	return failed
}

// sourceOf annotates a flag with the file or the variable that set it.
const sourceOf = "henro: source"

// variable is the name of a setting in the environment.
func variable(name string) string {
	return EnvironmentPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Set gives flags the values of settings, as the file has them, through the flags' own parsers.
func Set(flags *pflag.FlagSet, settings map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		f := flags.Lookup(name)
		if instead, went := gone[name]; went {
			return Usage("the setting %s is gone: %s", name, instead)
		} else if f == nil {
			return Usage("unknown setting %q%s", name, suggestion(name, names(flags)))
		}
		if err := set(f, settings[name]); err != nil {
			return Usage("setting %s: %v", name, err)
		}
		f.Changed = true
	}
	return nil
}

// set gives a flag its value through its own parser; a list replaces what a repeatable flag held.
func set(f *pflag.Flag, value any) error {
	words, isList := value.([]string)
	if list, ok := value.([]any); ok {
		isList = true
		for _, item := range list {
			words = append(words, fmt.Sprint(item))
		}
	}
	many, repeatable := f.Value.(pflag.SliceValue)
	switch {
	case value == nil:
		return errors.New("want a value, or a list of values")
	case !isList:
		return wanted(f, fmt.Sprint(value), f.Value.Set(fmt.Sprint(value)))
	case repeatable:
		return many.Replace(words)
	}
	return errors.New("want one value, not a list")
}

func names(flags *pflag.FlagSet) []string {
	var all []string
	flags.VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	return all
}

// suggestion names the known word that is nearest to a mistyped one, if one is near.
func suggestion(word string, known []string) string {
	best, nearest := "", 3
	for _, candidate := range known {
		if d := distance(word, candidate); d < nearest {
			best, nearest = candidate, d
		}
	}
	if best == "" {
		return "; henro crawl --help lists the settings"
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the Levenshtein distance of two short words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := previous
			if a[i] != b[j] {
				cost++
			}
			previous = row[j+1]
			row[j+1] = min(cost, row[j]+1, previous+1)
		}
	}
	return row[len(b)]
}

// FromEnvironment is the value of a variable that a user has named; "": there is none.
func FromEnvironment(name string) string { return os.Getenv(name) }
