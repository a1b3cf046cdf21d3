// Package telling tells people of changes where they are: by mail, chat, push services and webhooks (shoutrrr).
//
// tell.yaml in the directory of a crawl is a list of receivers. Each has a cursor of its own, which is kept: a change
// is sent once, and once more only where the process ended between sending and keeping. What cannot be sent waits, and
// is gathered into one message; every attempt is in feed/sends.jsonl, with the cause of its failure.
package telling

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"henro/actors/revisit"
	"henro/messages/weburl"
	"henro/store/report/changes"
)

// RulesName is the name of the file of receivers in the directory of a crawl.
const RulesName = "tell.yaml"

// Bounds of the file.
const (
	maxFile      = 1 << 20
	maxReceivers = 100
	maxSecret    = 16 << 10
)

// mostDefault is how many messages an hour a receiver gets.
const mostDefault = 20

// Receiver is one place where changes are told.
type Receiver struct {
	Name    string `yaml:"name"`    // in logs; two receivers have two names
	To      string `yaml:"to"`      // a URL of shoutrrr without secrets, as ntfy://ntfy.sh/topic …
	ToFile  string `yaml:"to_file"` // … or the file that holds it …
	ToEnv   string `yaml:"to_env"`  // … or the variable of the environment
	Private bool   `yaml:"private"` // it may have an address of this machine or network
	Pages   string `yaml:"pages"`   // a URL, all that begin with what stands before a *, or a host; "": all
	Every   string `yaml:"every"`   // a digest every so often; "": at once
	Quiet   string `yaml:"quiet"`   // 22:00-07:00, in the machine's zone: gathered meanwhile
	Most    int    `yaml:"most"`    // messages an hour at most; what is above is gathered

	url         string
	pages       func(url string) bool
	every       time.Duration
	quiet       bool
	begins, end time.Duration // of quiet, since midnight
}

// ReadReceivers reads the receivers of a crawl; there are none without a file.
func ReadReceivers(dir string, env func(string) string) ([]*Receiver, error) {
	path := filepath.Join(dir, RulesName)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: longer than %d bytes", path, maxFile)
	}
	var all []*Receiver
	in := yaml.NewDecoder(bytes.NewReader(text))
	in.KnownFields(true)
	if err := in.Decode(&all); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: want a list of receivers, each beginning with - name: NAME: %w", path, err)
	}
	if len(all) > maxReceivers {
		return nil, fmt.Errorf("%s: more than %d receivers", path, maxReceivers)
	}
	names := map[string]bool{}
	for i, r := range all {
		if r == nil {
			r = &Receiver{}
		}
		if err := r.settle(dir, env); err != nil {
			return nil, fmt.Errorf("%s: receiver %d (%s): %w", path, i+1, r.Name, err)
		}
		if names[r.Name] {
			return nil, fmt.Errorf("%s: two receivers are named %s", path, r.Name)
		}
		names[r.Name] = true
	}
	return all, nil
}

// settle checks what a receiver says.
func (r *Receiver) settle(dir string, env func(string) string) (err error) {
	if r.Name == "" || len(r.Name) > 100 {
		return errors.New("want a name of 1 to 100 bytes")
	}
	switch {
	case r.To != "" && r.ToFile == "" && r.ToEnv == "":
		if r.url = r.To; hasPassword(r.To) {
			return errors.New("to has a password: put the URL into a file of yours alone (to_file) or the " +
				"environment (to_env)")
		}
	case r.ToFile != "" && r.To == "" && r.ToEnv == "":
		r.url, err = secret(dir, r.ToFile)
	case r.ToEnv != "" && r.To == "" && r.ToFile == "":
		if r.url = strings.TrimSpace(env(r.ToEnv)); r.url == "" {
			err = fmt.Errorf("the environment has no %s", r.ToEnv)
		}
	default:
		err = errors.New("want one of to, to_file and to_env")
	}
	if err != nil {
		return err
	}
	if _, err := sender(r.url); err != nil {
		return fmt.Errorf("%s", r.hide(err.Error()))
	}
	if r.pages, err = matcher(r.Pages); err != nil {
		return err
	}
	if r.Every != "" {
		if r.every, err = revisit.ParseSpan(r.Every); err != nil {
			return fmt.Errorf("every: %w", err)
		}
	}
	if r.Quiet != "" {
		var from, to time.Time
		begins, end, _ := strings.Cut(r.Quiet, "-")
		from, err = time.Parse("15:04", strings.TrimSpace(begins))
		if err == nil {
			to, err = time.Parse("15:04", strings.TrimSpace(end))
		}
		if err != nil || from.Equal(to) {
			return fmt.Errorf("quiet %q: want 22:00-07:00", r.Quiet)
		}
		r.quiet, r.begins, r.end = true, sinceMidnight(from), sinceMidnight(to)
	}
	if r.Most < 0 || r.Most > 3600 {
		return fmt.Errorf("most %d: want 1 to 3600 messages an hour", r.Most)
	}
	if r.Most == 0 {
		r.Most = mostDefault
	}
	return nil
}

