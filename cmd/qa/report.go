package qa

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"time"
)

//go:embed report.html
var markup string

var report = template.Must(template.New("report").Funcs(template.FuncMap{
	"percent": func(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) },
	"at":      func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
}).Parse(markup))

// Summary is the comparison of all pages.
type Summary struct {
	Pages    []*Page `json:"pages"`     // the worst first
	Compared int     `json:"compared"`  // pages that could be
	Requests int     `json:"requests"`  // of the live pages
	Missing  int     `json:"missing"`   // of those, without a capture
	Outside  int     `json:"outside"`   // requests that left the replay
	SameText int     `json:"same_text"` // pages with all words equal
	// SamePicture counts pages with at least 99 % equal pixels.
	SamePicture int `json:"same_picture"`
}

// Add takes in a page; the pictures it holds are written to the folder of the report.
func (s *Summary) Add(p *Page, folder string) error {
	s.Pages = append(s.Pages, p)
	if p.Err != "" {
		return nil
	}
	s.Compared++
	s.Requests += p.Live
	s.Missing += len(p.Missing)
	s.Outside += len(p.Outside)
	if p.Text == 1 {
		s.SameText++
	}
	if p.Pixels >= 0.99 {
		s.SamePicture++
	}
	p.Pictures = fmt.Sprintf("page%05d", len(s.Pages))
	for suffix, sight := range map[string]*Sight{"live": p.live, "replay": p.replayed} {
		if err := os.WriteFile(filepath.Join(folder, p.Pictures+"-"+suffix+".png"), sight.Picture, 0o666); err != nil {
			return err
		}
		err := os.WriteFile(filepath.Join(folder, p.Pictures+"-"+suffix+".txt"), []byte(sight.Text), 0o666)
		if err != nil {
			return err
		}
	}
	p.live, p.replayed = nil, nil
	return nil
}

// Write writes the report, the worst pages first: index.html for people and pages.json for programs.
func (s *Summary) Write(folder, title string) error {
	slices.SortStableFunc(s.Pages, func(a, b *Page) int { return cmp.Compare(a.Score(), b.Score()) })
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "pages.json"), append(text, '\n'), 0o666); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(folder, "index.html"))
	if err != nil {
		return err
	}
	err = report.Execute(f, struct {
		*Summary
		Title string
	}{s, title})
	if err == nil {
		return f.Close()
	}
	f.Close() // the first error is the one to report
	return err
}
