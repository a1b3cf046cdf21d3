package slave

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/archivist"
	"henro/actors/floor"
	"henro/actors/living"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/slave/browser"
	"henro/slave/fetch"
	"henro/slave/render"
	"henro/slave/render/wanted"
	"henro/slave/walk"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// showFor bounds how long one page waits for the browser and is shown.
const showFor = 2 * time.Minute

// openRenderer makes the renderer, once, if the crawl wants one and there is a browser.
func openRenderer(s *Slave) {
	f := s.settings.sent
	if s.renderer != nil || !runsScripts(f) {
		return
	}
	shows := s.o.Shows
	if shows == nil {
		o := s.o.Browser
		path, err := browser.Find(o.Path)
		if err != nil {
			say := s.log.WithField("err", err).Warn
			if f.Browser == "auto" { // whether there is one
				say = s.log.WithField("err", err).Info
			}
			say("scripts are not run: pages that they make are not whole")
			return
		}
		o.Dir = cmp.Or(o.Dir, filepath.Join(filepath.Dir(s.o.Archive.Writer.Dir), "browser"))
		o.Path, o.UserAgent, o.Log = path, f.UserAgent, s.log
		shows = browser.New(o)
	}
	s.renderer = render.New(shows, s.o.Others, s.o.Archive.Writer.Dir, s.log)
}

func runsScripts(f *messages.FetchSettings) bool {
	return f.Browser != "" && f.Browser != "off" || len(f.Render) > 0
}

// posts makes a request one by POST, if scripts of a page in the browser may ask so. What only has the form of one is
// not made at all.
func posts(request *fetch.Request, v *walk.Visit, f *messages.FetchSettings) {
	p, is := posted.Read(v.URL.String())
	if request.URL = p.URL; !is || !runsScripts(f) || v.Requisite == 0 || v.Requisite == outlink.PageToo {
		request.URL = weburl.URL{}
	}
	request.Post, request.ETag, request.LastModified = &p, "", ""
}

func closeRenderer(s *Slave) {
	if err := s.renderer.Close(); err != nil {
		s.log.WithField("err", err).Warn("the browser did not end well")
	}
	s.renderer = nil
}

// scriptsOf are those of a lease; nil: none are run.
func scriptsOf(s *Slave, task *messages.HostTask) *render.Lease {
	if s.renderer == nil {
		return nil
	}
	f := s.settings.sent
	made := &render.Lease{Renderer: s.renderer, Mode: f.Browser, Patterns: s.settings.render}
	if err := made.Knows(task.Living); err != nil {
		s.log.WithFields(logrus.Fields{"host": task.Host, "err": err}).Warn("what is known of the host's scripts " +
			"cannot be read: it is learnt again")
	}
	for _, pattern := range weburl.Patterns(task.Host) {
		for _, b := range f.Behaviours {
			if b.Name == pattern && made.Behaviour == "" {
				made.Behaviour = b.Value
			}
		}
	}
	return made
}

// show has the scripts of a page run, on a goroutine of its own, or takes it from the archive if that is enough.
func (f *Fetcher) show(v *walk.Visit, l *lane, never func(weburl.URL, string) bool) (m *fetched) {
	m = &fetched{lane: l}
	begun := time.Now()
	defer func() {
		if reason := recover(); reason != nil {
			f.log.WithFields(logrus.Fields{"url": v.URL.String(), "err": reason, "stack": floor.PanicStack()}).
				Error("showing a page panicked; the visit counts as failed")
			m.page = &render.Page{URL: v.URL, Err: fmt.Errorf("panic: %v", reason)}
			m.response = &fetch.Response{URL: v.URL, Reason: messages.Reason_NOT_PARSED, Err: m.page.Err,
				Started: begun}
		}
	}()
	ctx, cancel := context.WithTimeout(f.context, showFor)
	defer cancel()
	page, err := f.scripts.Show(ctx, v.URL, v.Attempts, never)
	if err != nil {
		if !errors.Is(err, render.ErrAbsent) {
			f.log.WithFields(logrus.Fields{"url": v.URL.String(), "err": err}).Warn("a page cannot be read again")
		}
		return m
	}
	if f.context.Err() != nil {
		m.response = &fetch.Response{URL: v.URL, Reason: messages.Reason_CANCELED, Err: f.context.Err(), Started: begun}
		return m
	}
	m.page = page
	m.response = &fetch.Response{URL: v.URL, Status: page.Status, Header: page.Header, Payload: page.Payload,
		Body: page.Body, Started: page.At, Took: time.Since(begun)}
	return m
}

// never tells what the rules of the crawl, or robots.txt of the host, keep from a page.
func (f *Fetcher) never(v *walk.Visit) func(weburl.URL, string) bool {
	own, page := f.walk.Allows(), admission.Page{URL: v.URL.String(), Host: f.task.Host}
	return func(url weburl.URL, kind string) bool {
		_, reason := f.links.Link(f.regions, &page, &outlink.Outlink{URL: url.String(), Kind: wanted.Kind(url, kind)})
		return reason != admission.None || url.Host() == f.task.Host && !own(posted.Bare(url.RequestURI()))
	}
}

