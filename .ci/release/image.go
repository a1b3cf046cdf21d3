package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// image makes an OCI image of all Linux platforms from nothing but the programs, their licences and Mozilla's root
// certificates, as an OCI layout in a tar file: docker load, podman load and skopeo read it.
func (r *release) image(linux []platform) error {
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range linux {
		image, err := r.imageOf(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: p.os, Architecture: p.arch},
			Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version}}})
	}
	dir := filepath.Join(r.work, "image")
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	var files []published
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		to, err := filepath.Rel(dir, path)
		files = append(files, published{path, filepath.ToSlash(to), 0o644})
		return err
	})
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.out, "henro-"+strings.TrimPrefix(r.version, "v")+"-image.tar"))
	if err != nil {
		return err
	}
	defer f.Close()
	return r.tar(f, "", files)
}

func (r *release) imageOf(p platform) (v1.Image, error) {
	roots := filepath.Join(r.work, "ca-certificates.crt")
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(roots, certificates.Bytes(), 0o644); err != nil {
		return nil, err
	}
	files := []published{{roots, "etc/ssl/certs/ca-certificates.crt", 0o644},
		{r.licenceTexts(p), "usr/share/doc/henro/copyright", 0o644}}
	for _, program := range programs {
		files = append(files, published{filepath.Join(r.built(p), program), "usr/bin/" + program, 0o755})
	}
	var packed bytes.Buffer
	if err := r.tar(&packed, "", files); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer,
		History: v1.History{CreatedBy: "henro release", Created: v1.Time{Time: r.at}}}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: r.at}
	config.Config = v1.Config{
		User:       "65532:65532",
		WorkingDir: "/data",
		Volumes:    map[string]struct{}{"/data": {}},
		Env:        []string{"PATH=/usr/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		Cmd:        []string{"henro", "--help"},
		// A crawl and a master answer on loopback unless told otherwise; a slave does with --listen-http.
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "henro", "status"}, Interval: 30 * time.Second,
			Timeout: 10 * time.Second, StartPeriod: time.Minute, Retries: 3},
		Labels: map[string]string{"org.opencontainers.image.title": "henro",
			"org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
	return mutate.ConfigFile(image, config)
}
