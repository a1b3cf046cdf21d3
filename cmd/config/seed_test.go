package config_test

import (
	"strings"
	"testing"

	"henro/cmd/config"
)

// A URL with a space in it is shown whole, with what to write instead.
func TestASeedWithASpaceSaysWhatIsWrong(t *testing.T) {
	const line = "http://exa mple.org/"
	if _, err := config.ParseSeed(line, 1); err == nil || !strings.Contains(err.Error(), line) ||
		!strings.Contains(err.Error(), "%20") {
		t.Errorf("%v", err)
	}
	if seed, err := config.ParseSeed("http://example.org/ depth=3", 1); err != nil || seed.Depth != 3 {
		t.Errorf("%v, %v", seed, err)
	}
}
