package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/sirupsen/logrus"

	"henro/cluster"
	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
)

// TestAReceiverTakesNothingFromAPageOfTheWeb has a page whose name was made to point at loopback.
func TestAReceiverTakesNothingFromAPageOfTheWeb(t *testing.T) {
	dir := t.TempDir()
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, stop := context.WithCancel(t.Context())
	at, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- Receive(ctx, dir, "127.0.0.1:0", "", logrus.NewEntry(log), func(a net.Addr) { at <- a.String() })
	}()
	address := <-at
	for sentence, c := range map[string]struct {
		host, name, value string
		status            int
	}{
		"a node":                         {address, "", "", 200},
		"a node that says localhost":     {"localhost:7783", "", "", 200},
		"a name that was made to point":  {"evil.test:7783", "", "", 421},
		"such a name with a point":       {"localhost.evil.test", "", "", 421},
		"a page of another site":         {address, "Origin", "http://evil.test", 403},
		"a page that has no origin":      {address, "Origin", "null", 403},
		"a picture of another site":      {address, "Sec-Fetch-Site", "cross-site", 403},
		"a page that was made to be his": {address, "Sec-Fetch-Site", "same-origin", 403},
	} {
		for _, method := range []string{"GET", "PUT"} {
			r, err := http.NewRequestWithContext(ctx, method, "http://"+address+
				"/files/a.warc.gz?offset=0&size=9&sha256="+strings.Repeat("0", 64), strings.NewReader("none"))
			if err != nil {
				t.Fatal(err)
			}
			if r.Host = c.host; c.name != "" {
				r.Header.Set(c.name, c.value)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != c.status && !(c.status == 200 && answer.StatusCode == http.StatusConflict) {
				t.Errorf("%s: %s is answered with %s, want %d", sentence, method, answer.Status, c.status)
			}
		}
	}
	// A piece is a piece whatever it says of itself: the library would write the parts of a form to disk without end.
	r, err := http.NewRequestWithContext(ctx, "PUT", "http://"+address+"/files/b.warc.gz?offset=0&size=9&sha256="+
		strings.Repeat("0", 64),
		strings.NewReader("--x\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\nf"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a form is not taken as a piece: %v, %v", answer, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAReceiverWithAKeyTakesFilesUntilTheirNodeIsRevoked sends over one connection that stays open.
func TestAReceiverWithAKeyTakesFilesUntilTheirNodeIsRevoked(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	key, to, from := filepath.Join(t.TempDir(), "key"), t.TempDir(), t.TempDir()
	keys := cluster.NewKeys()
	if err := keys.Write(key); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	at, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- Receive(ctx, to, "127.0.0.1:0", key, logrus.NewEntry(log), func(a net.Addr) { at <- a.String() })
	}()
	c := Collect{To: <-at}
	if err := os.Mkdir(filepath.Join(from, "warc"), 0o755); err != nil {
		t.Fatal(err)
	}
	finish := func(name string) {
		path := filepath.Join(from, "warc", name)
		for _, path := range []string{path, cdxj.Path(path)} {
			if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	finish("henro-20260101000000000-00000-1~a~0.warc.gz")
	sender, _, err := c.Sender(ctx, from, "henro", key, "a", logrus.NewEntry(log))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := sender.Pass(ctx); n != 1 || err != nil {
		t.Fatalf("%d files sent: %v", n, err)
	}
	if arrived, _ := filepath.Glob(filepath.Join(to, "*.warc.gz")); len(arrived) != 1 {
		t.Fatalf("arrived: %q", arrived)
	}
	if err := keys.Revoke("a", false); err != nil {
		t.Fatal(err)
	}
	if err := keys.Write(key); err != nil {
		t.Fatal(err)
	}
	sent := 1
	for end := time.Now().Add(time.Minute); err == nil; sent++ { // the key file is looked at every 2 s
		if time.Now().After(end) {
			t.Fatalf("a revoked node sent %d files", sent)
		}
		time.Sleep(500 * time.Millisecond)
		finish(fmt.Sprintf("henro-20260101000000000-%05d-1~a~0.warc.gz", sent))
		_, err = sender.Pass(ctx)
	}
	// The node may have been revoked between a file and its index, of which the file has arrived then. No other does.
	arrived, _ := filepath.Glob(filepath.Join(to, "*.warc.gz"))
	if len(arrived) != sent-1 && len(arrived) != sent {
		t.Errorf("%d files arrived, the last of %d was sent after its node was revoked", len(arrived), sent)
	}
	finish(fmt.Sprintf("henro-20260101000000000-%05d-1~a~0.warc.gz", sent))
	if _, err := sender.Pass(ctx); err == nil {
		t.Error("a revoked node sent another file")
	}
	if after, _ := filepath.Glob(filepath.Join(to, "*.warc.gz")); len(after) != len(arrived) {
		t.Errorf("%d files are there, %d were when the node was revoked", len(after), len(arrived))
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestASlaveSendsNothingIntoTheArchiveOfAnotherCrawl has a slave whose crawl is known once it has met a master.
func TestASlaveSendsNothingIntoTheArchiveOfAnotherCrawl(t *testing.T) {
	objects := s3mem.New()
	if err := objects.CreateBucket("archive"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(objects).Server())
	defer server.Close()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "id",
		"AWS_SECRET_ACCESS_KEY": "secret"} {
		t.Setenv(name, value)
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	for i, slave := range []struct {
		crawl string
		taken bool
	}{{"one", false}, {"one", false}, {"other", true}} {
		dir := t.TempDir()
		path := filepath.Join(dir, "warc", fmt.Sprintf("henro-%d.warc.gz", i))
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(path), 0o600),
			os.WriteFile(cdxj.Path(path), []byte("{}"), 0o600)); err != nil {
			t.Fatal(err)
		}
		c := Collect{Archive: "s3://archive/folder", Crawl: func() string { return slave.crawl }}
		ctx, stop := context.WithCancel(t.Context())
		sender, _, err := c.Sender(ctx, dir, "henro", "", "a", logrus.NewEntry(log))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := sender.Pass(ctx); errors.Is(err, bucket.ErrTaken) != slave.taken || (n == 0) != slave.taken {
			t.Errorf("%d: %d files were sent: %v", i, n, err)
		}
		stop()
	}
}

// TestAMachineWithARoleNeedsNoKeys: what the environment and the file say comes first, and only Amazon's store is asked
// with a role.
func TestAMachineWithARoleNeedsNoKeys(t *testing.T) {
	roles := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"AccessKeyId": "of the role", "SecretAccessKey": "s", "Token": "t"}`)
	}))
	defer roles.Close()
	for name, value := range map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": roles.URL,
		"AWS_SHARED_CREDENTIALS_FILE": filepath.Join(t.TempDir(), "none"), "AWS_CONFIG_FILE": "none",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "",
		"AWS_EC2_METADATA_DISABLED": ""} {
		t.Setenv(name, value)
	}
	for _, c := range []struct{ name, value, want string }{
		{"AWS_REGION", "", "of the role"},
		{"AWS_EC2_METADATA_DISABLED", "true", ""},
		{"AWS_EC2_METADATA_DISABLED", "", "of the role"},
		{"AWS_ENDPOINT_URL", "http://127.0.0.1:1", ""},
		{"AWS_SECRET_ACCESS_KEY", "s", ""},
		{"AWS_ACCESS_KEY_ID", "of the environment", "of the environment"},
	} {
		t.Setenv(c.name, c.value)
		where, err := FindBucket("s3://archive/a")
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), "AWS_PROFILE") {
				t.Errorf("%s=%s: %v", c.name, c.value, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(c.name, err)
		}
		if value, err := where.Credentials.GetWithContext(nil); err != nil || value.AccessKeyID != c.want {
			t.Errorf("%s=%s: %q, %v", c.name, c.value, value.AccessKeyID, err)
		}
	}
}

func TestKeysInAnAddressAreNotRepeated(t *testing.T) {
	_, err := FindBucket("s3://mine:secret@archive/a")
	if err == nil || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("%v", err)
	}
}
