package websub

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var begun = time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)

func open(t *testing.T, path string) *Table {
	t.Helper()
	table, err := Open(path, "https://crawler.test/pings/")
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// sent is the form of the only request that is due.
func sent(t *testing.T, table *Table, now time.Time) url.Values {
	t.Helper()
	due := table.Due(now)
	if len(due) != 1 {
		t.Fatalf("%d requests are due, want 1", len(due))
	}
	form, err := url.ParseQuery(due[0].Form)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

func confirmation(form url.Values, seconds string) (token string, q url.Values) {
	callback := form.Get("hub.callback")
	return callback[strings.LastIndexByte(callback, '/')+1:], url.Values{"hub.mode": {"subscribe"},
		"hub.topic": {form.Get("hub.topic")}, "hub.challenge": {"riddle"}, "hub.lease_seconds": {seconds}}
}

// A subscription is asked for, confirmed, kept over a restart, renewed before its lease ends, and ended when the hub
// does not want it.
func TestASubscriptionLives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "websub.json")
	table := open(t, path)
	table.Found("http://a.test/feed", "http://a.test/feed?self", "http://hub.test/", begun)
	form := sent(t, table, begun)
	for name, want := range map[string]string{"hub.mode": "subscribe", "hub.topic": "http://a.test/feed?self",
		"hub.lease_seconds": "864000"} {
		if form.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, form.Get(name), want)
		}
	}
	if !strings.HasPrefix(form.Get("hub.callback"), "https://crawler.test/pings/websub/") {
		t.Errorf("the callback is %q", form.Get("hub.callback"))
	}
	if len(table.Due(begun.Add(59*time.Minute))) != 0 || len(table.Due(begun.Add(time.Hour))) != 1 {
		t.Error("want a hub that does not answer to be asked again after an hour")
	}
	token, q := confirmation(form, "1000000")
	for _, liar := range []struct{ what, name, value string }{{"another topic", "hub.topic", "http://a.test/"},
		{"another mode", "hub.mode", "unsubscribe"}, {"no challenge", "hub.challenge", ""},
		{"a long challenge", "hub.challenge", strings.Repeat("x", challengeMost+1)},
		{"no lease", "hub.lease_seconds", ""},
		{"a lease of the past", "hub.lease_seconds", "-5"}} {
		forged := url.Values{}
		for name := range q {
			forged[name] = q[name]
		}
		forged.Set(liar.name, liar.value)
		if _, ok, _ := table.Confirm(token, forged, begun); ok {
			t.Errorf("confirmed with %s", liar.what)
		}
	}
	if _, ok, _ := table.Confirm("guess", q, begun); ok {
		t.Error("confirmed at another callback")
	}
	if challenge, ok, err := table.Confirm(token, q, begun); challenge != "riddle" || !ok || err != nil {
		t.Fatalf("answered %q, %v, %v", challenge, ok, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the secrets: %v, %v", info, err)
	}
	table = open(t, path)
	renewed := 900000 * time.Second
	if len(table.Due(begun.Add(renewed-time.Second))) != 0 {
		t.Error("renewed too early")
	}
	if again := sent(t, table, begun.Add(renewed)); again.Get("hub.callback") != form.Get("hub.callback") ||
		again.Get("hub.secret") != form.Get("hub.secret") {
		t.Error("renewed as another subscription")
	}
	if _, ok, _ := table.Confirm(token, url.Values{"hub.mode": {"denied"}, "hub.topic": q["hub.topic"]},
		begun.Add(renewed)); !ok || len(table.Due(begun.Add(renewed+leaseWanted-time.Second))) != 0 {
		t.Error("a hub that refuses is asked again")
	}
	// leases of a second or of ten thousand years
	for seconds, want := range map[string]time.Duration{"1": time.Hour, "315360000000": leaseMost - leaseMost/10} {
		table.Confirm(token, url.Values{"hub.mode": {"subscribe"}, "hub.topic": q["hub.topic"],
			"hub.challenge": {"x"}, "hub.lease_seconds": {seconds}}, begun)
		if len(table.Due(begun.Add(want-time.Second))) != 0 || len(table.Due(begun.Add(want))) != 1 {
			t.Errorf("a lease of %s s: want it renewed after %v", seconds, want)
		}
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, ""); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("a damaged file: %v", err)
	}
}

