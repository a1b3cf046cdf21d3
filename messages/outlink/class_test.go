package outlink_test

import (
	"testing"

	"henro/messages/outlink"
)

func TestClassesAreReadAsTheyWereWritten(t *testing.T) {
	for list, want := range map[string]string{
		"all": "all", "off": "off", "image": "image", "style , image": "image,style", "off,font": "font",
		"all,-media":   "image,style,script,font,frame,object,icon",
		"all,-media,-": "", "-all": "", "": "", "images": "", "all,off": "off", "-image": "off", "media,all": "all",
	} {
		c, err := outlink.ParseClasses(list)
		if err != nil != (want == "") {
			t.Errorf("%q: %v", list, err)
			continue
		}
		if err != nil {
			continue
		}
		if c.String() != want {
			t.Errorf("%q is %q, want %q", list, c, want)
		}
		if again, err := outlink.ParseClasses(c.String()); again != c || err != nil {
			t.Errorf("%q is read again as %q, %v", c, again, err)
		}
	}
}

// Each class has a kind, and each kind at most one class.
func TestEveryClassHasItsKinds(t *testing.T) {
	every, err := outlink.ParseClasses("all")
	if err != nil {
		t.Fatal(err)
	}
	var seen outlink.Classes
	for k := outlink.Kind(0); k < 255; k++ {
		class := k.Class()
		if class&(class-1) != 0 {
			t.Errorf("%s is of more than one class", k)
		}
		if every.Has(k) != (class != 0) {
			t.Errorf("%s is of class %s, and among all of them: %v", k, class, every.Has(k))
		}
		seen |= class
	}
	if seen != every {
		t.Errorf("there are kinds of %s only", seen)
	}
	for _, k := range []outlink.Kind{outlink.Anchor, outlink.Area, outlink.Link, outlink.Refresh, outlink.Redirect,
		outlink.Form, outlink.Other, outlink.Preview, outlink.Unknown} {
		if every.Has(k) {
			t.Errorf("%s is taken for a requisite", k)
		}
	}
	for _, k := range []outlink.Kind{outlink.Frame, outlink.Iframe} {
		if !k.Navigates() || !every.Has(k) {
			t.Errorf("a %s is a page and a requisite of the page around it", k)
		}
	}
}
