package slave

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"henro/actors/admission"
	"henro/actors/robots"
	"henro/actors/scope"
	"henro/actors/topic"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/slave/fetch"
	"henro/slave/owed"
	"henro/slave/walk"
	"henro/store/archive/warc"
)

// answered is a job for the Parser, as a host may have answered.
func answered(status int, location, refresh, link, mime string, body []byte) *parse {
	header := http.Header{}
	for name, value := range map[string]string{"Location": location, "Refresh": refresh, "Link": link,
		"Content-Type": mime} {
		if value != "" {
			header.Set(name, value)
		}
	}
	header.Add("Set-Cookie", location)
	url := weburl.MustParse("http://a.example/folder/page")
	return &parse{
		follow: true, visit: &walk.Visit{URL: url},
		assignment: &assignment{
			task:     &messages.HostTask{Host: url.Host()},
			settings: &settings{sent: &messages.FetchSettings{RobotsAgent: "henro"}},
			links:    &admission.Options{MaxRedirects: 20},
			regions:  &admission.Lent{Host: url.Host(), Part: &scope.Part{Prefixes: []string{"http://a.example/"}}},
		},
		visited: &messages.PageVisited{Url: url.String(), DepthLeft: 3},
		fetched: &fetched{response: &fetch.Response{URL: url, Status: status, Header: header, Body: body, Payload: body,
			RawBody: body}},
	}
}

// A page that is linked and shown in a frame is both: the link to follow, and the requisite. A frame beside no frameset
// is none, as in browsers.
func TestAFrameIsKeptBesideALinkToThePageInIt(t *testing.T) {
	for body, want := range map[string][]byte{
		`<a href=in></a><iframe src=in></iframe><frame src=in>`: {
			byte(outlink.Anchor), byte(outlink.Iframe),
		},
		`<frameset><frame src=in><noframes><a href=in></a></noframes></frameset>`: {byte(outlink.Frame)},
	} {
		m := answered(200, "", "", "", "text/html", []byte(body))
		(&Parser{o: DefaultOptions()}).page(m, &parsed{})
		if got := m.visited.Links.Kinds; !slices.Equal(got, want) {
			t.Errorf("the links of %s are of kinds %v, want %v", body, got, want)
		}
	}
}

// Of a page that is known and is not what it was it is asked whether that is noise, where the crawl wants to know.
func TestItIsAskedWhetherAChangeIsNoise(t *testing.T) {
	body := []byte("<p>It is <b>noon</b>")
	same := warc.Sum(body)
	for _, c := range []struct {
		sentence string
		news     bool
		digest   []byte // of the last capture
		want     bool
	}{
		{"changed", true, make([]byte, 20), true},
		{"as it was", true, same[:], false},
		{"not known", true, nil, false},
		{"of no interest", false, make([]byte, 20), false},
	} {
		p := &Parser{o: DefaultOptions()}
		asked := ""
		p.o.Noise = func(url string, status int, body []byte) bool {
			asked = fmt.Sprintf("%s %d %s", url, status, body)
			return true
		}
		m := answered(200, "", "", "", "text/html", body)
		m.visit.Task = &messages.Task{Digest: c.digest}
		m.settings.sent.News = c.news
		p.page(m, &parsed{})
		if m.visited.Noise != c.want || c.want != (asked == m.visited.Url+" 200 "+string(body)) {
			t.Errorf("%s: noise %v, asked %q", c.sentence, m.visited.Noise, asked)
		}
	}
}

