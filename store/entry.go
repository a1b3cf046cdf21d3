package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"henro/messages/outlink"
)

// maxEntry bounds the count of orders of one kind that an entry may announce before they are there.
const maxEntry = 1 << 20

// MarshalBinary writes all that Commit needs, so that UnmarshalBinary gives a batch of which any replica makes the
// same. Records have the form in which they lie on disk.
//
//	schema1 ‖ seconds i64 ‖ nanoseconds u32 ‖ opened u32 ‖ domains str ‖ bytes uv ‖ records uv ‖ rejudge1 ‖ given uv
//	‖ visits ‖ moves ‖ drops ‖ renews ‖ forgets ‖ candidates ‖ hosts ‖ leases ‖ ended ‖ sends ‖ sent ‖ relaxed ‖ metas
//	‖ firsts, each with its count uv before it
func (b *Batch) MarshalBinary() ([]byte, error) {
	e := append(make([]byte, 0, b.bytes+b.bytes/4+256), Schema)
	e = binary.LittleEndian.AppendUint64(e, uint64(b.now.Unix()))
	e = binary.LittleEndian.AppendUint32(e, uint32(b.now.Nanosecond()))
	e = binary.LittleEndian.AppendUint32(e, b.opened)
	e = appendBytes(e, b.domains)
	e = binary.AppendUvarint(binary.AppendUvarint(e, uint64(b.bytes)), uint64(b.records))
	e = binary.AppendUvarint(append(e, oneIf(b.rejudge)), b.given)

	var record []byte
	page := func(p *Page) {
		record = appendPage(record[:0], p)
		e = appendBytes(e, record)
	}
	e = binary.AppendUvarint(e, uint64(len(b.visits)))
	for i := range b.visits {
		v := &b.visits[i]
		e = appendBytes(e, v.Position)
		page(&v.Page)
		e = append(e, oneIf(v.Retry), oneIf(v.Links != nil))
		if v.Links != nil {
			set, _ := encodeLinks(v.Links)
			e = appendBytes(e, set[4:])
		}
		e = appendBytes(e, v.Near)
	}
	for _, entries := range [][]Entry{b.moves, b.drops, b.renews} {
		e = binary.AppendUvarint(e, uint64(len(entries)))
		for i := range entries {
			e = appendBytes(e, entries[i].Position)
			page(&entries[i].Page)
		}
	}
	e = appendAll(e, b.forgets, func(e []byte, p Position) []byte { return appendBytes(e, p) })
	e = appendAll(e, b.admits, appendCandidate)
	e = appendAll(e, b.hosts, func(e []byte, h HostRecord) []byte {
		e = binary.LittleEndian.AppendUint64(e, uint64(h.ID))
		return appendBytes(appendBytes(e, encodeHost(&h)[4:]), h.Robots)
	})
	e = appendAll(e, b.leases, func(e []byte, l Lease) []byte {
		return appendBytes(binary.LittleEndian.AppendUint64(e, l.ID), encodeLease(&l)[4:])
	})
	e = appendAll(e, b.ended, func(e []byte, id uint64) []byte { return binary.LittleEndian.AppendUint64(e, id) })
	e = appendAll(e, b.sends, func(e []byte, p Parcel) []byte { return appendBytes(e, encodeParcel(&p)[4:]) })
	e = appendAll(e, b.sent, func(e []byte, key []byte) []byte { return appendBytes(e, key) })
	e = appendAll(e, b.relaxed, func(e []byte, r Relaxation) []byte {
		return appendBytes(binary.LittleEndian.AppendUint64(e, uint64(r.Host)), encodeRelaxation(&r)[4:])
	})
	e = binary.AppendUvarint(e, uint64(len(b.metaKeys)))
	for i, name := range b.metaKeys {
		e = appendBytes(append(appendBytes(e, name), oneIf(b.metas[i] != nil)), b.metas[i])
	}
	e = appendAll(e, b.firsts, func(e []byte, f firstPage) []byte {
		return appendBytes(appendBytes(append(e, oneIf(f.known), oneIf(f.claim)), f.url), f.near)
	})
	return e, nil
}

