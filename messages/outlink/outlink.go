// Package outlink names the links found in pages: where one points, what kind of element held it, and what it was
// called.
//
// The kinds are numbers on the wire and on disk, so a number once given is never reused. A kind is either navigation,
// which a crawl may follow, or an embed, which belongs to the page. Requisites, which a browser loads to show the page,
// are most of the embeds and the frames; each is of one of the Classes.
package outlink

// Kind is the kind of element or header that held a link.
type Kind uint8

// The kinds of links. Navigation comes first, embeds from Image on.
const (
	Unknown  Kind = 0
	Anchor   Kind = 1  // a href
	Area     Kind = 2  // area href
	Frame    Kind = 3  // frame src
	Iframe   Kind = 4  // iframe src
	Link     Kind = 5  // link href with a rel that names a page: next, prev, alternate, canonical …
	Refresh  Kind = 6  // meta http-equiv=refresh
	Redirect Kind = 7  // Location of a 3xx answer
	Header   Kind = 8  // HTTP Link header with a rel that names a page
	Sitemap  Kind = 9  // entry of a sitemap
	Feed     Kind = 10 // entry of a feed
	Part     Kind = 11 // sitemap in an index of sitemaps, next page of a feed
	Alias    Kind = 12 // the same path at the representative of an alias: nobody wrote that link
	Image    Kind = 32 // img src, srcset, input type=image, picture source, poster, background, SVG image and use
	Script   Kind = 33 // script src, modulepreload, import map, import, importScripts, worker
	Style    Kind = 34 // link rel=stylesheet, @import
	Media    Kind = 35 // audio, video, track, source
	Object   Kind = 36 // object data, embed src, applet
	Form     Kind = 37 // form action, button formaction
	Icon     Kind = 38 // link rel=icon and its kin, icons of a manifest
	CSS      Kind = 39 // url() in a style, but for fonts
	// named, but not loaded by a browser that runs scripts: cite, longdesc, prefetch, in noscript …
	Other      Kind = 40
	Font       Kind = 42 // url() in @font-face
	Manifest   Kind = 43 // link rel=manifest
	Fetch      Kind = 44 // preload as=fetch: data that a script will ask for
	Preview    Kind = 45 // what is shown of the page where it is linked to: og:image, twitter:image, image_src
	Post       Kind = 46 // what a script asks for by POST, as package posted names it
	firstEmbed      = Image
)

// Hints reports whether the anchor of a link of this kind is a Hint.
func (k Kind) Hints() bool { return k == Sitemap || k == Feed || k == Part }

// Navigates reports whether a crawl may follow a link of this kind.
func (k Kind) Navigates() bool { return k != Unknown && k < firstEmbed }

// Apart is the kind by which links of a page to one URL are told apart; 0 for all that only name a page. A frame stays
// apart from them: it is a requisite, also where a link names it too.
func (k Kind) Apart() Kind {
	if k.Navigates() && k.Class() == 0 {
		return 0
	}
	return k
}

var names = map[Kind]string{
	Unknown: "unknown", Anchor: "a", Area: "area", Frame: "frame", Iframe: "iframe", Link: "link", Refresh: "refresh",
	Redirect: "redirect", Header: "header", Sitemap: "sitemap", Feed: "feed", Part: "part", Alias: "alias",
	Image:  "image",
	Script: "script", Style: "style",
	Media: "media", Object: "object", Form: "form", Icon: "icon", CSS: "css", Other: "other",
	Font: "font", Manifest: "manifest", Fetch: "fetch", Preview: "preview", Post: "post",
}

// String returns the word used in exports.
func (k Kind) String() string {
	if name, ok := names[k]; ok {
		return name
	}
	return "unknown"
}

// Flags qualify one link.
type Flags uint8

// The flags of a link.
const (
	NoFollow Flags = 1 << iota // rel=nofollow, ugc or sponsored, or the whole page says nofollow
	Followed                   // visited inside the lease that found it
	Foreign                    // the page is in a language that is not kept
)

// Outlink is one link found in a page.
type Outlink struct {
	URL    string // canonical and absolute
	Kind   Kind
	Flags  Flags
	Around uint8 // how much the text around it is about the topic of the crawl, in 255ths; not kept on disk
	// the words shown, white space folded, cut to a bound; empty for embeds; of entries of sitemaps and feeds their
	// Hint
	Anchor string
}
