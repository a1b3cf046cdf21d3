package config

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagError says what is wrong with a flag, and which one may have been meant.
func FlagError(cmd *cobra.Command, err error) error {
	meant := ""
	if unknown := new(pflag.NotExistError); errors.As(err, &unknown) {
		if instead, went := gone[unknown.GetSpecifiedName()]; went {
			return Usage("--%s is gone: %s", unknown.GetSpecifiedName(), instead)
		}
		best := len(unknown.GetSpecifiedName())/3 + 2
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if d := distance(unknown.GetSpecifiedName(), f.Name); d < best && !f.Hidden {
				best, meant = d, fmt.Sprintf("; did you mean --%s?", f.Name)
			}
		})
		crawls, slaves := pflag.NewFlagSet("", 0), pflag.NewFlagSet("", 0)
		new(Crawl).Register(crawls)
		new(Work).Register(slaves)
		new(Collect).Register(slaves)
		switch name := unknown.GetSpecifiedName(); {
		case crawls.Lookup(name) != nil:
			meant = "; it is a setting of the crawl: give it to henro crawl or henro-master"
		case slaves.Lookup(name) != nil:
			meant = "; it is a setting of each slave: give it to henro-slave"
		}
	}
	if invalid := new(pflag.InvalidValueError); errors.As(err, &invalid) {
		if f := invalid.GetFlag(); wants[f.Value.Type()] != "" {
			err = fmt.Errorf("--%s %w", f.Name, wanted(f, invalid.GetValue(), err))
		}
	}
	return Usage("%v%s; %s --help lists the flags", err, meant, cmd.CommandPath())
}

// wants are the values that flags take, by their types.
var wants = map[string]string{"int": "a number", "uint": "a number", "uint16": "a number", "uint64": "a number",
	"float64": "a number", "duration": "a span such as 30s or 12h", "bool": "true or false"}

// wanted is the error of a value that a flag has refused, if it has: what it takes in place of it.
func wanted(f *pflag.Flag, value string, err error) error {
	if want := wants[f.Value.Type()]; err != nil && want != "" {
		return fmt.Errorf("%q: want %s", value, want)
	}
	return err
}
