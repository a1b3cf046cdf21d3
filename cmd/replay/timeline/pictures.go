package timeline

import (
	"io"
	"net/http"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/report/looks"
)

// PicturePath is where Show answers.
const PicturePath = looks.Path

// pictures bounds those of a page at each width: the latest.
const pictures = 1000

// look adds the pictures of the versions, which are in the order of their moments, where they differ.
func (l *Timeline) look(a *captures.Archive, u weburl.URL) error {
	all, err := looks.Of(a, u.String(), pictures)
	if err != nil {
		return err
	}
	moments := make([]time.Time, len(l.Versions))
	for i := range l.Versions {
		moments[i] = l.Versions[i].At
	}
	for i, some := range looks.Pair(moments, all) {
		l.Versions[i].Looks = some
	}
	return nil
}

// Show answers with a picture.
func Show(w http.ResponseWriter, r *http.Request, a *captures.Archive) error {
	p, err := looks.Asked(r)
	if err != nil {
		return err
	}
	return looks.Show(a, p, func(mime string, body io.Reader) error { return looks.Send(w, mime, http.StatusOK, body) })
}
