package walls

import (
	_ "embed"
	"strings"
)

// class is where words are looked for; what each is says words.txt.
type class uint8

const (
	titles class = iota
	says
	marks
	widgets
	urls

	classes
)

//go:embed words.txt
var wordsText string

// words are what the kinds of walls show.
var words = readWords(wordsText)

// readWords reads lines "kind class:" and, below each, its words between bars.
func readWords(text string) (all [kinds][classes][]string) {
	var into *[]string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch name, _, head := strings.Cut(line, ":"); {
		case line == "", line[0] == '#':
		case line[0] == '\t':
			for word := range strings.SplitSeq(line[1:], " | ") {
				*into = append(*into, strings.TrimSuffix(word, " |"))
			}
		case head:
			for k := range kinds {
				for c, class := range [classes]string{"titles", "says", "marks", "widgets", "urls"} {
					if name == strings.ReplaceAll(k.String(), " ", "-")+" "+class {
						into = &all[k][c]
					}
				}
			}
		}
	}
	return all
}

// told are fields by which vendors say that an answer is theirs, and the values that say it.
var told = map[string]string{
	"Cf-Mitigated": "challenge", "X-Amzn-Waf-Action": "challenge captcha", "X-Vercel-Mitigated": "challenge deny",
}
