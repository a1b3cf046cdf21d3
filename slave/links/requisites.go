package links

import (
	"slices"
	"strings"

	"henro/slave/mediatype"
)

// ScanRequisites scans what is no page and may load more: sheets, scripts, manifests, pictures in SVG. It reports
// whether the body is any of them.
func (d *Document) ScanRequisites(mime, url string, body []byte, o Options) bool {
	switch {
	case mime == "text/css":
		d.ScanCSS(body, o)
	case mediatype.IsScript(mime):
		d.ScanScript(body, o)
	case strings.HasSuffix(mime, "json"), strings.HasSuffix(url, ".webmanifest"): // other JSON has no such icons
		d.ScanManifest(body, o)
	case mime == "image/svg+xml":
		o.XML, o.MaxText = true, 0
		d.Scan(body, o)
		d.Links = slices.DeleteFunc(d.Links, func(l Ref) bool { return l.Kind.Class() == 0 })
	default:
		return false
	}
	return true
}
