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

// Files are read as editors and shells of Windows leave them: UTF-8 behind a mark, or UTF-16.
func TestFilesOfWindowsAreRead(t *testing.T) {
	for sentence, text := range map[string]string{
		"UTF-8 with a mark":     "\ufeffhttp://a.test/\r\n",
		"UTF-16, little endian": "\xff\xfeh\x00t\x00t\x00p\x00:\x00/\x00/\x00a\x00.\x00t\x00e\x00s\x00t\x00/\x00",
		"UTF-16, big endian":    "\xfe\xff\x00h\x00t\x00t\x00p\x00:\x00/\x00/\x00a\x00.\x00t\x00e\x00s\x00t\x00/\x00\n",
	} {
		crawl := config.Crawl{SeedFile: "-"}
		seeds, err := crawl.Seeds(nil, strings.NewReader(text))
		if err != nil || len(seeds) != 1 || seeds[0].URL.String() != "http://a.test/" {
			t.Errorf("%s: seeds %v, %v", sentence, seeds, err)
		}
	}
}
