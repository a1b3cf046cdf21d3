package qa

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"time"

	"henro/cmd/replay"
	"henro/cmd/replay/origin"
	"henro/messages/weburl"
	"henro/slave/pagetext"
	"henro/slave/render/wanted"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

// Options say what is compared and how.
type Options struct {
	Pages  int           // how many pages are chosen. Default 20: some two minutes
	Seed   uint64        // of the choice: the same archive and seed give the same pages
	Limit  time.Duration // of one view of a page. Default 45 s: three times what a page that is never quiet gets
	Width  int64         // of the page in pixels. Default 1280
	Height int64         // of the first screen, which is compared. Default 1024
}

// DefaultOptions returns the defaults.
func DefaultOptions() Options {
	return Options{Pages: 20, Seed: 1, Limit: 45 * time.Second, Width: 1280, Height: 1024}
}

// Validate names the first option that cannot work.
func (o Options) Validate() error {
	if o.Pages < 1 || o.Pages > 10_000 {
		return fmt.Errorf("%d pages: want 1 to 10,000", o.Pages)
	}
	return nil
}

// Page is what the comparison found of one page.
type Page struct {
	URL string    `json:"url"`
	At  time.Time `json:"at"` // of the capture
	// Err says why the page could not be compared.
	Err string `json:"error,omitempty"`
	// Live and Replay count the requests of each.
	Live   int `json:"live_requests"`
	Replay int `json:"replay_requests"`
	// Missing are requests of the live page that the archive has no capture of.
	Missing []Lack `json:"missing,omitempty"`
	// Unanswered are requests of the replay that got no capture, though the live page got an answer.
	Unanswered []Lack `json:"unanswered,omitempty"`
	// Outside are requests of the replay that were sent to others.
	Outside []Lack `json:"outside,omitempty"`
	// Text and Pixels are the shares, 0 to 1, of words and pixels that are equal.
	Text   float64 `json:"text"`
	Pixels float64 `json:"pixels"`
	// Pictures is the prefix of the names of its pictures.
	Pictures string `json:"pictures,omitempty"`

	live, replayed *Sight
}

// Lack is a request that came to nothing, and why.
type Lack struct {
	URL    string `json:"url"`
	Type   string `json:"type"`
	Reason string `json:"reason"`
	Cause  string `json:"cause,omitempty"` // why the archive lacks it, as the state beside it has it
}

// Asked is the share of the live page's requests that the archive has.
func (p *Page) Asked() float64 {
	if p.Live == 0 {
		return 1
	}
	return 1 - float64(len(p.Missing))/float64(p.Live)
}

// Score orders pages: 1 is as the live page in everything, 0 has nothing of it.
func (p *Page) Score() float64 {
	if p.Err != "" || len(p.Outside) > 0 {
		return 0
	}
	return min(p.Asked(), p.Text, p.Pixels)
}

// Draw chooses pages of an archive at random: of each the latest capture that is a page.
func Draw(archive *captures.Archive, o Options) ([]cdxj.Entry, error) {
	random := rand.New(rand.NewPCG(o.Seed, 0))
	var drawn []cdxj.Entry
	var seen int
	var last cdxj.Entry
	take := func() {
		if last.URL == "" {
			return
		}
		if seen++; len(drawn) < o.Pages {
			drawn = append(drawn, last)
		} else if at := random.IntN(seen); at < o.Pages {
			drawn[at] = last
		}
	}
	err := archive.Entries(func(e cdxj.Entry) bool {
		if e.URL != last.URL {
			take()
			last = cdxj.Entry{}
		}
		if e.Status == 200 && (isPage(e.Mime) || e.Mime == cdxj.Revisit && isPage(pagetext.Mime(archive, e))) {
			last = e
		}
		return true
	})
	take()
	return drawn, err
}

func isPage(mime string) bool { return mime == "text/html" || mime == "application/xhtml+xml" }

// Shown is a replay of an archive: where a capture is opened, and which requests belong to it.
type Shown struct {
	Address func(cdxj.Entry) string
	Asked   func(address string) (weburl.URL, replay.Asked)
}

// Look opens a capture.
func (s Shown) Look(ctx context.Context, b *Browser, e cdxj.Entry, o Options) (*Sight, error) {
	isCapture := func(url string) bool { _, asked := s.Asked(url); return asked == replay.Captured }
	return b.Look(ctx, View{Address: s.Address(e), Frame: isCapture, Width: o.Width, Height: o.Height, Limit: o.Limit})
}

