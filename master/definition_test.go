package master

import (
	"reflect"
	"testing"

	"henro/actors/reading"
	"henro/messages/weburl"
)

// TestACrawlThatIsStartedAgainInItsProcessKnowsItsSeeds: a master that founds a group starts again by the definition
// from before it planted them. Otherwise links that are judged before they are planted again would be out of scope.
func TestACrawlThatIsStartedAgainInItsProcessKnowsItsSeeds(t *testing.T) {
	o := DefaultOptions()
	o.Dir = t.TempDir()
	given, err := reading.ReadDefinition(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	o.Definition = given
	settings := SettingsOf(&o)
	d, err := openDefinition(&o, nil, settings)
	if err != nil {
		t.Fatal(err)
	}
	url, err := weburl.Parse("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.keep([]reading.Seed{{URL: url, Depth: 4}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if d, err = openDefinition(&o, nil, settings); err != nil {
			t.Fatal(err)
		}
		if want := []reading.Seed{{URL: url, Depth: 4}}; !reflect.DeepEqual(d.Seeds, want) {
			t.Errorf("its seeds are %v", d.Seeds)
		}
	}
}
