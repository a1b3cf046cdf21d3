package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// allowed are the licences that a module may have: those that let an Apache-2.0 program contain it. MPL-2.0 is so for
// modules that are not changed.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense",
	"Zlib"}

// licenceFile is a file that holds the licence of a module, or a notice that must go with it.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|unlicense)([-._].*)?$`)

// module is one that a program contains.
type module struct {
	path, version, sum string
	licences           []string // SPDX identifiers
	texts              []string
}

// modules reads which modules the programs of a platform contain, the standard library among them, and their licences.
func (r *release) modules(p platform) ([]module, error) {
	found := map[string]module{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(filepath.Join(r.built(p), p.exe(program)))
		if err != nil {
			return nil, err
		}
		found["std"] = module{path: "std", version: info.GoVersion}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			found[m.Path] = module{path: m.Path, version: m.Version, sum: m.Sum}
		}
	}
	var all, unread []module
	for _, m := range found {
		if read := r.read[m.path]; read.version == m.version { // the platforms share most of them
			all = append(all, read)
		} else {
			unread = append(unread, m)
		}
	}
	dirs, err := folders(unread)
	if err != nil {
		return nil, err
	}
	for _, m := range unread {
		if err := m.read(dirs[m.path]); err != nil {
			return nil, err
		}
		r.read[m.path] = m
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// folders are where Go keeps modules, by path. A toolchain that Go fetched has its licence at its root, as one that was
// installed has.
func folders(modules []module) (map[string]string, error) {
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{"std": root}
	arguments := []string{"mod", "download", "-json"}
	for _, m := range modules {
		if m.path != "std" {
			arguments = append(arguments, m.path+"@"+m.version)
		}
	}
	if len(arguments) == 3 { // that would be all modules there are
		return dirs, nil
	}
	out, err := output("go", arguments...)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); err != nil {
			return nil, err
		}
		dirs[m.Path] = m.Dir
	}
	return dirs, nil
}

// read finds the licences of a module in the folder where Go keeps it.
func (m *module) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		m.texts = append(m.texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
		for _, match := range licensecheck.Scan(text).Match {
			if !match.IsURL && !slices.Contains(m.licences, match.ID) {
				m.licences = append(m.licences, match.ID)
			}
		}
	}
	slices.Sort(m.licences)
	return nil
}

// licences writes the texts of all licences into one file, and refuses a module without one that is allowed.
func (r *release) licences(p platform, modules []module) error {
	var text strings.Builder
	own, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	fmt.Fprintf(&text, "henro is under the Apache License 2.0:\n\n%s\n\nIt contains the modules below.\n", own)
	for _, m := range modules {
		if len(m.licences) == 0 {
			return fmt.Errorf("%s@%s: no licence was recognised", m.path, m.version)
		}
		for _, id := range m.licences {
			if !slices.Contains(allowed, id) {
				return fmt.Errorf("%s@%s: its licence %s is not one of %v", m.path, m.version, id, allowed)
			}
		}
		fmt.Fprintf(&text, "\n%s\n%s %s (%s)\n\n%s\n", strings.Repeat("=", 80), m.path, m.version,
			strings.Join(m.licences, ", "), strings.Join(m.texts, "\n\n"))
	}
	return os.WriteFile(r.licenceTexts(p), []byte(text.String()), 0o644)
}

func (r *release) licenceTexts(p platform) string {
	return filepath.Join(r.work, p.String()+".licences.txt")
}

// bom writes the software bill of materials of a platform's programs, as CycloneDX 1.6 in JSON: every module that
// go version -m shows of them.
func (r *release) bom(p platform, modules []module) error {
	url := func(path, version string) string { return "pkg:golang/" + path + "@" + version }
	b := cyclonedx.NewBOM()
	henro := url("henro", r.version)
	b.Metadata = &cyclonedx.Metadata{
		Timestamp: r.at.Format("2006-01-02T15:04:05Z"),
		Component: &cyclonedx.Component{BOMRef: henro, Type: cyclonedx.ComponentTypeApplication, Name: "henro",
			Version: r.version, PackageURL: henro},
	}
	var components []cyclonedx.Component
	var contained []string
	for _, m := range modules {
		ref := url(m.path, m.version)
		contained = append(contained, ref)
		var licences cyclonedx.Licenses
		for _, id := range m.licences {
			licences = append(licences, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
		}
		c := cyclonedx.Component{BOMRef: ref, Type: cyclonedx.ComponentTypeLibrary, Name: m.path, Version: m.version,
			PackageURL: ref, Licenses: &licences}
		if m.sum != "" {
			c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.sum}}
		}
		components = append(components, c)
	}
	b.Components = &components
	b.Dependencies = &[]cyclonedx.Dependency{{Ref: henro, Dependencies: &contained}}
	f, err := os.Create(filepath.Join(r.out, r.name(p)+".cdx.json"))
	if err != nil {
		return err
	}
	defer f.Close()
	return cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(b)
}
