package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"henro/messages/visible"
)

// Execute runs a command. Whatever it or one below it prints is shown by package visible.
func Execute(ctx context.Context, root *cobra.Command) error {
	root.SetOut(Shown(root.OutOrStdout()))
	root.SetErr(Shown(root.ErrOrStderr()))
	return root.ExecuteContext(ctx)
}

// Shown returns what shows text on w.
func Shown(w io.Writer) *visible.Writer {
	_, terminal := Terminal(w)
	return visible.To(w, terminal)
}

// File returns the file behind what a command writes to; false: there is none.
func File(w io.Writer) (*os.File, bool) {
	f, ok := visible.Behind(w).(*os.File)
	return f, ok
}

// Terminal returns the terminal behind what a command writes to; false: there is none. What is written to it steers it.
func Terminal(w io.Writer) (*os.File, bool) {
	f, ok := File(w)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// Say tells why a program has failed, each error on a line; without one, nothing.
func Say(w io.Writer, program string, err error) {
	if err == nil {
		return
	}
	if exit, ok := err.(*Exit); ok {
		err = exit.Err
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok && errors.Join(all.Unwrap()...).Error() == err.Error() {
		for _, one := range all.Unwrap() {
			Say(w, program, one)
		}
		return
	}
	fmt.Fprintf(w, "%s: %s\n", program, visible.Line(err.Error()))
}

// shownText is the log as text. Its formatter quotes values, but not the message.
type shownText struct{ logrus.TextFormatter }

// Format writes a line of the log.
func (s *shownText) Format(entry *logrus.Entry) ([]byte, error) {
	entry.Message = visible.Line(entry.Message)
	return s.TextFormatter.Format(entry)
}