// failed lets no page wait for what a request did not bring.
func failed(s *Slave, m *messages.Fact, l *lent) {
	url, reason := m.GetVisited().GetUrl(), m.GetVisited().GetReason()
	if m.Rules != nil && l != nil {
		url, reason = l.host+"/robots.txt", m.Rules.Reason
	}
	if reason != messages.Reason_NONE && reason != messages.Reason_NOT_ARCHIVED && reason != messages.Reason_CANCELED {
		s.renderer.Archived(url, render.Never, "", 0)
	}
}

// scripts decides whether those of a page are to be run, or takes in what running them showed.
func (p *Parser) scripts(m *parse, base weburl.URL, set *messages.LinkSet, found *parsed) {
	v, s := m.visited, m.scripts
	if v.Requisite > 0 && v.Requisite != outlink.PageToo {
		return
	}
	decision := s.Decide(v.Url, v.Scripted, p.document.Runs)
	rendered := m.page != nil && m.page.Rendering != nil
	switch {
	case rendered:
		p.shown(m, base, set)
	case m.page != nil && m.page.Err != nil:
		v.Says = messages.Says(m.page.Err.Error())
	case decision == living.Static:
		v.Scripted = v.Scripted && s.Mode != "auto"
		return
	default: // also of a page that is to be shown: what the browser will ask for has come by then
		for _, url := range s.Expand(v.Url, m.response.Body) {
			if to, err := weburl.Parse(url); err == nil {
				p.add(set, to, outlink.Fetch, 0, "")
			}
		}
		if decision == living.Rules {
			v.Scripted = false
			return
		}
	}
	attempts := uint32(m.visit.Attempts)
	if m.page != nil {
		attempts = m.page.Vain
	}
	goesOn := rendered && !m.page.Stuck
	if rendered && len(m.page.Missing) == 0 || m.page != nil && attempts >= render.Renderings && !goesOn {
		return
	}
	v.RenderAfterNs = int64(render.After(attempts))
	first := m.visit.Task == nil || m.visit.Task.CapturedUnix == 0 // else the store must say where its record lies
	if first && !m.page.Waits(m.task.Host, m.visit.Task != nil) &&
		(decision == living.Render || !s.Full()) && (attempts < render.Renderings || goesOn) {
		again := *m.visit
		if again.Task, again.Render = nil, true; !goesOn {
			again.Attempts++
		}
		found.render = &again
	}
}

// shown takes in a page as the browser shows it.
func (p *Parser) shown(m *parse, base weburl.URL, set *messages.LinkSet) {
	v, r := m.visited, m.page.Rendering
	sample := living.Sample{URL: v.Url, HTML: m.response.Body, Static: slices.Clone(set.Urls),
		StaticText: string(p.document.Text), RenderedText: r.Text}
	v.Rendered, v.Scripted, v.Unchanged = true, false, false
	if !v.Truncated {
		v.Says = messages.Says(r.Tried.String())
	}
	options := p.options()
	p.document.Scan(r.HTML, options)
	v.Title = p.document.Title
	p.words(m)
	p.resolve(base, p.document.Links, set, "utf-8")
	follow := func(links []string) {
		for _, link := range links {
			if to, err := weburl.Parse(link); err == nil {
				p.add(set, to, outlink.Anchor, 0, "")
			}
		}
	}
	follow(r.Links) // also of shadow roots
	for i := len(sample.Static); i < len(set.Urls); i++ {
		if outlink.Kind(set.Kinds[i]).Navigates() {
			sample.NewLinks++
		}
	}
	follow(r.Menus) // mostly the same on all pages: they are no reason to show each
	for i := range r.Asked {
		asked := &r.Asked[i]
		to, kind, err := wanted.URL(&asked.Request)
		if err != nil || to.String() == v.Url {
			continue
		}
		// where one was found that differs in its time alone, nothing is asked for
		if !asked.Answered || wanted.Plain(to.String()) {
			p.add(set, to, kind, 0, "")
		}
		if asked.Answered && asked.Status < 400 {
			sample.Asked = append(sample.Asked, to.String())
		}
	}
	if len(m.page.Missing) == 0 {
		v.Finding = m.scripts.Learn(&sample)
	}
}

// archiveShown has what a page was shown as written beside its capture, once nothing of it is missing.
func (p *Parser) archiveShown(ctx actor.Context, m *parse, made *factMade) {
	v := made.Message.Visited
	v.CapturedUnix = m.page.At.Unix()
	if m.page.Rendering == nil || v.RenderAfterNs > 0 {
		ctx.Send(p.slave, made)
		return
	}
	var records []byte
	var listed []cdxj.Entry
	for _, r := range m.page.Rendering.Records(v.Url) {
		begin, record := len(records), &warc.Record{Type: warc.Resource, Date: time.Now(), TargetURI: r.URI,
			ContentType: r.Type, Body: r.Body, PayloadDigest: warc.Sum(r.Body)}
		records = p.builder.Append(records, record)
		listed = append(listed, cdxj.NewResource(record, begin, len(records)-begin))
	}
	made.count(len(records))
	ctx.RequestWithCustomSender(p.archivist, &archivist.Archive{Records: records, Captures: listed, Tag: made}, p.slave)
}
