package main

import (
	"strings"
	"testing"
)

func TestAModuleWithoutAnAllowedLicenceIsRefused(t *testing.T) {
	for _, c := range []struct {
		licences []string
		refused  string
	}{
		{[]string{"MIT"}, ""},
		{[]string{"Apache-2.0", "BSD-3-Clause"}, ""},
		{[]string{"MIT", "AGPL-3.0"}, "its licence AGPL-3.0 is not one of"},
		{nil, "no licence was recognised"},
	} {
		r := &release{root: "../..", work: t.TempDir()}
		err := r.licences(platform{"linux", "amd64"}, []module{{path: "example.org/m", version: "v1.0.0", licences: c.licences}})
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%v: %v", c.licences, err)
		}
	}
}