// UnmarshalBinary reads what MarshalBinary wrote. The batch keeps parts of e.
func (b *Batch) UnmarshalBinary(e []byte) error {
	s := scanner{rest: e}
	if err := knows(uint32(s.u8())); err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	*b = Batch{}
	seconds := int64(s.u64())
	b.now = time.Unix(seconds, int64(s.u32())).UTC()
	b.opened, b.domains = s.u32(), s.string()
	b.bytes, b.records = int(s.uvarint()), int(s.uvarint())
	b.rejudge, b.given = s.u8() != 0, s.uvarint()

	var failed error
	fail := func(err error) {
		if failed == nil && err != nil {
			failed = err
		}
	}
	page := func() Page {
		p, err := decodePage(s.bytes())
		fail(err)
		return p
	}
	b.visits = scanAll(&s, func() Visited {
		v := Visited{Position: position(&s), Page: page(), Retry: s.u8() != 0}
		if s.u8() != 0 {
			links, err := decodeLinks(nil, sealAs(nil, s.bytes()))
			fail(err)
			v.Links = append([]outlink.Outlink{}, links...)
		}
		v.Near = s.bytes()
		return v
	})
	for _, entries := range []*[]Entry{&b.moves, &b.drops, &b.renews} {
		*entries = scanAll(&s, func() Entry {
			p := position(&s)
			return Entry{page(), p}
		})
	}
	b.forgets = scanAll(&s, func() Position { return position(&s) })
	b.admits = scanAll(&s, func() Candidate { return scanCandidate(&s) })
	b.hosts = scanAll(&s, func() HostRecord {
		id := s.u64()
		key := key64(id)
		h, err := decodeHost(key, sealAs(key, s.bytes()))
		fail(err)
		h.ID, h.Robots = HostID(id), s.bytes()
		return h
	})
	b.leases = scanAll(&s, func() Lease {
		key := key64(s.u64())
		l, err := decodeLease(key, sealAs(key, s.bytes()))
		fail(err)
		return l
	})
	b.ended = scanAll(&s, s.u64)
	b.sends = scanAll(&s, func() Parcel {
		p, err := decodeParcel(key64(0), sealAs(key64(0), s.bytes()))
		fail(err)
		p.Key = nil
		return p
	})
	b.sent = scanAll(&s, s.bytes)
	b.relaxed = scanAll(&s, func() Relaxation {
		key := key128(HostID(s.u64()), 0)
		r, err := decodeRelaxation(key, sealAs(key, s.bytes()))
		fail(err)
		return r
	})
	scanAll(&s, func() struct{} {
		b.metaKeys = append(b.metaKeys, s.string())
		there, v := s.u8() != 0, s.bytes()
		if !there {
			v = nil
		} else if v == nil {
			v = []byte{}
		}
		b.metas = append(b.metas, v)
		return struct{}{}
	})
	b.firsts = scanAll(&s, func() firstPage {
		return firstPage{known: s.u8() != 0, claim: s.u8() != 0, url: s.string(), near: s.string()}
	})
	if err := s.err("batch"); err != nil {
		return err
	}
	return failed
}

func oneIf(yes bool) byte {
	if yes {
		return 1
	}
	return 0
}

func appendAll[T any](e []byte, all []T, add func([]byte, T) []byte) []byte {
	e = binary.AppendUvarint(e, uint64(len(all)))
	for _, v := range all {
		e = add(e, v)
	}
	return e
}

func scanAll[T any](s *scanner, next func() T) (all []T) {
	n := s.uvarint()
	if n > maxEntry {
		s.bad = true
	}
	for ; n > 0 && !s.bad; n-- {
		all = append(all, next())
	}
	return all
}

func position(s *scanner) Position { return Position(s.bytes()) }

// sealAs gives a value the checksum under a key that decoders want; a Raft log has checksums of its own.
func sealAs(key, v []byte) []byte {
	return seal(key, append(make([]byte, 4, 4+len(v)), v...))
}

func appendCandidate(e []byte, c Candidate) []byte {
	e = appendBytes(appendBytes(e, c.URL), c.Host)
	e = append(e, c.Depth, c.DepthLeft, c.Band, c.Redirects, c.Requisite, byte(c.Frequency), oneIf(c.Rises))
	return appendBytes(binary.AppendUvarint(e, c.From), c.Via)
}

func scanCandidate(s *scanner) Candidate {
	return Candidate{URL: s.string(), Host: s.string(), Depth: s.u8(), DepthLeft: s.u8(), Band: s.u8(),
		Redirects: s.u8(), Requisite: s.u8(), Frequency: outlink.Frequency(s.u8()), Rises: s.u8() != 0,
		From: s.uvarint(), Via: s.string()}
}
