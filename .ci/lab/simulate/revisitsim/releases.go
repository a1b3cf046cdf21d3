package revisitsim

import "strings"

// releases is drift+optimal that follows releases too. On many sites pages change together: half of the other pages of
// a folder change within the hour of a change on cpprefjp and in the PHP manual, 4 in 10 on Hugo's site, 1 in 20 in
// catalogues of packages. So a visit that finds a change brings one visit forward, that of the page of the same folder
// which is nearest by name, was last visited in the first half of the gap or before, and is not due. If that has
// changed too, the next follows, and so on: a release is followed page by page and left at the first page that it did
// not touch, at the cost of that one visit.
//
// A track record decides whether: which share of the visits that pages had at their own time found a change, and which
// of those for their kin, of the latest 50 each. While the second is not ahead by releasesLead the time is better spent
// on what is due, and one change in releasesTrial is followed, in case the host begins to have releases.
//
// A visit for kin is evidence of the release and not of the page, so the page's rate is learnt from the visits at its
// own time alone. How far estimates are trusted is learnt from all: left to the others, tldr's trust rose from 0.1 to
// 0.8, and a quarter of a request captured 16 % instead of 19 %.
//
// Tried and dropped, on the way and so each beside other differences, on documentation at 0.5 and 1 request (31.4 %,
// 44.5 %): two pages brought forward for each change (31.0, 44.4, and tldr at a quarter 14 %), the page that waited
// longest instead of the nearest by name (31.5, 44.6, but less at a quarter: 18.8 %), bringing forward by
// revisit.Advance with the chance of a hint instead of to the front (30.8, 44.4), and no record (31.7 and 44.8, but 36
// % instead of 50 % on live data).
type releases struct {
	*henro
	folders  []*folder // by page
	forKin   []bool    // by page: its coming visit was brought forward
	own, kin tally
}

// folder is the known pages of one folder.
type folder struct{ pages []int32 }

// tally counts visits and the changes that they found, the latest 50.
type tally struct{ visits, changed float64 }

const (
	releasesLead  = 0.05
	releasesTrial = 100
	tallyForget   = 0.98
)

func (t *tally) note(changed bool) {
	t.visits, t.changed = t.visits*tallyForget+1, t.changed*tallyForget
	if changed {
		t.changed++
	}
}

// share begins at two thirds, worth three visits: every host is given a try.
func (t *tally) share() float64 { return (t.changed + 2) / (t.visits + 3) }

func newReleases(w *world) policy {
	p := &releases{
		henro:   newHenro(w, byDefault, nil),
		folders: make([]*folder, len(w.site.Pages)), forKin: make([]bool, len(w.site.Pages)),
	}
	byName := map[string]*folder{}
	for i := range w.site.Pages {
		name := folderOf(w.site.Pages[i].Name)
		if byName[name] == nil {
			byName[name] = &folder{}
		}
		p.folders[i] = byName[name]
	}
	return p
}

func (p *releases) next(v visit) float64 {
	if v.gap == 0 {
		p.folders[v.page].pages = append(p.folders[v.page].pages, int32(v.page))
		return p.henro.next(v)
	}
	p.foreign, p.forKin[v.page] = p.forKin[v.page], false
	if p.foreign {
		p.kin.note(v.changed)
	} else {
		p.own.note(v.changed)
	}
	t := p.henro.next(v)
	p.foreign = false
	return t
}

// follow chooses the page whose visit is brought forward.
func (p *releases) follow(v visit, last, due []float64) (page int, ok bool) {
	if !v.changed || p.kin.share() < p.own.share()+releasesLead && p.w.rnd.IntN(releasesTrial) > 0 {
		return 0, false
	}
	nearest := -1
	for _, other := range p.folders[v.page].pages {
		if int(other) == v.page || p.forKin[other] || due[other] <= v.at || last[other] > v.at-v.gap/2 {
			continue
		}
		near := nearness(p.w.site.Pages[v.page].Name, p.w.site.Pages[other].Name)
		if near > nearest || near == nearest && last[other] < last[page] {
			page, nearest = int(other), near
		}
	}
	if nearest >= 0 {
		p.forKin[page] = true
	}
	return page, nearest >= 0
}

// folderOf returns a page's name up to the last slash but that of a page which is a folder itself (x/, x/index.html).
func folderOf(name string) string {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return ""
	}
	if page := name[i+1:]; page == "" || page == "index" || strings.HasPrefix(page, "index.") {
		i = strings.LastIndexByte(name[:i], '/')
	}
	return name[:i+1]
}

// nearness is how many letters two names have in common at their beginning.
func nearness(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
