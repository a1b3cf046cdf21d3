package feed

import (
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"henro/store/report/changes"
)

// What a log says of a webhook that cannot be reached does not have its URL, by which anybody could post to it.
func TestTheURLOfAWebhookIsNotLogged(t *testing.T) {
	var said strings.Builder
	log := logrus.New()
	log.SetOutput(&said)
	secret := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24))
	o, err := NewOutbox(filepath.Join(t.TempDir(), "outbox"), "http://user:password@127.0.0.1:9/hooks/T0KEN?key=K3Y",
		secret, false, logrus.NewEntry(log))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Put(&changes.Change{ID: "1", URL: "http://a.example/"}); err != nil {
		t.Fatal(err)
	}
	if delivered, left, err := o.Deliver(t.Context()); delivered != 0 || left != 1 || err != nil {
		t.Fatal(delivered, left, err)
	}
	for _, word := range []string{"T0KEN", "K3Y", "password"} {
		if strings.Contains(said.String(), word) {
			t.Errorf("the log has %s: %s", word, &said)
		}
	}
	if !strings.Contains(said.String(), "loopback") {
		t.Errorf("the log does not say why: %s", &said)
	}
}