// Compare opens a page live and in the replay that shows its archive.
func Compare(ctx context.Context, b *Browser, archive *captures.Archive, show Shown, e cdxj.Entry,
	o Options) (*Page, error) {
	live, err := b.Look(ctx, View{Address: e.URL, Width: o.Width, Height: o.Height, Limit: o.Limit})
	var replayed *Sight
	if err == nil {
		replayed, err = show.Look(ctx, b, e, o)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return &Page{URL: e.URL, At: e.At, Err: err.Error()}, nil
	}
	return Judge(archive, show, e, live, replayed)
}

// Judge compares a page with its capture.
func Judge(archive *captures.Archive, show Shown, e cdxj.Entry, live, replayed *Sight) (*Page, error) {
	p := &Page{URL: e.URL, At: e.At, live: live, replayed: replayed}
	if err := p.asked(archive); err != nil {
		return nil, err
	}
	p.answered(show)
	p.Text = sameWords(live.Text, replayed.Text)
	var err error
	p.Pixels, err = samePixels(live.Picture, replayed.Picture)
	return p, err
}

// asked looks in the archive for what the live page asked for.
func (p *Page) asked(archive *captures.Archive) error {
	for _, r := range p.live.Requests {
		u, err := weburl.Parse(r.URL)
		if err != nil || r.Refused || wanted.IsIcon(r.Type, r.URL) { // no page names that icon
			continue
		}
		p.Live++
		if _, err = archive.Closest(u, p.At); errors.Is(err, captures.ErrNotArchived) {
			_, err = origin.Alike(archive, u, p.At) // as the replay does
		}
		switch {
		case errors.Is(err, captures.ErrNotArchived):
			reason := fmt.Sprintf("the live answer was %d", r.Status)
			if r.Status == 0 {
				reason = "no live answer: " + r.Err
			}
			p.Missing = append(p.Missing, Lack{URL: u.String(), Type: r.Type, Reason: reason})
		case err != nil:
			return err
		}
	}
	return nil
}

// answered looks at what the page asked for in the replay.
func (p *Page) answered(show Shown) {
	live := map[weburl.URL]bool{}
	for _, r := range p.live.Requests {
		if u, err := weburl.Parse(r.URL); err == nil && r.Status >= 200 && r.Status < 400 {
			live[u] = true
		}
	}
	for _, r := range p.replayed.Requests {
		u, asked := show.Asked(r.URL)
		switch {
		case asked == replay.Foreign && !r.Refused:
			p.Outside = append(p.Outside, Lack{URL: r.URL, Type: r.Type,
				Reason: fmt.Sprint(r.Status, " ", r.Err)})
		case asked == replay.Captured:
			p.Replay++
			if r.Status >= 400 && live[u] {
				reason := fmt.Sprintf("the replay answered %d", r.Status)
				p.Unanswered = append(p.Unanswered, Lack{URL: u.String(), Type: r.Type, Reason: reason})
			}
		}
	}
}

// sameWords is the share of words that both texts have, as often as the other.
func sameWords(a, b string) float64 {
	count := map[string]int{}
	all, both := 0, 0
	for _, w := range strings.Fields(a) {
		count[w]++
		all++
	}
	for _, w := range strings.Fields(b) {
		if count[w]--; count[w] >= 0 {
			both++
		} else {
			all++
		}
	}
	if all == 0 {
		return 1
	}
	return float64(both) / float64(all)
}

// samePixels is the share of pixels that are equal in both pictures; what only one has is unequal.
func samePixels(a, b []byte) (float64, error) {
	one, err := png.Decode(bytes.NewReader(a))
	if err != nil {
		return 0, fmt.Errorf("read a picture of Chromium: %w", err)
	}
	other, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return 0, fmt.Errorf("read a picture of Chromium: %w", err)
	}
	common := one.Bounds().Intersect(other.Bounds())
	whole := one.Bounds().Union(other.Bounds())
	equal := 0
	for y := common.Min.Y; y < common.Max.Y; y++ {
		for x := common.Min.X; x < common.Max.X; x++ {
			if same(one, other, x, y) {
				equal++
			}
		}
	}
	return float64(equal) / float64(max(whole.Dx()*whole.Dy(), 1)), nil
}

func same(a, b image.Image, x, y int) bool {
	r, g, bl, al := a.At(x, y).RGBA()
	r2, g2, bl2, al2 := b.At(x, y).RGBA()
	return r == r2 && g == g2 && bl == bl2 && al == al2
}
