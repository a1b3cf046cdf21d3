package config

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// AllSettings are the settings of all programs, each once.
func AllSettings(run *Run) *pflag.FlagSet {
	f := pflag.NewFlagSet("all", pflag.ContinueOnError)
	new(Crawl).Register(f)
	new(Work).Register(f)
	new(Collect).Register(f)
	new(Peers).Register(f, "127.0.0.1:7781", "127.0.0.1:7782")
	new(Masters).Register(f)
	run.Register(f)
	new(Log).Register(f)
	return f
}

// PrintInForce writes the value of every setting, and where it comes from, as a file that henro reads as henro.yaml.
func PrintInForce(w io.Writer, flags *pflag.FlagSet, shown func(*pflag.Flag) bool) (err error) {
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
		_, err = fmt.Fprintf(w, "%-36s # %s\n", line, source)
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

// schema is one JSON Schema, or a part of one.
type schema struct {
	Draft       string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        any                `json:"type,omitempty"` // a word or a list of them
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Default     any                `json:"default,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Additional  *bool              `json:"additionalProperties,omitempty"`
}

// WriteSchema describes henro.yaml as JSON Schema, by which editors complete and check it.
func WriteSchema(w io.Writer) error {
	s := &schema{Draft: "https://json-schema.org/draft/2020-12/schema", Title: "henro.yaml", Type: "object",
		Description: "settings of henro, henro-master and henro-slave", Properties: map[string]*schema{},
		Additional: new(bool)}
	AllSettings(new(Run)).VisitAll(func(f *pflag.Flag) { s.Properties[f.Name] = schemaOf(f) })
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(s)
}

// schemaOf describes the values of one setting: what the flag's parser takes, as far as a pattern says it.
func schemaOf(f *pflag.Flag) *schema {
	_, meaning := pflag.UnquoteUsage(f)
	s := &schema{Description: meaning, Type: "string", Enum: words[f.Name]}
	number, err := strconv.ParseFloat(f.DefValue, 64)
	switch kind := f.Value.Type(); {
	case f.Name == "name": // the default is the name of the host
	case kind == "bool":
		s.Type, s.Default = "boolean", f.DefValue == "true"
	case kind == "duration":
		s.Pattern, s.Default = `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$`, f.DefValue
		s.Type = []string{"string", "integer"} // 0
	case slices.Contains([]string{"int", "uint", "uint64"}, kind) && err == nil:
		s.Type, s.Default = "integer", number
	case strings.HasPrefix(kind, "float") && err == nil:
		s.Type, s.Default = "number", number
	case kind == "size":
		s.Type, s.Pattern, s.Default = []string{"string", "integer"}, `^ *[0-9.]+ *([KkMmGgTt][Ii]?)?[Bb]?$`, f.DefValue
	case f.DefValue != "" && f.DefValue != "[]":
		s.Default = f.DefValue
	}
	if _, repeatable := f.Value.(pflag.SliceValue); repeatable {
		s.Type, s.Items, s.Default = []string{"array", "string"}, &schema{Type: "string"}, nil
	}
	if f.NoOptDefVal == "true" && f.Value.Type() != "bool" { // --allow-private, alone or with a network
		s.Type = []string{"boolean", "string", "array"}
	}
	return s
}
