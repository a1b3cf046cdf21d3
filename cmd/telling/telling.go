// Package telling tells people of changes where they are: by mail, chat, push services and webhooks (shoutrrr).
//
// tell.yaml in the directory of a crawl is a list of receivers. Each has a cursor of its own, which is kept: a change
// is sent once, and once more only where the process ended between sending and keeping. What cannot be sent waits, and
// is gathered into one message; every attempt is in feed/sends.jsonl, with the cause of its failure.
package telling

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"henro/actors/revisit"
	"henro/master/window"
	"henro/messages/visible"
	"henro/store/report/changes"
	"henro/store/report/news"
)

// RulesName is the name of the file of receivers in the directory of a crawl.
const RulesName = "tell.yaml"

// Bounds of the file.
const (
	maxFile      = 1 << 20
	maxReceivers = 100
	maxSecret    = 16 << 10
)

// How many messages an hour a receiver gets, and how many it may be given.
const (
	mostDefault = 20
	maxMost     = 3600
)

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

	url   string
	pages news.Pages
	every time.Duration
	quiet window.Hours
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
		why := strings.TrimPrefix(err.Error(), "yaml: unmarshal errors:\n  ")
		why = strings.ReplaceAll(why, " not found in type telling.Receiver", " is not known")
		return nil, fmt.Errorf("%s: want a list of receivers, each beginning with - name: NAME: %s", path, why)
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
	if r.pages, err = news.ParsePages(cmp.Or(r.Pages, "*")); err != nil {
		return fmt.Errorf("pages %q: %w", r.Pages, err)
	}
	if r.Every != "" {
		if r.every, err = revisit.ParseSpan(r.Every); err != nil {
			return fmt.Errorf("every: %w", err)
		}
	}
	if r.Quiet != "" {
		hours, err := window.Daily(r.Quiet, time.Local)
		if err != nil {
			return fmt.Errorf("quiet %w", err)
		}
		r.quiet = window.Hours{hours}
	}
	if r.Most < 0 || r.Most > maxMost {
		return fmt.Errorf("most %d: want 1 to %d messages an hour", r.Most, maxMost)
	}
	if r.Most == 0 {
		r.Most = mostDefault
	}
	return nil
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

// isQuiet reports whether nothing is sent at a moment, and until when.
func (r *Receiver) isQuiet(now time.Time) (until time.Time, quiet bool) {
	if len(r.quiet) == 0 || !r.quiet.Open(now) {
		return time.Time{}, false
	}
	return r.quiet.Turn(now), true
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
	return cut(text, 500)
}

// Bounds of one message: mail servers and chats take less than this.
const (
	listed    = 20
	lineBytes = 300
	textBytes = 1500 // from which on it is not said any more what went and came
)

// message says what changed, and the first of what went (-) and came (+). dropped is how many changes more are in none.
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
		for _, line := range strings.Split(all[i].Diff, "\n")[min(2, strings.Count(all[i].Diff, "\n")):] {
			if line != "" && strings.ContainsAny(line[:1], "+-") && b.Len() < textBytes {
				b.WriteString("  " + plain(line, lineBytes) + "\n")
			}
		}
	}
	if dropped > 0 {
		fmt.Fprintf(&b, "and %d more: henro feed has them all\n", dropped)
	}
	return title, b.String()
}

// plain is one line of what a page says, without what steers a terminal, a mail or a chat.
func plain(text string, most int) string {
	text = visible.Line(text)
	text = strings.NewReplacer("@", "@\u200b", "<", "‹", ">", "›").Replace(text) // nobody is called, nothing is markup
	return strings.TrimSpace(cut(text, most))
}

// cut bounds the bytes of a text.
func cut(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
