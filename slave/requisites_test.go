package slave

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/slave/links/linkstest"
)

// Whatever Chromium asks for to show a page that names requisites in every form is found. What is found beyond it is
// listed with the reason.
func TestWhatChromiumLoadsIsFound(t *testing.T) {
	const host, far = "http://a.example", "http://far.example"
	index := host + "/index.html"
	found := map[string]bool{index: true}
	p := &Parser{o: DefaultOptions()}
	for queue := []string{index}; len(queue) > 0; queue = queue[1:] {
		u := weburl.MustParse(queue[0])
		path := strings.TrimPrefix(strings.TrimPrefix(u.String(), host), far)
		path, _, _ = strings.Cut(path, "?")
		mime, body := linkstest.File(path, "far.example")
		m := answered(200, "", "", "", mime, []byte(body))
		m.response.URL, m.visited.Url, m.task.Host = u, u.String(), u.Host()
		p.page(m, &parsed{})
		for i, url := range m.visited.Links.Urls {
			if outlink.Kind(m.visited.Links.Kinds[i]).Class() != 0 && !found[url] {
				found[url] = true
				queue = append(queue, url)
			}
		}
	}
	beyond := map[string]string{
		"/touch-icon.png": "for phones", "/manifest-icon.png": "once it is installed", "/shortcut-icon.png": "likewise",
		"/preload-2x.png": "a candidate for other windows", "/srcset-2x.png": "likewise",
		"/srcset-4000w.png": "likewise",
		"/picture-wide.png": "likewise", "/picture-unknown.xyz": "of a type for other browsers",
		"/set-2x.png": "a candidate for other windows", "/set.avif": "likewise",
		"/preload-image.png": "for browsers without imagesrcset", "/img-with-set.png": "for those without srcset",
		"/img-with-sizes.png": "likewise", "/picture-img.png": "for those without picture",
		"/unused.png": "of a rule that no element matches", "/css/nothing": "of a property that takes no URL",
		"/td-background.png": "hidden by a style", far + "/css/far-background.png": "likewise",
		"/maps/unused.js": "in an import map, imported by no script",
	}
	for _, path := range linkstest.Loaded() {
		url := host + path
		if rest, ok := strings.CutPrefix(path, "//"+linkstest.Other); ok {
			url = far + rest
		}
		if path == "/prefetch.bin" {
			if found[url] {
				t.Error("what only the next page may need is taken for a requisite")
			}
			continue
		}
		if !found[url] {
			t.Errorf("Chromium loads %s", url)
		}
		delete(found, url)
	}
	for _, url := range slices.Sorted(maps.Keys(found)) {
		if beyond[strings.TrimPrefix(url, host)] == "" {
			t.Errorf("Chromium does not load %s", url)
		}
		delete(beyond, strings.TrimPrefix(url, host))
	}
	for path := range beyond {
		t.Errorf("%s is not found, or loaded too", path)
	}
}
