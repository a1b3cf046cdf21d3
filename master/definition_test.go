package master

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"henro/messages/weburl"
)

// A crawl that was begun when crawl.json had the settings in force alone goes on with its seeds and its depth.
func TestADefinitionWithoutAVersionIsRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"crawl.json": `{"continuous": true, "admission": {"Depth": 2}, "archives_all": true}`,
		"seeds.json": `["http://a.example/", "http://b.example/"]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, err := ReadDefinition(dir)
	want := []KeptSeed{{"http://a.example/", 2}, {"http://b.example/", 2}}
	if err != nil || !reflect.DeepEqual(d.Seeds, want) || d.Judged == "" ||
		!d.InForce.Continuous || !d.InForce.ArchivesAll {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestADefinitionThatIsNoneIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"version": 2}`:   "use the henro that wrote it",
		`{"version": 1`:    "read what the crawl is from",
		`{"version": "1"}`: "read what the crawl is from",
		`{"version": 1, "in_force": {"revisit": {"Min": -1}}}`: "read what the crawl is from",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(definitionPath(dir), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadDefinition(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestACrawlThatIsStartedAgainInItsProcessKnowsItsSeeds, as a master does that founds a group: it was told what the
// crawl is before it planted them. Else links that are judged before they are planted again are out of scope.
func TestACrawlThatIsStartedAgainInItsProcessKnowsItsSeeds(t *testing.T) {
	o := DefaultOptions()
	o.Dir = t.TempDir()
	given, err := ReadDefinition(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	o.Definition = given
	settings := SettingsOf(&o)
	d, err := openDefinition(&o, nil, &settings)
	if err != nil {
		t.Fatal(err)
	}
	url, err := weburl.Parse("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.keep([]Seed{{URL: url, Depth: 4}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if d, err = openDefinition(&o, nil, &settings); err != nil {
			t.Fatal(err)
		}
		if want := []KeptSeed{{"http://a.example/", 4}}; !reflect.DeepEqual(d.Seeds, want) {
			t.Errorf("its seeds are %v", d.Seeds)
		}
	}
}
