package storetest

import (
	"fmt"
	"math"
	"slices"

	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// Differ compares everything that can be read from a partition with the twin, and returns the first difference.
func (t *Twin) Differ(p *store.Partition) error {
	for _, differ := range []func(*store.Partition) error{t.differPages, t.differSeen, t.differHosts, t.differLeases,
		t.differOutbox, t.differMeta, t.differRelaxations, t.differStats} {
		if err := differ(p); err != nil {
			return err
		}
	}
	return nil
}

// same compares two values by how they are printed.
func same(what string, got, want any) error {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		return fmt.Errorf("%s: %s, not %s", what, g, w)
	}
	return nil
}

func (t *Twin) differPages(p *store.Partition) error {
	found := 0
	if err := p.Pages.Each(func(got store.Page, place store.Place) error {
		found++
		page := t.pages[got.URL]
		if page == nil {
			return fmt.Errorf("%s is a page", got.URL)
		}
		want := page.live()
		return same(got.URL, []any{place, got}, []any{want.place, page.shown(want)})
	}); err != nil {
		return err
	}
	return same("pages", found, len(t.pages))
}

func (t *Twin) differSeen(p *store.Partition) error {
	for url, page := range t.pages {
		left, visited, known, err := p.Seen.Get(url)
		if err != nil {
			return err
		}
		if !known || left != page.left() || visited != page.visited {
			return fmt.Errorf("%s: seen %v %v %v, not %v %v", url, left, visited, known, page.left(), page.visited)
		}
		is, err := p.Seen.IsPage(&store.Page{URL: url, Flags: store.Flags(0).AsRequisite(1)})
		if err != nil || is != (page.reach >= 0) {
			return fmt.Errorf("%s: a page %v %w, not %v", url, is, err, page.reach >= 0)
		}
		links, err := p.Links.Of(store.IDOf(weburl.HostOf(url)), fingerprint.URL(url))
		if err != nil && len(page.links) > 0 || !slices.Equal(links, page.links) {
			return fmt.Errorf("%s: links %v %w, not %v", url, links, err, page.links)
		}
	}
	return nil
}

func (t *Twin) differHosts(p *store.Partition) error {
	for name, h := range t.hosts {
		want, load, ghosts := *h, 0.0, 0
		want.Waiting, want.Known, want.Visited = 0, 0, 0
		for url, page := range t.pages {
			if weburl.HostOf(url) != name {
				continue
			}
			want.Known++
			ghosts += len(page.fresh)
			if page.visited {
				want.Visited++
			} else {
				want.Waiting++
				ghosts--
			}
			if r := page.live(); r.place == store.InQueue && r.Timing.Interval > 0 {
				load += 1 / float64(max(r.Timing.Interval, 1))
			}
		}
		got, err := p.Hosts.Get(store.IDOf(name))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if math.Abs(got.Load-load) > 1e-9 {
			return fmt.Errorf("%s: load %v, not %v", name, got.Load, load)
		}
		got.Load, want.Load = 0, 0
		if err := same("host", got, want); err != nil {
			return err
		}
		var waiting []store.Page
		for _, r := range t.waiting(name) {
			waiting = append(waiting, t.pages[r.URL].shown(r))
		}
		w, err := p.Fresh.Of(got.ID, nil, math.MaxInt)
		if err != nil {
			return err
		}
		var fresh []store.Page
		for _, e := range w.Entries {
			fresh = append(fresh, e.Page)
		}
		if err := same("waiting of "+name, fresh, waiting); err != nil {
			return err
		}
		if err := same("ghosts of "+name, len(w.Ghosts), ghosts); err != nil {
			return err
		}
	}
	return nil
}

func (t *Twin) differLeases(p *store.Partition) error {
	leases, err := p.Leases.All()
	if err != nil {
		return err
	}
	for _, l := range leases {
		if err := same("lease", l, t.leases[l.ID]); err != nil {
			return err
		}
	}
	return same("leases", len(leases), len(t.leases))
}

func (t *Twin) differOutbox(p *store.Partition) error {
	parcels, err := p.Outbox.Within(math.MaxInt, math.MaxInt)
	if err != nil {
		return err
	}
	return same("outbox", parcels, t.outbox)
}

func (t *Twin) differMeta(p *store.Partition) error {
	all := map[string][]byte{}
	if err := p.Metas.Each("", func(name string, value []byte) error {
		all[name] = slices.Clone(value)
		return nil
	}); err != nil {
		return err
	}
	for name, want := range t.meta {
		if got, err := p.Metas.Get(name); err != nil || string(got) != string(want) {
			return fmt.Errorf("meta %s: %q %w, not %q", name, got, err, want)
		}
	}
	return same("metas", all, t.meta)
}

func (t *Twin) differRelaxations(p *store.Partition) error {
	relaxations, err := p.Relaxations.First(math.MaxInt)
	if err != nil {
		return err
	}
	for _, got := range relaxations {
		page := t.pages[got.URL]
		if page == nil || page.relax == nil {
			return fmt.Errorf("relaxation %v", got)
		}
		want := *page.relax
		want.Links = page.links
		if err := same("relaxation", got, want); err != nil {
			return err
		}
	}
	want := 0
	for _, page := range t.pages {
		if page.relax != nil {
			want++
		}
	}
	return same("relaxations", len(relaxations), want)
}

func (t *Twin) differStats(p *store.Partition) error {
	got, err := p.Stats()
	if err != nil {
		return err
	}
	want := store.Stats{Hosts: uint64(len(t.hosts)), Known: uint64(len(t.pages)), Contents: uint64(len(t.contents)),
		Leases: uint64(len(t.leases)), Parcels: uint64(len(t.outbox)), Bytes: got.Bytes, Free: got.Free}
	for _, page := range t.pages {
		switch r := page.live(); {
		case !page.visited:
			want.Waiting++
		case r.place == store.InQueue:
			want.Queued++
		case r.Flags&store.Dropped != 0:
			want.Dropped++
			fallthrough
		default:
			want.Resting++
		}
		if len(page.links) > 0 {
			want.Linked++
		}
		if page.relax != nil {
			want.Relaxations++
		}
	}
	want.Visited = want.Queued + want.Resting
	return same("stats", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
}
