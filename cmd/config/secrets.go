package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/botauth"
	"henro/slave/cookies"
	"henro/slave/fetch"
)

// maxCookieFile bounds what every slave is sent of a cookie file.
const maxCookieFile = 256 << 10

// secretFlags adds the flags for sites that want more than a request. None of their values shows itself, since the
// settings of a run are listed in its archive.
func secretFlags(f *pflag.FlagSet, r *messages.FetchSettings) {
	f.Var(&headers{rules: r}, "header",
		"send a header field: `[URL] NAME: VALUE`; with a URL only to URLs that begin with it, and without its value "+
			"in the archive; @FILE has one a line (repeatable)")
	f.Var(&headers{rules: r, basic: true}, "basic",
		"log in by HTTP basic authentication to URLs that begin with `URL`: https://NAME:PASSWORD@example.org/; @FILE "+
			"has one a line (repeatable)")
	f.StringArrayVar(&r.CookieHosts, "cookies", nil,
		"keep the cookies of `HOST` and send them back: example.org, .example.org with those below it, or "+
			"https://example.org:8443; @FILE begins with those of a file in Netscape's format (repeatable)")
	f.Var(&botKey{rules: r}, "bot-key",
		"sign every request with the key in `FILE`, so that hosts know who asks (Web Bot Auth; henro key bot)")
	f.Var(&proxyURL{rules: r}, "proxy",
		"fetch through a proxy: `URL` http://HOST:PORT or socks5://HOST:PORT, with NAME:PASSWORD@ if it wants "+
			"them; it looks names up, so only names of hosts are judged and no addresses")
}

// listed reads an argument, or what lines of a file say where it is @FILE.
func listed(text string) ([]string, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return []string{text}, nil
	}
	return readLines(name)
}

// headers are those of --header, or those that --basic makes.
type headers struct {
	rules *messages.FetchSettings
	basic bool
	given []*messages.Header
}

// Set reads a field, or a file of them.
func (h *headers) Set(text string) error {
	if text == "" { // as henro config prints it where none is given
		return nil
	}
	lines, err := listed(text)
	if err != nil {
		return err
	}
	read := headerOf
	if h.basic {
		read = basicOf
	}
	for _, line := range lines {
		header, err := read(line)
		if err != nil {
			return err
		}
		h.rules.Headers, h.given = append(h.rules.Headers, header), append(h.given, header)
	}
	return nil
}

// ours are the fields that henro writes itself.
var ours = map[string]bool{"Host": true, "User-Agent": true, "Accept-Encoding": true, "Connection": true,
	"Transfer-Encoding": true, "Content-Length": true, "If-None-Match": true, "If-Modified-Since": true,
	"Proxy-Authorization": true, "Accept": true, "Signature": true, "Signature-Input": true, "Signature-Agent": true}

// headerOf reads "[URL] NAME: VALUE". Its errors do not repeat it.
func headerOf(line string) (*messages.Header, error) {
	h := &messages.Header{}
	if first, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.Contains(first, "://") {
		u, err := weburl.Parse(first)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", first, err)
		}
		h.Prefix, line = u.String(), rest
	}
	name, value, ok := strings.Cut(line, ":")
	h.Name, h.Value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
	switch {
	case !ok || !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value):
		return nil, errors.New("want NAME: VALUE, or URL NAME: VALUE")
	case ours[h.Name]:
		return nil, fmt.Errorf("%s is a header that henro writes itself", h.Name)
	case h.Prefix == "" && isSecret(h.Name):
		return nil, fmt.Errorf("%s is a secret, which must not go to every host: write https://example.org/ %s: … "+
			"with the URL that it is for", h.Name, h.Name)
	}
	return h, nil
}

// isSecret reports whether a field tells by its name that its value is a secret.
func isSecret(name string) bool {
	words := []string{"auth", "cookie", "token", "secret", "key", "session", "password", "credential"}
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(name), w) })
}

// basicOf reads a URL with a name and a password. Its errors do not repeat it.
func basicOf(line string) (*messages.Header, error) {
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil || u.User == nil || u.Host == "" {
		return nil, errors.New("want https://NAME:PASSWORD@example.org/")
	}
	password, _ := u.User.Password()
	login := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
	u.User = nil
	prefix, err := weburl.Parse(u.String())
	if err != nil {
		return nil, fmt.Errorf("%q: %w", u.String(), err)
	}
	return &messages.Header{Prefix: prefix.String(), Name: "Authorization", Value: "Basic " + login}, nil
}

func (h *headers) Append(text string) error { return h.Set(text) }

