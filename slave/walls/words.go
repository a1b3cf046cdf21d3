package walls

import (
	"cmp"
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
	hints
	around

	classes
)

//go:embed words.txt
var wordsText string

// word is what is looked for, and which idea of its class it says: of hints, and of what any page does, several words
// say the same.
type word struct {
	text string
	idea int
}

// words are what the kinds of walls show; those of None what any page does.
var words = readWords(wordsText)

// readWords reads lines "kind class:" and, below each, its words between bars.
func readWords(text string) (all [kinds][classes][]word) {
	var into *[]word
	ideas, together := 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch name, _, head := strings.Cut(line, ":"); {
		case line == "", line[0] == '#':
		case line[0] == '\t':
			if more := strings.HasPrefix(line, "\t\t"); together && !more {
				ideas++
			}
			for text := range strings.SplitSeq(strings.TrimLeft(line, "\t"), " | ") {
				if !together {
					ideas++
				}
				*into = append(*into, word{strings.TrimSuffix(text, " |"), (ideas - 1) % 64})
			}
		case head:
			ideas, together = 0, name == "page marks" ||
				strings.HasSuffix(name, " hints") || strings.HasSuffix(name, " around")
			for k := range kinds {
				for c, class := range [classes]string{"titles", "says", "marks", "widgets", "urls", "hints", "around"} {
					if name == cmp.Or(strings.ReplaceAll(k.String(), " ", "-"), "page")+" "+class {
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
