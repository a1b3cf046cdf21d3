package reading

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"henro/actors/admission"
	"henro/actors/host"
	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/actors/scope"
)

// Settings are those by which a crawl treats hosts and pages, as they follow from what was given. They are part of its
// Definition, so that a look into the directory later explains each decision by the settings that were in force.
type Settings struct {
	Continuous bool   `json:"continuous"`
	Relief     string `json:"relief"`
	// spans in nanoseconds; Connections are those that the crawl had when it ran last, Servers of a running one
	Politeness politeness.Options `json:"politeness"`
	Revisit    revisit.Options    `json:"revisit"`
	Admission  admission.Options  `json:"admission"` // which links are taken
	Scope      scope.Options      `json:"scope"`     // without the seeds
	// every page of it that was captured has its record in an archive, since its first start
	ArchivesAll bool `json:"archives_all"`
}

// SettingsOf are the settings that follow from options.
func SettingsOf(h *host.Options, scope scope.Options) Settings {
	return Settings{Continuous: h.Continuous, Relief: h.Relief.String(), Politeness: h.Politeness, Revisit: h.Revisit,
		Admission: h.Admission, Scope: scope}
}

// defaultSettings are the settings of a crawl without a definition.
func defaultSettings() Settings {
	h := host.DefaultOptions()
	return SettingsOf(&h, scope.DefaultOptions())
}

// ReadJSON reads a file of a crawl's directory; where there is none, thing stays as it is.
func ReadJSON(path string, thing any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, thing)
}
