package main

import (
	"errors"
	"os"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages makes those of the distributions: programs, man pages, completions, settings, and units of systemd.
func (r *release) packages(p platform) error {
	var contents files.Contents
	add := func(kind, from, to string, mode os.FileMode) {
		contents = append(contents, &files.Content{Source: from, Destination: to, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.at}})
	}
	for _, program := range programs {
		add("", filepath.Join(r.built(p), program), "/usr/bin/"+program, 0o755)
		add("", r.file(program+".service"), "/usr/lib/systemd/system/"+program+".service", 0o644)
	}
	add("", r.file("sysusers.conf"), "/usr/lib/sysusers.d/henro.conf", 0o644)
	add("config|noreplace", r.file("henro.yaml"), "/etc/henro/henro.yaml", 0o640)
	add("config|noreplace", r.file("seeds.txt"), "/etc/henro/seeds.txt", 0o640)
	add("", r.licenceTexts(p), "/usr/share/doc/henro/copyright", 0o644)
	add("", filepath.Join(r.root, "README.md"), "/usr/share/doc/henro/README.md", 0o644)
	add("", filepath.Join(r.root, "CHANGELOG.md"), "/usr/share/doc/henro/CHANGELOG.md", 0o644)
	pages, err := filepath.Glob(filepath.Join(r.work, "man", "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		add("", page, path.Join("/usr/share/man/man1", filepath.Base(page)), 0o644)
	}
	for _, c := range [][2]string{{"bash", "/usr/share/bash-completion/completions/henro"},
		{"zsh", "/usr/share/zsh/vendor-completions/_henro"},
		{"fish", "/usr/share/fish/vendor_completions.d/henro.fish"}} {
		add("", filepath.Join(r.work, "completions", "henro."+c[0]), c[1], 0o644)
	}
	for _, format := range []string{"deb", "rpm", "apk"} {
		if err := r.pack(format, p, contents); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) pack(format string, p platform, contents files.Contents) error {
	var scripts [2]string
	for i, name := range []string{"postinstall.sh", "preremove.sh"} {
		// nfpm puts the time of these files into an apk.
		text, err := os.ReadFile(r.file(name))
		if err != nil {
			return err
		}
		scripts[i] = filepath.Join(r.work, name)
		if err := errors.Join(os.WriteFile(scripts[i], text, 0o644), os.Chtimes(scripts[i], r.at, r.at)); err != nil {
			return err
		}
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "henro", Arch: p.arch, Platform: "linux", Version: r.version, Section: "web", Priority: "optional",
		Maintainer: "the developers of henro", License: "Apache-2.0", MTime: r.at,
		Description: `distributed, polite, incremental web crawler and archiver
It crawls the sites you name, writes WARC 1.1 archives with CDXJ indexes and a
link graph, and works out when each page is worth another visit. It runs as one
process, or as a master and any number of slaves.`,
		Overridables: nfpm.Overridables{
			Contents:   contents,
			Recommends: []string{"ca-certificates"},
			Scripts:    nfpm.Scripts{PostInstall: scripts[0], PreRemove: scripts[1]},
			RPM:        nfpm.RPM{Compression: "zstd"},
			Deb:        nfpm.Deb{Compression: "zstd"},
		},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	info.Target = filepath.Join(r.out, packager.ConventionalFileName(info))
	f, err := os.Create(info.Target)
	if err != nil {
		return err
	}
	if err := packager.Package(info, f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// file is one of those that packages carry besides what is built.
func (r *release) file(name string) string {
	return filepath.Join(r.root, ".ci", "release", "files", name)
}
