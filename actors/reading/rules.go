package reading

import (
	"errors"
	"fmt"
	"time"

	"henro/actors/admission"
	"henro/actors/known"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// Rules asks every rule about a URL: the scope, traps, the stop list, robots.txt and so on. The question has what is
// known of the link that leads to the URL.
func (c *Crawl) Rules(q *admission.Question, raw string) (_ []admission.Finding, err error) {
	if q.URL, err = weburl.Parse(raw); err != nil {
		return nil, fmt.Errorf("why %q: %w", raw, err)
	}
	q.Scope, q.Options, q.Now = c.Scope, &c.Settings.Admission, time.Now()
	host := q.URL.Host()
	disk := c.disk(host)
	if q.Stops, err = known.StopList(disk, host); err != nil {
		return nil, err
	}
	sessions, err := known.Sessions(disk, host)
	if err != nil {
		return nil, err
	}
	q.Sessions = &sessions
	urls, err := known.URLRules(disk, host)
	if err != nil {
		return nil, err
	}
	q.URLRules = &urls
	if key, url := urls.Keys().Of(q.URL.String()), fingerprint.URL(q.URL.String()); key != url {
		if q.Form, err = known.Form(disk, host, key); err != nil {
			return nil, err
		}
	}
	record, err := disk.Hosts.Get(store.IDOf(host))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if len(record.Robots) == 0 && !record.AskedAt.IsZero() {
		q.Failure = record.Failure.Cause().String()
	}
	if q.Now.Before(record.RobotsUntil) {
		q.Robots = Robots(&record)
	}
	return admission.Why(q), nil
}