// A page of 1.6 MB that names 16 MB of links is kept with 4 MiB of them, and its rooms are not.
func TestTheLinksOfALinkFarmAreBoundedInBytes(t *testing.T) {
	body := []byte("<base href=/" + strings.Repeat("x", 320) + "/>")
	for i := range 45_000 {
		body = fmt.Appendf(body, "<a href=%05d>some words</a>", i)
	}
	p := &Parser{o: DefaultOptions()}
	m := answered(200, "", "", "", "text/html", body)
	p.page(m, &parsed{})
	size, urls := 0, m.visited.Links.Urls
	for i, url := range urls {
		size += len(url) + len(m.visited.Links.Anchors[i])
	}
	if size < maxLinkBytes || size > maxLinkBytes+500 {
		t.Errorf("%d links of %d bytes are kept", len(urls), size)
	}
	kept := func() bool {
		return cap(p.urls)+cap(p.follow)+cap(p.found.Urls)+len(p.unique.slots)+len(p.written.slots)+
			cap(p.document.Links) > 0
	}
	if kept() {
		t.Error("the rooms of the page are kept")
	}
	m = answered(200, "", "", "", "text/html", []byte(strings.Repeat("<a href=in#x>here</a>", maxRoomLinks+1)))
	if p.page(m, &parsed{}); len(m.visited.Links.Urls) != 1 || kept() {
		t.Errorf("a page of links to one other has %d links, and its rooms are kept: %v",
			len(m.visited.Links.Urls), kept())
	}
	m = answered(200, "", "", "", "text/html", []byte("<a href=in></a>"))
	if p.page(m, &parsed{}); len(m.visited.Links.Urls) != 1 {
		t.Errorf("the next page has %d links", len(m.visited.Links.Urls))
	}
}

// The words of a page whose bytes are as before are not looked at unless a rule asks for them; its links are.
func TestThePageThatIsAsBeforeHasItsLinksJudgedAgain(t *testing.T) {
	body := []byte("<title>Of it</title><p>Some words about <a href=in>it</a> and more.")
	about, err := topic.Parse([]byte("words"))
	if err != nil {
		t.Fatal(err)
	}
	for sentence, c := range map[string]struct {
		change func(*parse, *Parser)
		words  bool
	}{
		"as before":    {func(*parse, *Parser) {}, false},
		"changed":      {func(m *parse, _ *Parser) { m.visit.Task.Digest = []byte("another") }, true},
		"new":          {func(m *parse, _ *Parser) { m.visit.Task = nil }, true},
		"compared":     {func(m *parse, _ *Parser) { m.settings.sent.Near = true }, true},
		"in languages": {func(m *parse, _ *Parser) { m.settings.sent.Languages = []string{"en"} }, true},
		"for a topic":  {func(m *parse, _ *Parser) { m.settings.admission.Topic = about }, true},
	} {
		m := answered(200, "", "", "", "text/html", body)
		p := &Parser{o: DefaultOptions()}
		digest := warc.Sum(body)
		m.visit.Task = &messages.Task{Digest: digest[:]}
		c.change(m, p)
		p.page(m, &parsed{})
		if v := m.visited; v.Simhash != 0 != c.words || v.MainDigest != 0 != c.words || v.Title != "Of it" ||
			!slices.Equal(v.Links.Urls, []string{"http://a.example/folder/in"}) {
			t.Errorf("%s: %v", sentence, v)
		}
	}
}

// Links count against what a slave keeps while their capture is on its way to the archive, as the records do: pages of
// 4 MiB of links each, whose records are small, would not hold back anybody otherwise.
func TestLinksCountWhileTheirCaptureIsStored(t *testing.T) {
	o := DefaultOptions()
	w := newWindow(&o)
	kept := &account{window: w}
	s := &Slave{o: o, window: w, leases: map[uint64]*lent{1: {kept: kept, owed: owed.New(1, "http://a.example", kept)}}}
	links := &messages.LinkSet{}
	for i := range 1000 {
		links.Urls = append(links.Urls, fmt.Sprintf("http://a.example/%d%s", i, strings.Repeat("x", 1000)))
		links.Kinds, links.Flags = append(links.Kinds, 0), append(links.Flags, 0)
		links.Anchors = append(links.Anchors, "")
	}
	p := &Parser{o: o}
	p.bytes = 1_000_000
	for _, lease := range []uint64{1, 2} { // the second is over
		made := &factMade{lease: lease, kept: kept, Fact: owed.Fact{Order: 1, Message: &messages.Fact{
			Visited: &messages.PageVisited{Links: links}}}}
		before := kept.count.Load()
		p.countLinks(made)
		made.count(500) // records
		if n := kept.count.Load() - before; n < 1_000_500 || n > 1_100_000 {
			t.Errorf("%d bytes count on the way", n)
		}
		s.keep(nil, made)
	}
	sum := 0
	for _, report := range s.leases[1].owed.Report(time.Now()) {
		for _, fact := range report {
			sum += proto.Size(fact)
		}
	}
	if n := kept.count.Load(); n != int64(sum) || sum < 1_000_000 {
		t.Errorf("%d bytes count, %d wait to be stored", n, sum)
	}
}

