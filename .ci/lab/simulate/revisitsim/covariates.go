package revisitsim

import (
	"math"
	"strings"
	"unicode"
)

// covariates is drift+optimal with a hierarchical prior: what is believed of a page is not the middle of its host, but
// what pages of its kind have shown, on this host and on others. With covariates z of a page (depth, length and digits
// of its name, whether it stands for a folder, a second ending such as that of a language, its age),
//
//	ln λ = weights of the host · z + that of its folder
//
// where visits teach the weights by the likelihood (1), one Newton step each with the curvature so far of each weight
// alone. A host begins with the weights that the archives of all other sites suggest (--archive; without one with
// zeros), where each site counts alike. The archive of the host itself is known with own=1.
type covariates struct {
	*henro
	z       [][kinds]float64 // by page, without its age
	folders []*effect        // by page
	host    [kinds]effect
	middle  [kinds]float64 // mean of z over the pages known
	known   float64
	own     bool
	age     []float64 // by page: seconds before its birth
}

// effect is a term of ln λ, and how well it is known.
type effect struct{ value, precision float64 }

const kinds = 7 // of covariates, the scale of the host and the age among them

func newCovariates(w *world, c constants) policy {
	n := len(w.site.Pages)
	p := &covariates{henro: newHenro(w, byDefault, nil), z: make([][kinds]float64, n), folders: make([]*effect, n),
		own: c["own"] > 0, age: make([]float64, n)}
	p.archive = p.own
	byName := map[string]*effect{}
	for i := range w.site.Pages {
		page := &w.site.Pages[i]
		p.z[i] = covariatesOf(page.Name)
		name := folderOf(page.Name)
		if byName[name] == nil {
			byName[name] = &effect{precision: c["folder"]}
		}
		p.folders[i] = byName[name]
		for _, a := range page.Archive {
			p.age[i] += a.Gap.Seconds()
		}
	}
	for i := range p.host {
		p.host[i].precision = c["host"]
	}
	p.host[0].precision = 1
	if c["across"] > 0 {
		for i, weight := range weightsOfOthers(w.others, w.site.Name) {
			p.host[i].value = weight
		}
	}
	return p
}

// covariatesOf returns what the name of a page tells. The first is the scale of the host, the last the age.
func covariatesOf(name string) (z [kinds]float64) {
	digits := 0.0
	for _, r := range name {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	base := name[strings.LastIndexByte(name, '/')+1:]
	z[0] = 1
	z[1] = float64(strings.Count(name, "/"))
	z[2] = math.Log(float64(max(1, len(base)))) / 2
	z[3] = digits / float64(max(1, len(name))) * 4
	if base == "" || strings.Contains(base, "index") || strings.Contains(base, "README") {
		z[4] = 1
	}
	if strings.Contains(base, ".") {
		z[5] = 1
	}
	return z
}

// aged is the covariate of age: 0 for a new page, 1 after 1.7 years, 2 after 6.4.
func aged(seconds float64) float64 { return math.Log1p(seconds / (365 * day)) }

// weightsOfOthers fits the weights of ln λ to the archives of all sites but one, each with a scale of its own.
func weightsOfOthers(sites []Site, but string) (weights [kinds]float64) {
	type row struct {
		z             [kinds]float64
		site          int
		changes, span float64
		weight        float64
	}
	var rows []row
	scale := make([]float64, len(sites))
	for i := range sites {
		if sites[i].Name == but {
			continue
		}
		first, changes, span := len(rows), 0.0, 0.0
		for j := range sites[i].Pages {
			page := &sites[i].Pages[j]
			r := row{z: covariatesOf(page.Name), site: i}
			r.z[0] = 0
			for k, a := range page.Archive {
				r.span += a.Gap.Seconds()
				if a.Changed {
					r.changes++
				}
				if k == 23 || k == len(page.Archive)-1 { // the first two years of a page, and all that came later
					r.z[kinds-1] = aged(r.span / 2)
					if k > 23 {
						r.z[kinds-1] = aged(r.span/2 + 2*365*day)
					}
					changes, span = changes+r.changes, span+r.span
					rows = append(rows, r)
					r.changes, r.span = 0, 0
				}
			}
		}
		if n := len(rows) - first; n > 0 && changes > 0 {
			scale[i] = math.Log(changes / span)
			for j := first; j < len(rows); j++ {
				rows[j].weight = 1 / max(1, changes) // so each site counts alike
			}
		} else {
			rows = rows[:first]
		}
	}
	if len(rows) == 0 {
		return weights
	}
	for range 40 { // Newton's steps for each weight alone, of a Poisson regression
		var slope, curve [kinds]float64
		bySite, expectedBySite := make([]float64, len(sites)), make([]float64, len(sites))
		for _, r := range rows {
			eta := scale[r.site]
			for k, z := range r.z {
				eta += weights[k] * z
			}
			expected := r.span * math.Exp(eta)
			bySite[r.site] += r.changes
			expectedBySite[r.site] += expected
			for k, z := range r.z {
				slope[k] += r.weight * (r.changes - expected) * z
				curve[k] += r.weight * expected * z * z
			}
		}
		for k := 1; k < kinds; k++ {
			weights[k] += 0.5 * (slope[k] - 0.1*weights[k]) / (curve[k] + 0.1)
		}
		for i := range scale {
			if bySite[i] > 0 {
				scale[i] += 0.5 * math.Log(bySite[i]/expectedBySite[i])
			}
		}
	}
	return weights
}

// apart returns ln λ of a page as against that of a page in the middle of its host.
func (p *covariates) apart(page int, age float64) float64 {
	sum := p.folders[page].value
	for i := 1; i < kinds-1; i++ {
		sum += p.host[i].value * (p.z[page][i] - p.middle[i]/max(1, p.known))
	}
	return sum + p.host[kinds-1].value*(aged(age)-p.middle[kinds-1]/max(1, p.known))
}

func (p *covariates) next(v visit) float64 {
	age := p.age[v.page] + v.at - float64(p.w.site.Pages[v.page].Born)
	if v.gap == 0 {
		p.known++
		for i := range p.middle {
			p.middle[i] += p.z[v.page][i]
		}
		p.middle[kinds-1] += aged(age)
		if p.own {
			for _, a := range p.w.site.Pages[v.page].Archive {
				p.learn(v.page, a.Gap.Seconds(), age, a.Changed)
			}
		}
	} else {
		p.learn(v.page, v.gap, age, v.changed)
	}
	p.offset = min(max(p.apart(v.page, age), -3), 3)
	return p.henro.next(v)
}

// learn moves the weights of the host and its folder by what a visit found.
func (p *covariates) learn(page int, gap, age float64, changed bool) {
	ln := p.host[0].value + p.apart(page, age)
	x := min(max(gap/p.o.PriorMean.Seconds()*math.Exp(ln), 1e-6), 30)
	slope, curve := -x, x
	if changed {
		slope = x / math.Expm1(x)
	}
	curve = x * x / math.Expm1(x) // Fisher's information
	step := func(e *effect, z float64) {
		e.precision += curve * z * z
		e.value += slope * z / (e.precision + curve*z*z*2)
	}
	for i := 1; i < kinds-1; i++ {
		step(&p.host[i], p.z[page][i]-p.middle[i]/max(1, p.known))
	}
	step(&p.host[kinds-1], aged(age)-p.middle[kinds-1]/max(1, p.known))
	step(&p.host[0], 1)
	step(p.folders[page], 1)
}
