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
