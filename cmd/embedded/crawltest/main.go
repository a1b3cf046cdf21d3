package crawltest

import (
	"fmt"
	"os"
	"testing"
)

// Main runs the tests of a package with their folders in memory, where the system keeps files there and has room. A
// crawl of virtual months syncs its archive thousands of times, which is waited for in real time. What survives a loss
// of power is not for such crawls to find: that is done in store, store/archive/warc and the lab's power.
func Main(m *testing.M) (code int) {
	if dir, err := os.MkdirTemp(memory(), "henro-test-"); err == nil {
		defer os.RemoveAll(dir)
		os.Setenv("TMPDIR", dir)
	} else {
		fmt.Fprintln(os.Stderr, "folders of tests are on the disk:", err)
	}
	os.Setenv(setting, "off") // a test that wants one says so, whether this machine has one or not
	return m.Run()
}

// setting is what the tests of a package have in their environment.
const setting = "HENRO_BROWSER"

// Bare is for a test of what was set: nothing is, until it ends.
func Bare(t *testing.T) {
	t.Setenv(setting, "") // which puts it back
	os.Unsetenv(setting)
}
