package slave

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/admission"
	"henro/actors/archivist"
	"henro/actors/robots"
	"henro/messages"
	"henro/messages/posted"
	"henro/slave/fetch"
	"henro/slave/mediatype"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// leaveOut says why a response is not archived; None: it is. Redirects and 304 are always archived: without them a
// replay does not find what is there.
func leaveOut(m *parse) admission.Reason {
	v := m.visited
	switch {
	case m.response.Status >= 300 && m.response.Status < 400:
		return admission.None
	case m.settings.sent.HtmlOnly && !isHTML(v.Mime):
		return admission.Mime
	case v.Noindex && slices.Contains(m.settings.sent.Obey, "noindex"):
		return admission.NoIndex
	case robots.Reserved(m.usage, m.settings.sent.Obey) != "":
		return admission.Reserved
	case foreign(m):
		return admission.Language
	}
	return admission.None
}

// archive has the exchange written; the Archivist reports to the Slave when it is synced.
func (p *Parser) archive(ctx actor.Context, m *parse, made *factMade) {
	r := m.response
	x := &warc.Exchange{URI: r.URL.String(), IP: r.IP.Addr(), At: r.Started, Request: r.RequestBytes,
		Head: r.ResponseHead, Body: r.RawBody, Payload: r.Payload, Truncated: r.Truncated, Extra: transport(r)}
	if v := made.Message.Visited; v != nil {
		x.Packed = mediatype.IsPacked(v.Mime, r.Header.Get("Content-Encoding"))
	}
	request := posted.FieldOf(m.visit.URL.String())
	if request != "" {
		x.Extra = append(x.Extra, warc.Field{Name: posted.Field, Value: request})
	}
	if r.TLSError != "" {
		x.About = []warc.Field{{Name: "tlsError", Value: r.TLSError}}
	}
	for _, statement := range m.usage { // robots.txt may say something else when the archive is used
		x.About = append(x.About, warc.Field{Name: "usagePreference", Value: statement})
	}
	whole := false
	if v := made.Message.Visited; v != nil {
		copy(x.PayloadDigest[:], v.Digest)
		v.CapturedUnix = x.At.Unix()
		long := len(r.Payload) >= warc.MinIdentical && v.Reason == messages.Reason_NONE // a wall is stored as it came
		x.Earlier = p.earlier(m, v, x.PayloadDigest, long)
		whole = x.Earlier == nil && long && r.Truncated == "" && request == ""
		if x.Earlier != nil { // a 304 has no payload
			v.IdenticalBytes = uint64(len(r.Payload))
		}
	}
	room := len(r.Payload)/3 + 2048 // HTML comes to a quarter of itself: grown once, if at all
	if x.Earlier != nil {
		room = 1280 // a revisit and its request take some 960
	}
	records, members := p.builder.AppendExchange(make([]byte, 0, room), x)
	made.count(len(records))
	if m.scripts != nil {
		m.scripts.Coming(m.visit.URL.String())
	}
	ctx.RequestWithCustomSender(p.archivist, &archivist.Archive{
		Records: records, Captures: []cdxj.Entry{cdxj.New(r.URL, x, members, r.Status, r.Header.Get("Content-Type"))},
		Members: members, Whole: whole, Tag: made,
	}, p.slave)
}

// earlier returns the capture that holds the payload of a page already, of this URL or of another one; nil: the payload
// is to be stored. The index of payloads is asked first, because the last capture of this URL may be a revisit itself,
// and not every reader follows more than one.
func (p *Parser) earlier(m *parse, v *messages.PageVisited, digest warc.Digest, long bool) *warc.Earlier {
	if posted.Is(v.Url) { // what it would refer to is found by its URL, that of a GET
		return nil
	}
	unmodified := m.response.Status == http.StatusNotModified && v.Unchanged
	if unmodified {
		copy(digest[:], m.visit.Task.Digest)
	} else if !long {
		return nil
	}
	e, known := warc.Earlier{}, false
	if m.response.Truncated == "" {
		e, known = p.o.Archive.Payloads.Find(digest)
	}
	if !known {
		if !v.Unchanged || m.visit.Task == nil {
			return nil
		}
		e = warc.Earlier{URI: m.response.URL.String(), At: time.Unix(m.visit.Task.CapturedUnix, 0), Digest: digest}
	}
	e.NotModified = unmodified
	return &e
}

// transport names what carried an exchange over TLS, as the community does (WARC-Protocol, WARC-Cipher-Suite). Without
// TLS the records say it themselves.
func transport(r *fetch.Response) []warc.Field {
	if r.TLSVersion == "" {
		return nil
	}
	protocol := "http/1.1"
	switch r.Proto {
	case "HTTP/2.0":
		protocol = "h2"
	case "HTTP/1.0":
		protocol = "http/1.0"
	}
	return []warc.Field{
		{Name: "WARC-Protocol", Value: protocol}, {Name: "WARC-Protocol",
			Value: strings.ToLower(strings.Replace(r.TLSVersion, " ", "/", 1))},
		{Name: "WARC-Cipher-Suite", Value: r.CipherSuite},
	}
}
