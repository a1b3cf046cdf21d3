package scope_test

import (
	"fmt"
	"slices"
	"testing"

	"henro/actors/scope"
	"henro/messages/weburl"
)

func newScope(t *testing.T, o scope.Options, seeds ...string) *scope.Scope {
	t.Helper()
	r, err := scope.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range seeds {
		r = r.With(weburl.MustParse(seed))
	}
	return r
}

func decide(r *scope.Scope, url string) scope.Verdict {
	return r.Of(weburl.MustParse(url).Host()).Decide(url)
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		sentence string
		options  scope.Options
		url      string
		want     scope.Verdict
	}{
		{"a page of the seed's host is in", scope.Options{Mode: scope.Host}, "http://www.example.co.jp/other",
			scope.In},
		{"the other scheme of the same host is in", scope.Options{Mode: scope.Host}, "https://www.example.co.jp/",
			scope.In},
		{"another port is another site", scope.Options{Mode: scope.Host}, "http://www.example.co.jp:8080/",
			scope.OutOfReach},
		{"a sister host is out", scope.Options{Mode: scope.Host}, "http://img.example.co.jp/", scope.OutOfReach},
		{"a sister host is in by domain", scope.Options{Mode: scope.Domain}, "http://img.example.co.jp/", scope.In},
		{"a sister of the public suffix is out by domain", scope.Options{Mode: scope.Domain}, "http://example2.co.jp/",
			scope.OutOfReach},
		{"below the seed's folder is in by prefix", scope.Options{Mode: scope.Prefix},
			"http://www.example.co.jp/docs/x/y.html", scope.In},
		{"beside the seed's folder is out by prefix", scope.Options{Mode: scope.Prefix},
			"http://www.example.co.jp/docsx/", scope.OutOfReach},
		{"anywhere is in by any", scope.Options{Mode: scope.Any}, "http://elsewhere.test/", scope.In},
		{"another top-level domain is out", scope.Options{Mode: scope.Any, TLDs: []string{"jp"}},
			"http://elsewhere.test/", scope.WrongTLD},
		{"a wanted top-level domain is in", scope.Options{Mode: scope.Any, TLDs: []string{".JP"}},
			"http://elsewhere.jp/", scope.In},
		{"an excluded pattern is out", scope.Options{Mode: scope.Host, Exclude: []string{`\?`}},
			"http://www.example.co.jp/a?b=1", scope.Excluded},
		{"what no include names is out", scope.Options{Mode: scope.Host, Include: []string{`/docs/`}},
			"http://www.example.co.jp/a", scope.NotIncluded},
		{"a portal stops its sub-domains", scope.Options{Mode: scope.Any, Portals: []string{"portal.test"}},
			"http://news.portal.test/x", scope.StopListed},
		{"a portal does not stop names that end like it", scope.Options{Mode: scope.Any,
			Portals: []string{"portal.test"}}, "http://myportal.test/x", scope.In},
		{"a stop-listed folder is out under both schemes", scope.Options{Mode: scope.Any,
			Portals: []string{"http://a.test/x/"}}, "https://a.test/x/y", scope.StopListed},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			r := newScope(t, c.options, "http://www.example.co.jp/docs/index.html?x=1")
			if got := decide(r, c.url); got != c.want {
				t.Errorf("%s: %v, want %v", c.url, got, c.want)
			}
		})
	}
}

func TestPrefixesSayWhatASlaveMayFollow(t *testing.T) {
	r := newScope(t, scope.Options{Mode: scope.Prefix}, "http://a.test/x/index.html", "http://b.test/")
	if got := r.Of("https://a.test").Prefixes; !slices.Equal(got, []string{"https://a.test/x/"}) {
		t.Errorf("prefixes of a.test: %q", got)
	}
	if got := r.Of("http://c.test").Prefixes; got != nil {
		t.Errorf("prefixes of a host out of scope: %q", got)
	}
	if got := newScope(t, scope.DefaultOptions(), "http://a.test/x/").Of("http://a.test").Prefixes; !slices.Equal(got,
		[]string{"http://a.test/"}) {
		t.Errorf("prefixes by host: %q", got)
	}
}

func TestAddingASeedLeavesTheOldRulesAlone(t *testing.T) {
	one := newScope(t, scope.DefaultOptions(), "http://a.test/")
	two := one.With(weburl.MustParse("http://b.test/"))
	const u = "http://b.test/x"
	if decide(one, u) != scope.OutOfReach || decide(two, u) != scope.In {
		t.Errorf("the old scope says %v, the new one says %v", decide(one, u), decide(two, u))
	}
}

func TestNewRefusesWhatItCannotRead(t *testing.T) {
	for _, o := range []scope.Options{{Include: []string{"("}}, {Exclude: []string{"["}},
		{Portals: []string{"http://"}}} {
		if _, err := scope.New(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestSeedsGivenAtOnceReachWhatTheyReachOneByOne(t *testing.T) {
	seeds := []weburl.URL{weburl.MustParse("http://a.test/x/y"), weburl.MustParse("http://a.test/z/"),
		weburl.MustParse("https://a.test/x/q?r"), weburl.MustParse("http://b.test:8080/")}
	for mode := range scope.Any + 1 {
		none, err := scope.New(scope.Options{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		single := none
		for _, seed := range seeds {
			single = single.With(seed)
		}
		lot := none.With(seeds...)
		again := lot.With(seeds...)
		for _, host := range []string{"http://a.test", "https://a.test", "http://b.test:8080", "http://b.test"} {
			want := fmt.Sprintf("%+v", single.Of(host))
			if got := fmt.Sprintf("%+v", lot.Of(host)); got != want {
				t.Errorf("%v: %s: %s, not %s", mode, host, got, want)
			}
			if got := fmt.Sprintf("%+v", again.Of(host)); got != want {
				t.Errorf("%v: %s, with the seeds given again: %s, not %s", mode, host, got, want)
			}
		}
		if p := none.Of("http://a.test"); mode != scope.Any && p.Outside != scope.OutOfReach {
			t.Errorf("%v: the scope without seeds reaches what later ones do: %+v", mode, p)
		}
	}
}
