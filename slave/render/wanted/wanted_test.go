package wanted

import (
	"testing"

	"henro/slave/browser"
)

// A browser looks for an icon that no page names; one that a page shows is asked for.
func TestAnIconThatNobodyNamesIsNotAskedFor(t *testing.T) {
	for kind, wants := range map[string]bool{"other": false, "image": true} {
		q := &browser.Request{Method: "GET", URL: "https://example.org/favicon.ico", Kind: kind}
		if _, _, err := URL(q); (err == nil) != wants {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, _, err := URL(&browser.Request{Method: "GET", URL: "https://example.org/a.ico", Kind: "other"}); err != nil {
		t.Error(err)
	}
}
