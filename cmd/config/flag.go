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
		best := len(unknown.GetSpecifiedName())/3 + 2
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if d := distance(unknown.GetSpecifiedName(), f.Name); d < best && !f.Hidden {
				best, meant = d, fmt.Sprintf("; did you mean --%s?", f.Name)
			}
		})
	}
	return Usage("%v%s; %s --help lists the flags", err, meant, cmd.CommandPath())
}
