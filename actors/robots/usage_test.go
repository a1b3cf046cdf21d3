package robots

import (
	"slices"
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	const file = `License: https://example.org/l?,ai-train=n
User-agent: *
Content-Usage: / train-ai=n
Content-Usage: /ai-ok/ train-ai=y
Content-Signal: search=yes, ai-train=no
Disallow: /never/

User-agent: ExampleBot
Content-usage: train-ai=y, search=n # of all paths
Content-Usage: /nothing
Allow: /
`
	const licensed = "License: https://example.org/l?,ai-train=n" // of the host, and no word of ours
	for _, c := range []struct{ what, agent, uri, want string }{
		{"the example of the draft", "henro", "/test",
			"Content-Usage: train-ai=n|Content-Signal: search=yes, ai-train=no|" + licensed},
		{"the longest path counts, of each field", "henro", "/ai-ok/x",
			"Content-Usage: train-ai=y|Content-Signal: search=yes, ai-train=no|" + licensed},
		{"a group of its own", "ExampleBot", "/ai-ok/x", "Content-Usage: train-ai=y, search=n|" + licensed},
	} {
		r := Parse([]byte(file), c.agent)
		if got := strings.ReplaceAll(strings.Join(r.Usage(c.uri), "|"), "robots.txt ", ""); got != c.want {
			t.Errorf("%s: %s %s: %q, want %q", c.what, c.agent, c.uri, got, c.want)
		}
		same(t, r, c.uri)
		b, _ := r.MarshalBinary()
		var back Rules
		if err := back.UnmarshalBinary(b); err != nil || !slices.Equal(back.Usage(c.uri), r.Usage(c.uri)) {
			t.Errorf("%s: after marshalling %q (%v)", c.what, back.Usage(c.uri), err)
		}
	}
	if r := Parse([]byte(file), "henro"); r.Allowed("/never/x") || !r.Allowed("/test") {
		t.Error("statements change what is allowed")
	}
}

func TestUsageDoesNotJoinGroups(t *testing.T) {
	r := Parse([]byte("User-agent: a\nContent-Signal: ai-train=no\nUser-agent: henro\nContent-Signal: search=no\n"),
		"henro")
	if got := r.Usage("/"); !slices.Equal(got, []string{"robots.txt Content-Signal: search=no"}) {
		t.Errorf("%q", got)
	}
}

func TestTDMRep(t *testing.T) {
	r := AllowAll().Reserve([]byte(`[{"location": "/*", "tdm-reservation": 1, "tdm-policy": "https://example.org/p"},
		{"location": "/free/*", "tdm-reservation": 0}, {"location": "other", "tdm-reservation": 1},
		{"location": "/odd", "tdm-reservation": "1"}, {"location": "/x", "tdm-reservation": 7}]`))
	for uri, want := range map[string]string{"/a": "tdm", "/free/a": "", "/odd": "tdm"} {
		if got := Reserved(r.Usage(uri), Uses()); got != want {
			t.Errorf("%s: %q of %q, want %q", uri, got, r.Usage(uri), want)
		}
	}
	if !slices.Equal(r.Usage("/a"), []string{"tdmrep.json tdm-reservation: 1 https://example.org/p"}) {
		t.Errorf("%q", r.Usage("/a"))
	}
	same(t, r, "/a")
	for _, broken := range []string{"", "<html>", `{"location": "/"}`, `[{"location": 1}]`} {
		if got := AllowAll().Reserve([]byte(broken)).Usage("/"); got != nil {
			t.Errorf("%q says %q", broken, got)
		}
	}
	if u := Unreached(); u.Reserve([]byte(`[{"location": "/", "tdm-reservation": 1}]`)) != u {
		t.Error("a host that did not answer says something")
	}
}

func TestReserved(t *testing.T) {
	for _, c := range []struct{ statement, uses, want string }{
		{"Content-Usage: train-ai=n", "ai-train", "ai-train"},
		{"Content-Usage: train-ai=n;exceptions=1, search=y", "search ai-train", "ai-train"},
		{"robots.txt Content-Signal: Search=NO,ai-input=yes", "ai-input search", "search"},
		{"robots.txt Content-Signal: ai-input=yes", "ai-input", ""},
		{"Content-Usage: train-ai=n", "search tdm noarchive", ""},
		{"tdm-reservation: 1", "tdm", "tdm"},
		{"tdm-reservation: 0", "tdm", ""},
		{"tdmrep.json tdm-reservation: 1 https://example.org/p", "tdm", "tdm"},
		{"robots: noarchive", "noarchive", "noarchive"},
		{"robots: noarchive", "tdm", ""},
		{"robots.txt License: https://example.org/l?,ai-train=n,noarchive", "ai-train noarchive", ""},
		{"Content-Usage: ;;=,=n", "ai-train tdm", ""},
	} {
		if got := Reserved([]string{c.statement}, strings.Fields(c.uses)); got != c.want {
			t.Errorf("%s, obeying %s: %q, want %q", c.statement, c.uses, got, c.want)
		}
	}
}

// A file of nothing but statements keeps within what a message takes.
func TestUsageIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 3000 {
		b.WriteString("Content-Usage: /" + strings.Repeat("a", i%300) + " train-ai=n, " + strings.Repeat("b", i%240) +
			"\n")
		b.WriteString("Disallow: /" + strings.Repeat("c", i%200) + "\n")
	}
	r := Parse([]byte(b.String()), "henro")
	if len(r.usage) != maxUsages {
		t.Errorf("%d statements are kept", len(r.usage))
	}
	same(t, r, "/", "/c")
}