// Whatever a host says of where to go: links are canonical URLs, one is a redirect at most and never to the page
// itself, only links of the host are followed within the lease, and robots.txt ends as rules, as one step on this host,
// or as a question to another.
func FuzzRedirect(f *testing.F) {
	for _, location := range []string{
		"/", "http://b.example/", "//b.example", "?", "#here", "page", "http://127.0.0.1:1/", "javascript:alert(1)",
		"http://[::1", "http://a.example:99999/",
		"\x00", "/\r\nSet-Cookie: a=b", "http://user:password@b.example/", "https:///robots.txt", " /space ", "/日本",
		"/%", strings.Repeat("../", 3000),
	} {
		f.Add(uint16(302), location, "5; url="+location, "<"+location+">; rel=next",
			[]byte("<a href=\""+location+"\">x</a>"))
	}
	f.Add(uint16(200), "", "", "", []byte("<base href='http://b.example/'><meta http-equiv=refresh content='0;url=x'>"))
	p := &Parser{o: DefaultOptions()}
	f.Fuzz(func(t *testing.T, status uint16, location, refresh, link string, body []byte) {
		for _, mime := range []string{"text/html", ""} {
			m, found := answered(int(status), location, refresh, link, mime, body), &parsed{}
			p.page(m, found)
			if status == http.StatusNotModified {
				continue
			}
			redirects := 0
			for i, url := range m.visited.Links.Urls {
				u, err := weburl.Parse(url)
				if err != nil || u.String() != url {
					t.Fatalf("link %q is %q, %v", url, u, err)
				}
				if outlink.Kind(m.visited.Links.Kinds[i]) == outlink.Redirect {
					redirects++
					if u == m.response.URL || status < 300 || status > 399 {
						t.Fatalf("status %d redirects to %s", status, url)
					}
				}
			}
			if redirects > 1 {
				t.Fatalf("%d redirects", redirects)
			}
			for _, v := range found.follow {
				if v.URL.Host() != m.task.Host || v.Left < 0 || v.Left > 3 || v.Hops > 1 {
					t.Fatalf("to be followed: %+v", v)
				}
			}
		}
		m, found := answered(int(status), location, "", "", "", body), &parsed{}
		m.visit.File = &walk.File{Ask: m.response.URL}
		v := p.robots(m, found)
		ends := 0
		switch to, err := weburl.Parse(v.Location); {
		case found.file.Elsewhere:
			ends++
			if err != nil || to.Host() == m.task.Host {
				t.Fatalf("robots.txt is asked for elsewhere: %q, %v", v.Location, err)
			}
		case !found.file.Ask.IsZero():
			ends++
			if found.file.Ask.Host() != m.task.Host {
				t.Fatal("robots.txt is followed to", found.file.Ask)
			}
		}
		if len(v.Rules) > 0 {
			ends++
			if err := new(robots.Rules).UnmarshalBinary(v.Rules); err != nil {
				t.Fatal(err)
			}
		}
		if ends != 1 {
			t.Fatalf("robots.txt ends in %d ways: %+v", ends, v)
		}
	})
}
