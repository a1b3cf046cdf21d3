package telling

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"henro/store/report/changes"
)

// hook is a webhook that notes what it gets.
type hook struct {
	mu    sync.Mutex
	got   []string
	fails bool
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fails {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	h.got = append(h.got, string(body))
}

func (h *hook) takes() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	got := h.got
	h.got = nil
	return got
}

func change(n int) *changes.Change {
	at := time.Date(2026, 3, 1, 12, 0, n, 0, time.UTC)
	url := fmt.Sprintf("http://a.example/%d", n)
	return &changes.Change{ID: changes.IDOf(url, at, ""), URL: url, Title: fmt.Sprint("Page ", n), At: at, Letters: 9,
		Kinds: []string{"text"}}
}

// teller opens the receivers of a crawl with a clock that stands.
func teller(t *testing.T, dir, rules string, now *time.Time) *Teller {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, RulesName), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"TO": "ntfy://ntfy.sh/teas"}
	receivers, err := ReadReceivers(dir, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	told, err := Open(dir, receivers)
	if err != nil {
		t.Fatal(err)
	}
	told.now = func() time.Time { return *now }
	return told
}

// find writes down changes as henro feed does, and has them told.
func find(t *testing.T, told *Teller, dir string, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := changes.Append(filepath.Join(dir, changes.Folder), []changes.Change{*change(n)}); err != nil {
			t.Fatal(err)
		}
		told.Tell(change(n))
	}
}