// Replace reads a list in the place of what was given before.
func (h *headers) Replace(list []string) error {
	h.rules.Headers = slices.DeleteFunc(h.rules.Headers, func(known *messages.Header) bool {
		return slices.Contains(h.given, known)
	})
	h.given = nil
	for _, text := range list {
		if err := h.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// GetSlice is empty: none is shown.
func (h *headers) GetSlice() []string { return nil }

// String says how many there are.
func (h *headers) String() string {
	if len(h.given) == 0 {
		return ""
	}
	return fmt.Sprintf("(%d, not shown)", len(h.given))
}

// Hides reports whether String leaves something out.
func (h *headers) Hides() bool { return len(h.given) > 0 }

func (*headers) Type() string { return "string" }

// botKey is that of --bot-key.
type botKey struct {
	rules *messages.FetchSettings
	name  string
}

// Set reads the file.
func (b *botKey) Set(name string) (err error) {
	if b.rules.BotKey, b.rules.BotAgent, b.name = nil, "", name; name == "" {
		return nil
	}
	if b.rules.BotKey, err = ReadSecret("bot-key", name); err != nil {
		return err
	}
	b.rules.BotAgent = botauth.Agent(b.rules.BotKey)
	_, err = botauth.New(b.rules.BotKey, b.rules.BotAgent)
	return err
}

func (b *botKey) String() string { return b.name }

func (*botKey) Type() string { return "string" }

// proxyURL is that of --proxy.
type proxyURL struct{ rules *messages.FetchSettings }

// Set reads the URL of a proxy. Its errors do not repeat it.
func (p *proxyURL) Set(text string) error {
	if text == "" {
		p.rules.Proxy = ""
		return nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("want http://HOST:PORT or socks5://HOST:PORT")
	}
	if err := (fetch.Options{UserAgent: "henro", Proxy: u}).Validate(); err != nil {
		return err
	}
	p.rules.Proxy = text
	return nil
}

// String is the URL without the password.
func (p *proxyURL) String() string {
	if p.rules == nil || p.rules.Proxy == "" {
		return ""
	}
	u, err := url.Parse(p.rules.Proxy)
	if err != nil {
		return ""
	}
	return u.Redacted()
}

// Hides reports whether String leaves something out.
func (p *proxyURL) Hides() bool { return p.rules != nil && p.String() != p.rules.Proxy }

func (*proxyURL) Type() string { return "string" }

// readCookies takes the cookies of a file.
func readCookies(r *messages.FetchSettings, name string) error {
	text, err := readText(name)
	if err != nil {
		return err
	}
	if len(r.CookieFile) > 0 { // the last line of the file before may have no end
		r.CookieFile = append(r.CookieFile, '\n')
	}
	r.CookieFile = append(r.CookieFile, text...)
	if len(r.CookieFile) > maxCookieFile {
		return fmt.Errorf("%d bytes: want at most %d, with the cookies of the hosts that are crawled",
			len(r.CookieFile), maxCookieFile)
	}
	_, err = cookies.ParseFile(r.CookieFile)
	return err
}

// checkHosts says why a pattern names no hosts.
func checkHosts(pattern string) error {
	_, err := weburl.Parse(pattern + "/")
	if !strings.Contains(pattern, "://") {
		_, err = weburl.Parse("https://" + strings.TrimPrefix(pattern, ".") + "/")
		if strings.ContainsAny(pattern, "/:") {
			err = errors.New("it has a slash or a port")
		}
	}
	if err != nil {
		err = fmt.Errorf("want example.org, .example.org or https://example.org:8443: %w", err)
	}
	return err
}

// checkSecrets says which setting for sites that want more makes no sense, and reads the cookie files.
func checkSecrets(r *messages.FetchSettings, unit string) error {
	hosts := r.CookieHosts
	r.CookieHosts = nil
	for _, pattern := range hosts {
		name, isFile := strings.CutPrefix(pattern, "@")
		var err error
		if isFile {
			err = readCookies(r, name)
		} else {
			r.CookieHosts, err = append(r.CookieHosts, pattern), checkHosts(pattern)
		}
		if err != nil {
			return Usage("--cookies %q: %v", pattern, err)
		}
	}
	switch {
	case r.Proxy == "":
		return nil
	case len(r.Resolve) > 0 || r.Dns != "":
		return Usage("--proxy looks names up itself: leave --resolve and --dns out")
	case unit == "ip":
		return Usage("--politeness ip needs to know addresses, which a proxy looks up: use host or domain")
	}
	return nil
}

// readLines reads the lines of a file but those that begin with #, which a password may hold; no name is no lines.
func readLines(name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	data, err := readText(name)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// readText reads a file as programs of Windows write it, too: behind a mark, or in UTF-16.
func readText(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err == nil {
		data, _, err = transform.Bytes(unicode.BOMOverride(transform.Nop), data)
	}
	return data, err
}
