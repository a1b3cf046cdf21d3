package revisitsim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"henro/actors/revisit"
)

// Signals announce changes of pages, as sitemaps, feeds and pings do: at once, but not all of them, and some changes
// that never were.
type Signals struct {
	// Recall is the share of changes that are announced. Default 0: there are no signals.
	Recall float64
	// Noise is how many changes are announced that never were, at random moments, for each change that a page of the
	// site sees in the mean.
	Noise float64
}

// signal says that a page has changed.
type signal struct {
	at   float64
	page int32
}

// of returns the signals of a site in order of time.
func (s Signals) of(site *Site, rnd *rand.Rand) []signal {
	if s.Recall == 0 && s.Noise == 0 {
		return nil
	}
	var all []signal
	every := float64(site.Life()) / float64(site.Versions()) / s.Noise
	for i := range site.Pages {
		p := &site.Pages[i]
		for _, c := range p.Changes {
			if c < p.End && rnd.Float64() < s.Recall {
				all = append(all, signal{float64(c), int32(i)})
			}
		}
		for at := float64(p.Born) + rnd.ExpFloat64()*every; at < float64(p.End); at += rnd.ExpFloat64() * every {
			all = append(all, signal{at, int32(i)})
		}
	}
	slices.SortStableFunc(all, func(a, b signal) int { return cmp.Compare(a.at, b.at) })
	return all
}

// listener is a policy that heeds signals: it returns when the page is due, which was visited last at last.
type listener interface {
	signalled(page int, last, due float64) float64
}

// hinted is drift+optimal with signals taken for what sitemaps say: revisit.Claims, revisit.Advance and Claims.Silence.
type hinted struct {
	*henro
	claims, recall revisit.Claims
	named          []bool    // by page: a signal came since its last visit
	announced      []bool    // by page: a signal was right once
	interval       []float64 // by page: as its timetable has it, in seconds
}

func newHinted(w *world) policy {
	n := len(w.site.Pages)
	return &hinted{henro: newHenro(w, byDefault, nil),
		named: make([]bool, n), announced: make([]bool, n), interval: make([]float64, n)}
}

func (p *hinted) next(v visit) float64 {
	named := p.named[v.page]
	if named {
		gap := time.Duration(v.gap * 1e9)
		p.waited = p.claims.Found(v.changed, gap, cmp.Or(p.mean[v.page], p.prior.Center(&p.o))) >= 0.5
		p.named[v.page] = false
	}
	if v.changed && (p.waited || !named && p.announced[v.page]) {
		p.recall.Note(p.waited)
		p.announced[v.page] = true
	}
	t := p.henro.next(v)
	p.waited, p.interval[v.page] = false, t
	if p.announced[v.page] {
		t *= p.recall.Silence()
	}
	return t
}

func (p *hinted) signalled(page int, last, due float64) float64 {
	if p.named[page] || !p.claims.Believed() && p.w.rnd.IntN(20) > 0 {
		return due
	}
	p.named[page] = true
	mean := cmp.Or(p.mean[page], p.prior.Center(&p.o))
	return min(due, last+revisit.Advance(time.Duration(p.interval[page]*1e9), mean, p.claims.Chance()).Seconds())
}

// noisy is the policy of Busa-Fekete et al. (2025), who know the recall r and the rate ν of false signals. A page that
// changes Δ times a second is as it was t after its visit and n signals with the chance
//
//	P = e^(−(1−r)Δt) · (ν/(rΔ+ν))^n
//
// so a signal ages a page by ln((rΔ+ν)/ν)/((1−r)Δ), and it is visited when −ln P has come to the x of
// ChoGarciaMolina. Both r and ν are the true ones; Δ is learnt from visits.
type noisy struct {
	*allocating
	recall, noise float64 // r, and ν in signals per page and second
}

func newNoisy(w *world) policy {
	all := newAllocating(w, ChoGarciaMolina, Estimators()["cho-garcia-molina"], 0.05)
	rate := float64(w.site.Versions()) / float64(w.site.Life())
	return &noisy{all, min(w.signals.Recall, 0.99), max(w.signals.Noise, 0.01) * rate}
}

func (p *noisy) next(v visit) float64 { return p.allocating.next(v) / (1 - p.recall) }

func (p *noisy) signalled(page int, _, due float64) float64 {
	delta := p.w.budget // as in allocating.next
	if p.mean[page] > 0 {
		delta = 1 / p.mean[page].Seconds()
	}
	return due - math.Log1p(p.recall*delta/p.noise)/((1-p.recall)*delta)
}
