package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"henro/master/watchlist"
)

// fakeList is a list of pages; what is done to it is written down.
type fakeList struct {
	pages []watchlist.Page
	did   []string
}

func (f *fakeList) Pages() ([]watchlist.Page, string) { return f.pages, "/home/you/list.txt" }
func (f *fakeList) Put(_ context.Context, before string, p watchlist.Page) error {
	line, err := p.Line()
	f.did = append(f.did, before+" | "+line)
	return err
}
func (f *fakeList) Remove(_ context.Context, url string) error {
	f.did = append(f.did, "remove "+url)
	return nil
}
func (f *fakeList) Receivers() []string { return append([]string{"phone"}, evil...) }
func (f *fakeList) Test(context.Context) error {
	f.did = append(f.did, "test")
	return nil
}
func (f *fakeList) Teach(_ context.Context, id string, noise bool) error {
	f.did = append(f.did, fmt.Sprint("teach ", id, " ", noise))
	return errors.New("<b>there is none")
}

// The list is shown with how its pages stand, and each form does what it says.
func TestTheListIsShownAndChanged(t *testing.T) {
	crawl := newFake(t, nil)
	d := board(t, crawl, "")
	_, doc := get(t, d, "/watched", "en")
	wholesome(t, "/watched", doc)
	if !strings.Contains(doc.Find("main").Text(), "henro watch") || doc.Find("main form").Length() > 0 {
		t.Errorf("without a list: %q", doc.Find("main").Text())
	}
	list := &fakeList{pages: []watchlist.Page{{URL: somePage, Every: 6 * time.Hour, Tag: "tea", Watch: "#a > b"},
		{URL: "https://new.test/", Paused: true}, {URL: "https://late.test/", Late: true}}}
	for _, text := range evil {
		list.pages = append(list.pages, watchlist.Page{URL: text, Tag: text, Watch: text, Leave: text})
	}
	for n := range 300 {
		list.pages = append(list.pages, watchlist.Page{URL: fmt.Sprintf("https://many.test/%d", n), Tag: "many"})
	}
	crawl.watched = list
	for path, count := range map[string]int{"/watched": 100, "/watched?page=4": 3 + len(evil), "/watched?page=99": 3 +
		len(evil), "/watched?q=MANY": 100, "/watched?tag=tea": 1, "/watched?q=nothing": 0} {
		for _, language := range []string{"en", "ja"} {
			_, doc := get(t, d, path, language)
			wholesome(t, path+" "+language, doc)
			if rows := doc.Find("#rows tbody tr"); rows.Length() != count {
				t.Errorf("%s: %d rows, want %d", path, rows.Length(), count)
			}
		}
	}
	_, doc = get(t, d, "/watched?url="+url.QueryEscape(somePage), "en")
	if value := doc.Find("#w-every").AttrOr("value", ""); value != "6h" ||
		doc.Find("#w-watch").AttrOr("value", "") != "#a > b" {
		t.Errorf("to be changed: %q", value)
	}
	order := func(what string, form url.Values) (int, string) {
		answer := post(d, "/do/"+what, form)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
		}
		return answer.StatusCode, string(body)
	}
	for _, c := range []struct {
		what string
		form url.Values
		code int
		did  string
	}{
		{"watch", url.Values{"url": {" https://d.test "}, "every": {"90m"}, "tag": {"x"}, "watch": {"a,\n b"}},
			303, " | https://d.test/ every 1h30m tag x watch a, b"},
		{"watch", url.Values{"url": {"https://d.test"}, "every": {"soon"}}, 400, ""},
		{"watch", url.Values{"url": {"tea"}, "before": {somePage}}, 400, somePage + " | "},
		{"pause-page", url.Values{"url": {somePage}}, 303,
			somePage + " | " + somePage + " every 6h tag tea watch #a > b paused"},
		{"go-on", url.Values{"url": {"https://new.test/"}}, 303, "https://new.test/ | https://new.test/"},
		{"go-on", url.Values{"url": {"https://nowhere.test/"}}, 400, ""},
		{"unwatch", url.Values{"url": {somePage}}, 303, "remove " + somePage},
		{"tell-test", nil, 303, "test"},
		{"dismiss", url.Values{"id": {"a"}}, 400, "teach a true"},
		{"keep", url.Values{"id": {"b"}}, 400, "teach b false"},
		{"nonsense", nil, 404, ""},
	} {
		list.did = nil
		if code, body := order(c.what, c.form); code != c.code || strings.Join(list.did, "\n") != c.did ||
			strings.Contains(body, "<b>there") {
			t.Errorf("%s %v: %d, %q, want %d, %q\n%s", c.what, c.form, code, list.did, c.code, c.did, body)
		}
	}
	crawl.watched = nil
	if code, _ := order("unwatch", url.Values{"url": {somePage}}); code != http.StatusBadRequest {
		t.Errorf("without a list: %d", code)
	}
}
