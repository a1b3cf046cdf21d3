package slave

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"henro/messages/weburl"
)

func TestOnceIsASet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	o := once{turn: math.MaxUint32 - 10} // its turns begin again meanwhile
	for page := range 30 {
		o.reset()
		var all []string
		plain := map[string]bool{}
		for range []int{0, 5, 200, 3000}[page%4] {
			text := fmt.Sprint(r.IntN(1000))
			hash := hashOf(text, 1)
			if page%3 == 0 {
				hash %= 4 // all collide
			}
			first := o.add(hash, len(all), func(before int) bool { return all[before] == text })
			if first == plain[text] {
				t.Fatalf("page %d: %s is new: %v", page, text, first)
			}
			plain[text] = true
			all = append(all, text)
		}
	}
}

// References that differ in what stands behind # alone lead to one URL, also where they are no URL.
func TestAReferenceLeadsWhereItLeadsWithoutItsFragment(t *testing.T) {
	base := weburl.MustParse("http://a/b/c?d")
	for _, raw := range []string{"", "#", "#x", " #x", "a#x", "a #x", "a\n#x", "?#x", "?q#x#y", "/#", "//h#x", "//#x",
		"http:#x", "http:#", "https:#x", "mailto:x#y", "a:#b", "..#x", "../#x", ".#x", "%#x", "a%20#x",
		"\\#x", "x#\n", "x#a b "} {
		want, wantErr := base.Resolve(raw)
		got, err := base.Resolve(withoutFragment(raw))
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("%q: %q, %v, without its fragment %q, %v", raw, want, wantErr, got, err)
		}
	}
	if got := withoutFragment("a#b"); got != "a" {
		t.Errorf("a#b without its fragment is %q", got)
	}
}

// The texts that wait with a fact until it is stored hold nothing of the page around them.
func TestTextsAreCopiedTogether(t *testing.T) {
	page := "one two three"
	texts := []string{page[:3], "", page[8:]}
	copies := together(texts)
	for i, text := range texts {
		if copies[i] != text {
			t.Errorf("text %d is %q, want %q", i, copies[i], text)
		}
	}
	first, last := unsafe.StringData(copies[0]), unsafe.StringData(copies[2])
	if first == unsafe.StringData(page) || last != (*byte)(unsafe.Add(unsafe.Pointer(first), 3)) {
		t.Error("they do not lie together in a string of their own")
	}
	if len(together(nil)) != 0 {
		t.Error("none is some")
	}
}