func sinceMidnight(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}

func hasPassword(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

// secret reads a URL from a file, beside tell.yaml unless its path is absolute.
func secret(dir, name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSecret))
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = fmt.Errorf("%s is empty", name)
	}
	return string(bytes.TrimSpace(text)), err
}

// matcher reads which pages are meant.
func matcher(pages string) (func(string) bool, error) {
	prefix, begins := strings.CutSuffix(pages, "*")
	switch {
	case pages == "" || pages == "*":
		return func(string) bool { return true }, nil
	case !strings.Contains(pages, "://") && !begins:
		return func(text string) bool {
			u, err := weburl.Parse(text)
			return err == nil && u.Hostname() == strings.ToLower(pages)
		}, nil
	case begins:
		return func(text string) bool { return strings.HasPrefix(text, prefix) }, nil
	}
	u, err := weburl.Parse(pages)
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	return func(text string) bool { return text == u.String() }, nil
}

// isQuiet reports whether nothing is sent at this time of the day, and until when.
func (r *Receiver) isQuiet(now time.Time) (until time.Time, quiet bool) {
	if !r.quiet {
		return time.Time{}, false
	}
	at := sinceMidnight(now)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch {
	case r.begins < r.end && at >= r.begins && at < r.end, r.begins > r.end && at < r.end:
		return midnight.Add(r.end), true
	case r.begins > r.end && at >= r.begins:
		return midnight.AddDate(0, 0, 1).Add(r.end), true
	}
	return time.Time{}, false
}

// hide takes what may be secret in the URL out of a text.
func (r *Receiver) hide(text string) string {
	u, err := url.Parse(r.url)
	if err != nil {
		return "its URL is none"
	}
	parts := []string{r.url, u.RequestURI(), u.EscapedPath(), u.Path, u.RawQuery}
	if u.User != nil {
		password, _ := u.User.Password()
		parts = append(parts, u.User.String(), u.User.Username(), password)
	}
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	parts = append(parts, strings.Split(u.Path, "/")...)
	for _, part := range parts {
		for _, form := range []string{part, url.QueryEscape(part), url.PathEscape(part)} {
			if len(form) > 3 {
				text = strings.ReplaceAll(text, form, "…")
			}
		}
	}
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "") + "…"
	}
	return text
}

// Bounds of one message: mail servers and chats take less than this.
const (
	listed    = 20
	lineBytes = 300
)

// message says what changed. dropped is how many changes more are in none.
func message(all []changes.Change, dropped int) (title, text string) {
	title = fmt.Sprintf("%d pages have changed", len(all)+dropped)
	if len(all) == 1 && dropped == 0 {
		title = plain(all[0].Title, 100)
		if title == "" {
			title = "A page has changed"
		}
	}
	var b strings.Builder
	for i := range all {
		if i == listed {
			dropped += len(all) - listed
			break
		}
		b.WriteString(plain(all[i].Line(), lineBytes) + "\n")
	}
	if dropped > 0 {
		fmt.Fprintf(&b, "and %d more: henro feed has them all\n", dropped)
	}
	return title, b.String()
}

// plain is one line of what a page says, without what steers a terminal, a mail or a chat.
func plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, text)
	text = strings.NewReplacer("@", "@\u200b", "<", "‹", ">", "›").Replace(text) // nobody is called, nothing is markup
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.TrimSpace(text)
}
