package outlink

// UnlimitedDepth is the depth left of a page from which links may be followed for ever.
const UnlimitedDepth = 127

// MaxDepth is the last depth that is counted: pages deeper than this have it too.
const MaxDepth = 254

// PageToo stands in the place of the distance of a requisite from its page, for a page that is a requisite of another
// as well: a frame, an image that is linked to.
const PageToo = 7

// MaxRedirects is how many redirects in a row are counted.
const MaxRedirects = 31

// DepthAfter is the depth left behind one link.
func DepthAfter(left uint8) uint8 {
	if left == 0 || left >= UnlimitedDepth {
		return left
	}
	return left - 1
}
