package walls

import (
	"strings"
	"testing"
)

// What a look costs at pages that are none: one of prose, a short one, and one of which the title alone is looked at.
func BenchmarkLook(b *testing.B) {
	const sentence = "<p>The distant student replaces the carpenter today, and the old market opens in spring."
	const link = "<a href=/guide/p3.html>The yearly recipe</a>"
	for _, p := range []struct {
		name string
		page *Page
	}{
		{"titled", page("<title>The login of the market</title>" + strings.Repeat(sentence+link, 20))},
		{"bare", page("<title>The market</title>" + "<a href=/>Home</a>" + strings.Repeat(sentence+link, 7))},
		{"long", page("<title>The market</title>" + strings.Repeat(sentence+link, 50))},
	} {
		b.Run(p.name, func(b *testing.B) {
			b.SetBytes(int64(len(p.page.Body)))
			for range b.N {
				if k := Look(p.page); k != None {
					b.Fatal(k)
				}
			}
		})
	}
}
