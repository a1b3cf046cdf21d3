package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"

	"henro/actors/floor"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static
var assets embed.FS

// version is a digest of all assets: it stands in their paths, so that a browser may keep them until henro is another.
var version = digest(assets)

func digest(files fs.FS) string {
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		sum.Write([]byte(name))
		sum.Write(data)
		return err
	})
	floor.Need(err, "read the assets") // they are in the program
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

func staticPath(name string) string { return path.Join("/static", version, name) }

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	".LICENSE": "text/plain; charset=utf-8",
}

func serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	data, err := fs.ReadFile(assets, "static/"+path.Base(name))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", assetTypes[path.Ext(name)])
	header.Set("Content-Security-Policy", policy)
	if r.PathValue("version") == version {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(data)
}
