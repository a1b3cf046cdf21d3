package slave

import (
	"io"
	"testing"

	"github.com/sirupsen/logrus"

	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/browser"
	"henro/slave/render"
	"henro/slave/walk"
)

// A page that is to be shown, or is shown and stuck, is shown again within its lease, and uses one of its tries; one of
// which nothing has come was not shown, waits for its hosts, and uses none.
func TestAPageOfWhichNothingHasComeUsesNoTries(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	renderer := render.New(nil, nil, t.TempDir(), logrus.NewEntry(log))
	lacked := []string{"http://a.example/data.json"}
	for sentence, c := range map[string]struct {
		page *render.Page
		lent *messages.Task
		want int // tries, with the one that is to come; -1: it is not shown again
	}{
		"it was fetched": {nil, nil, 1},
		"it goes on":     {&render.Page{Rendering: &browser.Rendering{}, Missing: lacked}, &messages.Task{}, 0},
		"it is stuck":    {&render.Page{Rendering: &browser.Rendering{}, Missing: lacked, Stuck: true}, nil, 1},
		"it waits":       {&render.Page{}, nil, -1},
		"it asks first":  {&render.Page{Missing: lacked}, nil, 1},
		"it was lent so": {&render.Page{Missing: lacked}, &messages.Task{}, -1},
	} {
		m := answered(200, "", "", "", "text/html", []byte("<script src=a.js></script>"))
		url := weburl.MustParse("http://a.example/list")
		m.visit, m.page = &walk.Visit{URL: url, Task: c.lent}, c.page
		m.scripts = &render.Lease{Renderer: renderer, Mode: "all"}
		m.response.URL, m.visited.Url = url, url.String()
		p, found := &Parser{o: DefaultOptions()}, &parsed{}
		p.scripts(m, url, &messages.LinkSet{}, found)
		got := -1
		if found.render != nil {
			got = int(found.render.Attempts)
		}
		if got != c.want || m.visited.RenderAfterNs <= 0 {
			t.Errorf("%s: %d tries, want %d; it waits %d ns", sentence, got, c.want, m.visited.RenderAfterNs)
		}
	}
}