// Whatever pages name as hubs, a host that confirms nothing is asked a few times, and the table is bounded.
func TestWhatPagesNameIsBounded(t *testing.T) {
	table := open(t, filepath.Join(t.TempDir(), "websub.json"))
	for n := range 100 {
		for page := range 100 {
			table.Found(fmt.Sprintf("http://liar%d.test/%d", n, page), "http://liar.test/",
				fmt.Sprintf("http://victim.test/%d", page), begun)
		}
	}
	requests := 0
	for now := begun; now.Before(begun.Add(48 * time.Hour)); now = now.Add(time.Minute) {
		requests += len(table.Due(now))
	}
	if requests != unprovedMost*tries || len(table.byPage) != 0 || len(table.byToken) != 0 {
		t.Errorf("%d requests to a host that is no hub, want %d; %d subscriptions are left", requests,
			unprovedMost*tries, len(table.byPage))
	}
	for n := range 2 * most { // hubs that confirm
		table.Found(fmt.Sprintf("http://a%d.test/%d", n/100, n), "", fmt.Sprintf("http://hub%d.test/", n), begun)
	}
	if len(table.byPage) != 2*most/100*hostMost+hostMost {
		t.Errorf("%d subscriptions, want %d of each host", len(table.byPage), hostMost)
	}
	for n := range 2 * most {
		table.Found(fmt.Sprintf("http://b%d.test/", n), "", fmt.Sprintf("http://hub%d.test/", n), begun)
	}
	if len(table.byPage) != most {
		t.Errorf("%d subscriptions, want %d", len(table.byPage), most)
	}
}

// A page that names another hub at each visit has none of them asked sooner.
func TestAPageThatChangesItsHubIsAskedForNoSooner(t *testing.T) {
	table := open(t, filepath.Join(t.TempDir(), "websub.json"))
	requests := 0
	for n := range 60 {
		now := begun.Add(time.Duration(n) * time.Minute)
		table.Found("http://liar.test/", "http://liar.test/", fmt.Sprintf("http://victim%d.test/", n), now)
		requests += len(table.Due(now))
	}
	if requests != 1 || len(table.byPage) != 1 || len(table.byToken) != 1 {
		t.Errorf("%d requests in an hour, want 1; %d pages, %d callbacks", requests, len(table.byPage),
			len(table.byToken))
	}
}

// Only what is signed with the secret of its subscription counts.
func TestOnlyWhatIsSignedCounts(t *testing.T) {
	table := open(t, filepath.Join(t.TempDir(), "websub.json"))
	table.Found("http://a.test/feed", "http://a.test/feed", "http://hub.test/", begun)
	form := sent(t, table, begun)
	token, _ := confirmation(form, "")
	sign := func(secret, body string) string {
		mac := hmac.New(sha1.New, []byte(secret))
		mac.Write([]byte(body))
		return "sha1=" + hex.EncodeToString(mac.Sum(nil))
	}
	long := hmac.New(sha512.New, []byte(form.Get("hub.secret")))
	long.Write([]byte("news"))
	for _, c := range []struct{ token, signature, want string }{
		{token, sign(form.Get("hub.secret"), "news"), "http://a.test/feed"},
		{token, "sha512=" + hex.EncodeToString(long.Sum(nil)), "http://a.test/feed"},
		{token, sign(form.Get("hub.secret"), "news "), ""},
		{token, sign("", "news"), ""},
		{token, "", ""}, {token, "sha1=", ""}, {token, "sha1=zz", ""},
		{token, strings.Replace(sign(form.Get("hub.secret"), "news"), "sha1", "md5", 1), ""},
	} {
		page, known, err := table.Received(c.token, c.signature, strings.NewReader("news"))
		if page != c.want || !known || err != nil {
			t.Errorf("signed %q: %q, %v, %v", c.signature, page, known, err)
		}
	}
	if page, known, _ := table.Received("guess", sign(form.Get("hub.secret"), "news"),
		strings.NewReader("news")); page != "" || known {
		t.Error("a callback that nobody was given is known")
	}
	cut := errors.New("too long")
	body := io.MultiReader(strings.NewReader("n"), broken{cut})
	if page, _, err := table.Received(token, sign("x", ""), body); page != "" || !errors.Is(err, cut) {
		t.Errorf("a body that is cut: %q, %v", page, err)
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
