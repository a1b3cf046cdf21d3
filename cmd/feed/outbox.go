package feed

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"henro/slave/fetch"
	"henro/store/fsync"
	"henro/store/report/changes"
)

// Bounds of an Outbox.
const (
	outboxMost   = 10_000 // messages; the oldest are dropped
	outboxOldest = 3 * 24 * time.Hour
	firstWait    = time.Second // after the first failure; doubled for each further one, up to
	longestWait  = time.Hour
	postTimeout  = 20 * time.Second
)

// Outbox posts changes to a webhook, in their order, by the Standard Webhooks specification: each with an id, a moment
// and an HMAC-SHA256 of both and the body. What could not be delivered stays on disk and is tried again.
type Outbox struct {
	dir    string
	url    string
	secret []byte
	client *http.Client
	log    *logrus.Entry

	failures int       // in a row
	notYet   time.Time // before which nothing is posted
	number   uint64    // of the message put last
}

// secretPrefix is before a secret of Standard Webhooks, in base64.
const secretPrefix = "whsec_"

// NewOutbox makes the outbox of a webhook. Its host must have a public address, unless private ones are allowed.
func NewOutbox(dir, to, secret string, allowPrivate bool, log *logrus.Entry) (*Outbox, error) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, errors.New("want a URL such as https://example.org/hook")
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(secret), secretPrefix))
	if err != nil || len(key) < 24 {
		return nil, errors.New("want a secret of whsec_ and base64 of 24 bytes or more: " +
			"echo whsec_$(openssl rand -base64 32)")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	guard := fetch.Options{AllowPrivate: allowPrivate}
	dialer := &net.Dialer{Timeout: postTimeout, Control: guard.Control}
	o := &Outbox{dir: dir, url: to, secret: key, log: log.WithField("host", u.Host), client: &http.Client{
		Timeout:       postTimeout,
		Transport:     &http.Transport{DialContext: dialer.DialContext, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	waiting, err := o.waiting()
	if len(waiting) > 0 {
		o.number, _ = strconv.ParseUint(strings.TrimSuffix(waiting[len(waiting)-1], ".json"), 10, 64)
	}
	return o, err
}

// waiting are the names of the messages, the oldest first.
func (o *Outbox) waiting() ([]string, error) {
	entries, err := os.ReadDir(o.dir) // sorted
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Put lays a change into the outbox.
func (o *Outbox) Put(c *changes.Change) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	o.number++
	return fsync.WriteFile(filepath.Join(o.dir, fmt.Sprintf("%020d.json", o.number)), body, 0o666)
}

// Deliver posts what waits until something fails. It returns how many were delivered, and how many wait still.
func (o *Outbox) Deliver(ctx context.Context) (delivered, left int, err error) {
	names, err := o.waiting()
	if err != nil {
		return 0, 0, err
	}
	if drop := len(names) - outboxMost; drop > 0 {
		o.log.WithField("count", drop).Warn("the outbox is full; the oldest changes are not delivered")
		for _, name := range names[:drop] {
			err = errors.Join(err, os.Remove(filepath.Join(o.dir, name)))
		}
		names = names[drop:]
	}
	for i, name := range names {
		if ctx.Err() != nil || time.Now().Before(o.notYet) || err != nil {
			return delivered, len(names) - i, err
		}
		path := filepath.Join(o.dir, name)
		posted, why := o.post(ctx, path)
		if !posted {
			wait := min(firstWait<<min(o.failures, 20), longestWait)
			o.failures++
			o.notYet = time.Now().Add(wait)
			o.log.WithFields(logrus.Fields{"err": why, "wait": wait}).
				Warn("a change was not delivered; it is tried again")
			return delivered, len(names) - i, nil
		}
		o.failures = 0
		if why == nil {
			delivered++
		}
		err = os.Remove(path)
	}
	return delivered, 0, err
}

// post delivers one message; one that is too old counts as posted, with the reason why it was not.
func (o *Outbox) post(ctx context.Context, path string) (done bool, why error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	var c changes.Change
	if err := json.Unmarshal(body, &c); err != nil {
		o.log.WithField("err", err).Warn("a message of the outbox cannot be read; it is dropped")
		return true, err
	}
	if time.Since(info.ModTime()) > outboxOldest {
		o.log.WithField("url", c.URL).Warn("a change could not be delivered for three days; it is dropped")
		return true, errors.New("too old")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	sum := hmac.New(sha256.New, o.secret)
	fmt.Fprintf(sum, "%s.%s.%s", c.ID, at, body)
	request.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"henro"}, "Webhook-Id": {c.ID},
		"Webhook-Timestamp": {at},
		"Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))}}
	answer, err := o.client.Do(request)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return false, failed.Err // without the URL, which is often a secret, and would be in the log
	}
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection serves again
	if !slices.Contains([]int{200, 201, 202, 204}, answer.StatusCode) {
		return false, fmt.Errorf("the webhook answers %s", answer.Status)
	}
	return true, nil
}
