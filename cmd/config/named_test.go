package config_test

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"henro/cmd/config"
)

// A browser that is named and not there is a mistake of whoever named it; that none is installed is none.
func TestABrowserThatIsNamedIsThere(t *testing.T) {
	var work config.Work
	work.Register(pflag.NewFlagSet("", pflag.PanicOnError))
	if err := work.Check(); err != nil {
		t.Error(err)
	}
	work.BrowserPath = t.TempDir() + "/chromium"
	if err := work.Check(); err == nil || config.Code(err) != 2 || !strings.Contains(err.Error(), "--browser-path") {
		t.Error(err)
	}
}

// A file that was named is there, also by the name that is looked for where none was.
func TestAFileThatWasNamedIsThere(t *testing.T) {
	t.Chdir(t.TempDir())
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	if err := config.Load(flags, "", nil); err != nil {
		t.Error(err)
	}
	if err := config.Load(flags, "henro.yaml", nil); err == nil || config.Code(err) != 2 {
		t.Error(err)
	}
}