func TestEachChangeIsSentOnceWhateverFailsAndIsStartedAgain(t *testing.T) {
	h := &hook{}
	server := httptest.NewServer(h)
	defer server.Close()
	dir, now := t.TempDir(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	rules := fmt.Sprintf("- name: hook\n  to: generic%s?disabletls=yes\n  private: true\n  most: 5\n",
		strings.TrimPrefix(server.URL, "http"))
	told := teller(t, dir, rules, &now)
	step := func() error { return told.step(told.queues[0]) }
	find(t, told, dir, 1, 3)
	if err := step(); err != nil || len(h.takes()) != 0 {
		t.Errorf("sent before the others could come: %v", err)
	}
	now = now.Add(gather)
	if err := step(); err != nil {
		t.Fatal(err)
	}
	got := h.takes()
	if len(got) != 1 || strings.Count(got[0], "\n") != 3 || !strings.Contains(got[0], "/1 Page 1: 9 letters") {
		t.Errorf("%q", got)
	}
	h.fails = true
	find(t, told, dir, 4, 4)
	now = now.Add(gather)
	if err := step(); err == nil || strings.Contains(err.Error(), server.URL) {
		t.Errorf("%v", err)
	}
	h.fails = false
	find(t, told, dir, 5, 5)
	if err := step(); err != nil || len(h.takes()) != 0 {
		t.Errorf("it did not wait: %v", err)
	}

	told = teller(t, dir, rules, &now) // killed, and started again
	find(t, told, dir, 6, 6)
	now = now.Add(firstWait)
	if err := step(); err != nil {
		t.Fatal(err)
	}
	if got := h.takes(); len(got) != 1 || strings.Count(got[0], "\n") != 3 || strings.Contains(got[0], "/3 ") {
		t.Errorf("after a restart: %q", got)
	}
	for n := 7; n <= 9; n++ { // the fourth and fifth message of this hour, and no sixth
		find(t, told, dir, n, n)
		now = now.Add(gather)
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.takes(); len(got) != 2 {
		t.Errorf("%d messages more in this hour: %q", len(got), got)
	}
	now = now.Add(time.Hour)
	if err := step(); err != nil {
		t.Fatal(err)
	}
	if got := h.takes(); len(got) != 1 || !strings.Contains(got[0], "/9 ") || strings.Contains(got[0], "/8 ") {
		t.Errorf("an hour later: %q", got)
	}
	sends, err := os.ReadFile(filepath.Join(dir, changes.Folder, SendsName))
	if err != nil || strings.Count(string(sends), "\n") != 6 || !strings.Contains(string(sends), "503") {
		t.Errorf("%s, %v", sends, err)
	}
}

func TestWhatComesInAFloodIsGathered(t *testing.T) {
	var sent []string
	dir, now := t.TempDir(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	told := teller(t, dir, "- {name: a, to_env: TO, pages: 'http://a.example/1*', every: 1h}", &now)
	told.send = func(_ *Receiver, title, text string) error { sent = append(sent, title+"\n"+text); return nil }
	for n := range 120_000 {
		told.Tell(change(n))
	}
	now = now.Add(59 * time.Minute)
	if err := told.step(told.queues[0]); err != nil || len(sent) != 0 {
		t.Fatal(err, sent)
	}
	now = now.Add(time.Minute)
	if err := errors.Join(told.step(told.queues[0]), told.step(told.queues[0])); err != nil || len(sent) != 1 {
		t.Fatal(err, len(sent))
	}
	// 1, 10 to 19, 100 to 199 … 100,000 to 119,999
	want := "31111 pages have changed\n"
	if !strings.HasPrefix(sent[0], want) || strings.Count(sent[0], "\n") != listed+2 ||
		!strings.Contains(sent[0], "and 31091 more") {
		t.Errorf("%q, want %q", sent[0], want)
	}
}

// The bound of an hour holds for who starts henro again and again too.
func TestMessagesOfAnHourAreBoundedOverStarts(t *testing.T) {
	var sent []time.Time
	dir, now := t.TempDir(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for n := range 90 {
		told := teller(t, dir, "- {name: b, to_env: TO}\n- {name: a, to_env: TO, most: 2}", &now)
		told.send = func(*Receiver, string, string) error { sent = append(sent, now); return nil }
		find(t, told, dir, n, n)
		now = now.Add(time.Minute)
		if err := told.step(told.queues[1]); err != nil {
			t.Fatal(err)
		}
	}
	if len(sent) != 4 || sent[2].Sub(sent[0]) < time.Hour {
		t.Errorf("messages at %v, want two an hour", sent)
	}
}

func TestNothingIsSentInQuietHours(t *testing.T) {
	for _, c := range []struct {
		quiet, at, until string
	}{{"22:00-07:00", "23:30", "07:00"}, {"22:00-07:00", "06:59", "07:00"}, {"22:00-07:00", "07:00", ""},
		{"22:00-07:00", "21:59", ""}, {"12:00-13:30", "13:00", "13:30"}, {"12:00-13:30", "13:30", ""}} {
		r := &Receiver{Name: "a", To: "ntfy://ntfy.sh/teas", Quiet: c.quiet}
		if err := r.settle("", nil); err != nil {
			t.Fatal(err)
		}
		at, _ := time.ParseInLocation("15:04", c.at, time.Local)
		until, quiet := r.isQuiet(at)
		if quiet != (c.until != "") || quiet && (until.Format("15:04") != c.until || !until.After(at)) {
			t.Errorf("%+v: %v, %v", c, until, quiet)
		}
	}
}

func TestAMistakeInTheFileOfReceiversIsNamed(t *testing.T) {
	for text, says := range map[string]string{
		"- {name: a}":                                         "want one of to, to_file and to_env",
		"- {to: 'ntfy://ntfy.sh/a'}":                          "want a name",
		"- {name: a, to: 'nowhere://x'}":                      "unknown service",
		"- {name: a, to: 'smtp://me:secret@b.example/'}":      "to has a password",
		"- {name: a, to: 'ntfy://ntfy.sh/a', quiet: late}":    "want 22:00-07:00",
		"- {name: a, to: 'ntfy://ntfy.sh/a', every: often}":   "every",
		"- {name: a, to: 'ntfy://ntfy.sh/a', most: -1}":       "most -1",
		"- {name: a, to: 'ntfy://ntfy.sh/a', typo: 1}":        "typo",
		"- {name: a, to: 'ntfy://ntfy.sh/a', pages: 'a://b'}": "pages",
		"- {name: a, to_file: nothing}":                       "no such file",
		"- {name: a, to_env: NOTHING}":                        "the environment has no NOTHING",
		"- {name: a, to_env: TO}\n- {name: a, to_env: TO}":    "two receivers are named a",
		"a: b":                "want a list of receivers",
		"- {name: a, url: b}": "NAME: line 1: field url is not known",
		"- null":              "receiver 1",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, RulesName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"TO": "ntfy://ntfy.sh/a"}
		_, err := ReadReceivers(dir, func(name string) string { return env[name] })
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// What a page says cannot call people, end a line, or be markup; secrets are in no log.
func TestHostileWordsAndSecretsAreKeptOut(t *testing.T) {
	c := change(1)
	c.Title = "@everyone <b>\r\nBcc: all\u202e\x1b[31m"
	c.Diff = "--- a\n+++ b\n@@ -1 +1 @@\n-@everyone \x1b[31m<b>old\n+" + strings.Repeat("new", 1000) + "\n same\n" +
		strings.Repeat("+\u202emore\n", 1000)
	title, text := message([]changes.Change{*c}, 0)
	for _, bad := range []string{"@everyone", "<b>", "\r", "\u202e", "\x1b", "\nBcc"} {
		if strings.Contains(title+text, bad) {
			t.Errorf("%q in %q", bad, title+text)
		}
	}
	if !strings.Contains(text, "old\n  +newnew") || strings.Contains(text, "same") || strings.Contains(text, "+++") ||
		len(text) > textBytes+2*lineBytes {
		t.Errorf("what changed is told as %q", text)
	}
	r := &Receiver{url: "smtp://me%40b.example:pass+word@mail.b.example:587/?from=secret@b.example&to=c@d.example"}
	said := r.hide("send as me@b.example with pass+word to " + r.url + ": secret@b.example")
	if strings.Contains(said, "pass") || strings.Contains(said, "secret") {
		t.Error(said)
	}
}

// Without being told so, nothing is sent to an address of this machine or network.
func TestTheGuardOfAddressesHolds(t *testing.T) {
	h := &hook{}
	server := httptest.NewServer(h)
	defer server.Close()
	dir, now := t.TempDir(), time.Now()
	told := teller(t, dir, fmt.Sprintf("- name: hook\n  to: generic%s?disabletls=yes\n",
		strings.TrimPrefix(server.URL, "http")), &now)
	err := Test([]*Receiver{told.queues[0].Receiver}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "private: true") || len(h.takes()) != 0 {
		t.Error(err)
	}
	if _, err := http.Get(server.URL); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("the default transport: %v", err)
	}
}

func FuzzReceivers(f *testing.F) {
	f.Add([]byte("- {name: a, to: 'ntfy://ntfy.sh/a', every: 1h, quiet: '22:00-07:00', most: 3, pages: a.example}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, RulesName), text, 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := ReadReceivers(dir, func(string) string { return "" })
		if err != nil {
			return
		}
		if _, err := json.Marshal(all); err != nil || slices.Contains(all, nil) {
			t.Errorf("%q: %v, %v", text, all, err)
		}
	})
}
