package outlink

import (
	"fmt"
	"strings"
)

// Classes is a set of classes of requisites: what a browser loads to show a page, sorted by what it is for. The zero
// value is the empty set.
type Classes uint16

// The classes. Frames navigate too: a frame is a whole page with requisites of its own.
const (
	Images  Classes = 1 << iota // pictures of elements and of styles, posters, SVG
	Styles                      // style sheets and what they import
	Scripts                     // scripts, their modules and workers, and data that is loaded for them beforehand
	Fonts
	Frames
	Medias  // audio, video, subtitles
	Objects // object, embed and applet
	Icons   // icons and the manifest that names more of them: what is shown of a page outside of it
	// AllClasses are all of them.
	AllClasses Classes = 1<<iota - 1
)

// classes are the words of the operator, by the number of the bit.
var classes = [...]string{"image", "style", "script", "font", "frame", "media", "object", "icon"}

// Class is the class of requisites that a link of this kind belongs to, the empty set if it is none.
func (k Kind) Class() Classes {
	switch k {
	case Image, CSS:
		return Images
	case Style:
		return Styles
	case Script, Fetch, Post:
		return Scripts
	case Font:
		return Fonts
	case Frame, Iframe:
		return Frames
	case Media:
		return Medias
	case Object:
		return Objects
	case Icon, Manifest:
		return Icons
	}
	return 0
}

// Set reads what ParseClasses reads, as a flag.
func (c *Classes) Set(list string) (err error) {
	*c, err = ParseClasses(list)
	return err
}

// Type is the word for the value in the help of a flag.
func (c *Classes) Type() string { return "CLASSES" }

// Has reports whether a link of kind k is a requisite of one of these classes.
func (c Classes) Has(k Kind) bool { return c&k.Class() != 0 }

// String returns the words that ParseClasses reads.
func (c Classes) String() string {
	switch {
	case c&AllClasses == 0:
		return "off"
	case c&AllClasses == AllClasses:
		return "all"
	}
	var words []string
	for i, word := range classes {
		if c&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, ",")
}

// ParseClasses reads "all", "off", or a list such as "image,style" and "all,-media", from left to right.
func ParseClasses(list string) (c Classes, err error) {
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		switch word {
		case "all":
			c = AllClasses
			continue
		case "off":
			c = 0
			continue
		}
		name, without := strings.CutPrefix(word, "-")
		bit := Classes(0)
		for i, known := range classes {
			if name == known {
				bit = 1 << i
			}
		}
		switch {
		case bit == 0:
			return 0, fmt.Errorf("unknown class of requisites %q: all, off, or some of %s, each with a - before it to "+
				"leave it out", word, strings.Join(classes[:], ", "))
		case without:
			c &^= bit
		default:
			c |= bit
		}
	}
	return c, nil
}
