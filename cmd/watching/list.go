package watching

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/andybalholm/cascadia"

	"henro/actors/revisit"
	"henro/messages/weburl"
	"henro/store/report/news"
)

// Bounds of a list.
const (
	maxList  = 32 << 20 // bytes, also unpacked
	maxPages = 50_000
)

// Page is one page of a list.
type Page struct {
	URL    weburl.URL
	Every  time.Duration // 0: the timetable decides
	Paused bool          // it stays in the list, and is not visited
	Watch  news.Watch    // what matters on it
}

// List is a list of pages. Each is in it once.
type List struct {
	Pages []Page
	Notes []string // what of the file is not in it, and why

	plain bool // it came as lines
	known map[string]bool
}

// ReadList reads a list: lines, OPML, or what changedetection.io exports (url-watches.json, watch.json of each page, or
// a zip file of these).
func ReadList(file io.Reader) (*List, error) {
	data, err := io.ReadAll(io.LimitReader(file, maxList+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxList {
		return nil, fmt.Errorf("longer than %d bytes", maxList)
	}
	l := &List{known: map[string]bool{}}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch start := bytes.TrimLeft(data, " \t\r\n"); {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		err = l.zipped(data)
	case bytes.HasPrefix(start, []byte("{")):
		err = l.exported(data)
	case bytes.HasPrefix(start, []byte("<")):
		err = l.opml(data)
	default:
		l.plain = true
		err = l.lines(string(data))
	}
	if err == nil && len(l.Pages) == 0 {
		err = errors.New("names no page")
	}
	return l, err
}

func (l *List) note(format string, values ...any) {
	l.Notes = append(l.Notes, fmt.Sprintf(format, values...))
}

// add adds a page unless it is known.
func (l *List) add(p Page) error {
	name := p.URL.String()
	switch {
	case l.known[name]:
		l.note("%s is in the list twice: the first counts", name)
		return nil
	case len(l.Pages) == maxPages:
		return fmt.Errorf("more than %d pages", maxPages)
	}
	l.known[name], p.Watch.Pages = true, news.Pages(name)
	if len(p.Watch.Only) > 0 {
		p.Watch.Learn = new(bool) // false: selectors say what matters
	}
	l.Pages = append(l.Pages, p)
	return nil
}

// lines reads a page a line: URL, then "every SPAN", "tag WORD", "watch SELECTORS", "leave SELECTORS", "paused" in any
// order. A line that begins with # is a comment.
func (l *List) lines(text string) error {
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		p, err := parseLine(words)
		if err == nil {
			err = l.add(p)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return nil
}

// keys are the words that begin a part of a line.
var keys = []string{"every", "tag", "watch", "leave", "paused"}

func parseLine(words []string) (p Page, err error) {
	if p.URL, err = weburl.Parse(words[0]); err != nil {
		return p, err
	}
	isKey := func(word string) bool { return slices.Contains(keys, word) }
	for words = words[1:]; len(words) > 0; {
		key := words[0]
		if !isKey(key) {
			return p, fmt.Errorf(`%q: want "every 6h", "tag WORD", "watch SELECTORS", "leave SELECTORS" or "paused" `+
				`behind the URL`, key)
		}
		words = words[1:]
		end := slices.IndexFunc(words, isKey)
		if end < 0 {
			end = len(words)
		}
		value := strings.Join(words[:end], " ")
		words = words[end:]
		switch key {
		case "every":
			err = (*revisit.Span)(&p.Every).Set(value)
		case "tag":
			if p.Watch.Tag, err = value, news.CheckTag(value); value == "" {
				err = errors.New("want a word")
			}
		case "paused":
			if p.Paused = true; value != "" {
				err = errors.New("want nothing behind it")
			}
		case "watch":
			p.Watch.Only, err = []string{value}, selects(value)
		case "leave":
			p.Watch.Leave, err = []string{value}, selects(value)
		}
		if err != nil {
			return p, fmt.Errorf("%s %q: %w", key, value, err)
		}
	}
	return p, nil
}

func selects(selectors string) error {
	_, err := cascadia.ParseGroup(selectors)
	return err
}

// opml reads the pages of the outlines: htmlUrl, else url, else the feed itself.
func (l *List) opml(data []byte) error {
	in := xml.NewDecoder(bytes.NewReader(data))
	isOPML := false
	for {
		token, err := in.Token()
		if err == io.EOF && isOPML {
			return nil
		}
		if err != nil {
			return fmt.Errorf("is no OPML: %w", err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		name := strings.ToLower(element.Name.Local)
		if isOPML = isOPML || name == "opml"; !isOPML {
			return fmt.Errorf("is no OPML: it begins with <%s>", name)
		}
		urls := map[string]string{}
		for _, a := range element.Attr {
			urls[strings.ToLower(a.Name.Local)] = a.Value
		}
		for _, key := range []string{"htmlurl", "url", "xmlurl"} {
			if name == "outline" && urls[key] != "" {
				if err := l.take(urls[key], Page{}); err != nil {
					return err
				}
				break
			}
		}
	}
}

// take adds a page that a program has named; one whose address is none is noted.
func (l *List) take(url string, p Page) (err error) {
	if p.URL, err = weburl.Parse(strings.TrimSpace(strings.TrimPrefix(url, "source:"))); err != nil {
		l.note("%.200q is left out: %v", url, err)
		return nil
	}
	return l.add(p)
}

// exportedWatch is one page in an export of changedetection.io.
type exportedWatch struct {
	URL                 string              `json:"url"`
	Paused              bool                `json:"paused"`
	IncludeFilters      []string            `json:"include_filters"`
	SubtractiveSelector []string            `json:"subtractive_selectors"`
	IgnoreText          []string            `json:"ignore_text"`
	TriggerText         []string            `json:"trigger_text"`
	TimeBetweenCheck    map[string]*float64 `json:"time_between_check"`
	ByDefault           *bool               `json:"time_between_check_use_default"`
}

// exported reads url-watches.json, or the watch.json of one page.
func (l *List) exported(data []byte) error {
	var file struct {
		Watching map[string]exportedWatch `json:"watching"`
		exportedWatch
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("is no export of changedetection.io: %w", err)
	}
	all := []exportedWatch{file.exportedWatch}
	for _, w := range file.Watching {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b exportedWatch) int { return strings.Compare(a.URL, b.URL) })
	for i := range all {
		w := &all[i]
		if w.URL == "" {
			continue
		}
		if err := l.take(w.URL, Page{Every: w.every(), Watch: w.watch(l), Paused: w.Paused}); err != nil {
			return err
		}
	}
	return nil
}

// every is how often the page was asked for.
func (w *exportedWatch) every() (every time.Duration) {
	if w.ByDefault != nil && *w.ByDefault {
		return 0
	}
	for unit, length := range map[string]time.Duration{"weeks": 7 * 24 * time.Hour, "days": 24 * time.Hour,
		"hours": time.Hour, "minutes": time.Minute, "seconds": time.Second} {
		if n := w.TimeBetweenCheck[unit]; n != nil && *n > 0 && *n < 1e6 {
			every += time.Duration(*n * float64(length))
		}
	}
	if every == 0 {
		return 0
	}
	return max(every, time.Minute)
}

// watch says in words of watch.yaml what can be said in them.
func (w *exportedWatch) watch(l *List) (r news.Watch) {
	selectors := func(all []string, to *[]string) {
		for _, s := range all {
			s = strings.TrimPrefix(strings.TrimSpace(s), "css:")
			kind, _, _ := strings.Cut(s, ":")
			if s == "" {
				continue
			}
			if strings.HasPrefix(s, "/") || strings.HasPrefix(kind, "xpath") || kind == "json" || kind == "jq" ||
				kind == "jqraw" || selects(s) != nil {
				l.note("%s: %.200q is left out: it is no CSS selector", w.URL, s)
				continue
			}
			*to = append(*to, s)
		}
	}
	selectors(w.IncludeFilters, &r.Only)
	selectors(w.SubtractiveSelector, &r.Leave)
	for _, text := range w.IgnoreText {
		if text == "" {
			continue
		}
		pattern := regexp.QuoteMeta(text)
		if inner, ok := strings.CutPrefix(text, "/"); ok && strings.LastIndexByte(inner, '/') > 0 {
			pattern = inner[:strings.LastIndexByte(inner, '/')]
		}
		pattern = "(?i).*(?:" + pattern + ").*"
		if _, err := regexp.Compile(pattern); err != nil {
			l.note("%s: ignore_text %.200q is left out: %v", w.URL, text, err)
			continue
		}
		r.Ignore = append(r.Ignore, pattern)
	}
	for _, text := range w.TriggerText {
		if strings.HasPrefix(text, "/") {
			l.note("%s: trigger_text %.200q is left out: it is a pattern", w.URL, text)
		} else if text != "" {
			r.Come = append(r.Come, text)
		}
	}
	return r
}

// zipped reads a backup of changedetection.io.
func (l *List) zipped(data []byte) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	left := int64(maxList)
	for _, f := range z.File {
		if name := path.Base(f.Name); name != "url-watches.json" && name != "watch.json" {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(in, left+1))
		if err = errors.Join(err, in.Close()); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if left -= int64(len(text)); left < 0 {
			return fmt.Errorf("longer than %d bytes unpacked", maxList)
		}
		if err := l.exported(text); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}
