package revisitsim

import "hash/fnv"

// noisily is drift+optimal on pages of which some have noise in their main text at every visit: clocks, counters,
// advertisements. Where it is left out (left=1), it is as package news was measured to tell it (lab watch): from the
// sixth visit on 0.996 of the news is told and 0.036 of the noise, before that all news, and of the noise 0.79 at the
// second visit and 0.72 from the third to the fifth.
type noisily struct {
	*henro
	left   bool
	noisy  []bool // by page
	visits []int  // by page
}

func newNoisily(w *world, c constants) policy {
	p := &noisily{henro: newHenro(w, byDefault, nil), left: c["left"] > 0, noisy: make([]bool, len(w.site.Pages)),
		visits: make([]int, len(w.site.Pages))}
	for i := range p.noisy {
		h := fnv.New32a()
		h.Write([]byte(w.site.Name + "\t" + w.site.Pages[i].Name))
		p.noisy[i] = float64(h.Sum32()%1000) < 1000*c["share"]
	}
	return p
}

func (p *noisily) next(v visit) float64 {
	p.visits[v.page]++
	if n := p.visits[v.page]; p.noisy[v.page] && n > 1 && !v.gone {
		chance := 1.0 // that it seems to have changed
		switch {
		case !p.left:
		case v.changed && n > 5:
			chance = 0.996
		case v.changed:
		case n > 5:
			chance = 0.036
		case n > 2:
			chance = 0.72
		default:
			chance = 0.79
		}
		v.changed = p.w.rnd.Float64() < chance
		v.age = 0 // a Last-Modified would be of the noise
	}
	return p.henro.next(v)
}
