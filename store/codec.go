package store

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store/timequeue"
)

// Values are little-endian, counts and lengths are uvarints, keys big-endian so that they sort. FORMAT.md draws them.

// put stores a value whose first four bytes were left free for the checksum over key and value.
func put(b *bbolt.Bucket, key, v []byte) error {
	return b.Put(key, seal(key, v))
}

// seal fills in the checksum of such a value.
func seal(key, v []byte) []byte {
	binary.LittleEndian.PutUint32(v, timequeue.Sum(key, v[4:]))
	return v
}

// unseal checks and takes off the checksum.
func unseal(key, v []byte) ([]byte, error) {
	if len(v) < 4 || binary.LittleEndian.Uint32(v) != timequeue.Sum(key, v[4:]) {
		return nil, ErrCorrupt
	}
	return v[4:], nil
}

func appendBytes[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// scanner reads a value; the first thing that does not fit makes it bad, and everything after reads as zero.
type scanner struct {
	rest []byte
	bad  bool
}

func (s *scanner) take(n uint64) []byte {
	if s.bad || n > uint64(len(s.rest)) {
		s.bad = true
		return nil
	}
	b := s.rest[:n:n]
	s.rest = s.rest[n:]
	return b
}

var zeros [8]byte

// fixed takes n bytes, at most 8; zeros where they are not there.
func (s *scanner) fixed(n uint64) []byte {
	if b := s.take(n); b != nil {
		return b
	}
	return zeros[:n]
}

func (s *scanner) u8() uint8 { return s.fixed(1)[0] }

func (s *scanner) u16() uint16 { return binary.LittleEndian.Uint16(s.fixed(2)) }

func (s *scanner) u32() uint32 { return binary.LittleEndian.Uint32(s.fixed(4)) }

func (s *scanner) u64() uint64 { return binary.LittleEndian.Uint64(s.fixed(8)) }

func (s *scanner) uvarint() uint64 {
	v, n := binary.Uvarint(s.rest)
	if n <= 0 {
		s.bad = true
		s.rest = nil
		return 0
	}
	s.rest = s.rest[n:]
	return v
}

func (s *scanner) bytes() []byte { return s.take(s.uvarint()) }

func (s *scanner) string() string { return string(s.bytes()) }

func (s *scanner) f32() float32 { return math.Float32frombits(s.u32()) }

// err names what could not be read.
func (s *scanner) err(what string) error {
	if s.bad || len(s.rest) > 0 {
		return fmt.Errorf("%s: %w", what, ErrCorrupt)
	}
	return nil
}

// seconds is a moment in whole seconds since 1970, 0 for the zero time; what is outside 1970–2106 is moved to the edge.
func seconds(t time.Time) uint32 {
	if t.IsZero() {
		return 0
	}
	return uint32(min(max(t.Unix(), 1), math.MaxUint32))
}

// secondsUp likewise, rounded up, for moments that must not come early.
func secondsUp(t time.Time) uint32 {
	if t.IsZero() || t.Nanosecond() == 0 {
		return seconds(t)
	}
	return seconds(t.Add(time.Second))
}

func moment(s uint32) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0).UTC()
}

// millis is a moment in whole milliseconds, rounded up.
func millis(t time.Time) uint64 {
	if t.IsZero() || t.Unix() < 0 {
		return 0
	}
	return uint64(t.Add(time.Millisecond - 1).UnixMilli())
}

func momentMillis(ms uint64) time.Time {
	if ms == 0 || ms > math.MaxInt64 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// The parts a page record may have.
const (
	hasVisit = 1 << iota
	hasDigest
	hasMain
	hasSim
	hasETag
	hasModified
	hasSays
	hasVia // or SameAs behind a byte 0, or Near behind a byte 1
)

// redirectBits is how many bits outlink.MaxRedirects takes; the others of their byte hold the upper flags.
const redirectBits = 5

// appendPage writes a record. Due time and URL stand first: the queue reads the one, look-ups the other, without
// reading the rest.
func appendPage(b []byte, p *Page) []byte {
	b = binary.LittleEndian.AppendUint32(b, secondsUp(p.Next))
	b = appendBytes(b, p.URL)
	var parts byte
	if !p.LastVisit.IsZero() || p.Status != 0 || p.Reason != 0 || p.Timing != (Timing{}) || !p.CapturedAt.IsZero() {
		parts |= hasVisit
	}
	if p.Digest != [20]byte{} {
		parts |= hasDigest
	}
	if p.MainDigest != 0 {
		parts |= hasMain
	}
	if p.SimHash != 0 {
		parts |= hasSim
	}
	if p.ETag != "" {
		parts |= hasETag
	}
	if !p.LastModified.IsZero() {
		parts |= hasModified
	}
	if p.Says != "" {
		parts |= hasSays
	}
	if p.Via != "" || p.SameAs != "" || p.Near != "" {
		parts |= hasVia
	}
	b = append(b, parts, p.Depth, min(p.DepthLeft, outlink.UnlimitedDepth), p.Band,
		min(p.Redirects, outlink.MaxRedirects)|byte(p.Flags>>16)<<redirectBits, p.Attempts)
	b = binary.LittleEndian.AppendUint16(b, uint16(p.Flags))
	b = binary.AppendUvarint(b, p.Number)
	b = binary.AppendUvarint(b, p.From)
	if parts&hasVisit != 0 {
		b = binary.LittleEndian.AppendUint32(b, seconds(p.LastVisit))
		b = binary.LittleEndian.AppendUint32(b, seconds(p.CapturedAt))
		for _, f := range [...]float32{p.Timing.Interval, p.Timing.Total, p.Timing.Stable, p.Timing.ChangedMin,
			p.Timing.Changes, p.Timing.Visits, p.Timing.Mean, p.Timing.Drifting} {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
		}
		b = binary.LittleEndian.AppendUint16(b, p.Status)
		b = append(b, p.Reason)
	}
	if parts&hasDigest != 0 {
		b = append(b, p.Digest[:]...)
	}
	if parts&hasMain != 0 {
		b = binary.LittleEndian.AppendUint64(b, p.MainDigest)
	}
	if parts&hasSim != 0 {
		b = binary.LittleEndian.AppendUint64(b, p.SimHash)
	}
	if parts&hasETag != 0 {
		b = appendBytes(b, p.ETag)
	}
	if parts&hasModified != 0 {
		b = binary.LittleEndian.AppendUint32(b, seconds(p.LastModified))
	}
	if parts&hasSays != 0 {
		b = appendBytes(b, p.Says)
	}
	if parts&hasVia != 0 {
		switch {
		case p.SameAs != "":
			b = append(append(binary.AppendUvarint(b, uint64(1+len(p.SameAs))), 0), p.SameAs...)
		case p.Near != "":
			b = append(append(binary.AppendUvarint(b, uint64(1+len(p.Near))), 1), p.Near...)
		default:
			b = appendBytes(b, p.Via)
		}
	}
	return b
}

// AppendRecord appends a page as it lies on disk, for measurements.
func AppendRecord(b []byte, p *Page) []byte { return appendPage(b, p) }

// urlOf reads the URL off a record.
func urlOf(record []byte) []byte {
	s := scanner{rest: record}
	s.take(4)
	return s.bytes()
}

func decodePage(record []byte) (Page, error) {
	s := scanner{rest: record}
	var p Page
	p.Next = moment(s.u32())
	p.URL = s.string()
	parts := s.u8()
	p.Depth, p.DepthLeft = s.u8(), min(s.u8(), outlink.UnlimitedDepth)
	var redirects byte
	p.Band, redirects, p.Attempts = s.u8(), s.u8(), s.u8()
	p.Redirects = redirects & outlink.MaxRedirects
	p.Flags = Flags(s.u16()) | Flags(redirects>>redirectBits)<<16
	p.Number, p.From = s.uvarint(), s.uvarint()
	if parts&hasVisit != 0 {
		p.LastVisit, p.CapturedAt = moment(s.u32()), moment(s.u32())
		p.Timing = Timing{s.f32(), s.f32(), s.f32(), s.f32(), s.f32(), s.f32(), s.f32(), s.f32()}
		p.Status, p.Reason = s.u16(), s.u8()
	}
	if parts&hasDigest != 0 {
		copy(p.Digest[:], s.take(20))
	}
	if parts&hasMain != 0 {
		p.MainDigest = s.u64()
	}
	if parts&hasSim != 0 {
		p.SimHash = s.u64()
	}
	if parts&hasETag != 0 {
		p.ETag = s.string()
	}
	if parts&hasModified != 0 {
		p.LastModified = moment(s.u32())
	}
	if parts&hasSays != 0 {
		p.Says = s.string()
	}
	if parts&hasVia != 0 {
		p.Via = s.string()
		if same, ok := strings.CutPrefix(p.Via, "\x00"); ok {
			p.Via, p.SameAs = "", same
		} else if near, ok := strings.CutPrefix(p.Via, "\x01"); ok {
			p.Via, p.Near = "", near
		}
	}
	return p, s.err("page record")
}

// remains is what a commit must know of the record it replaces.
type remains struct {
	number, from     uint64
	load             uint64 // its term of the host's load
	content          uint64 // fingerprint.Main of its main content
	resting, dropped bool
}

// remainsOf reads no more of a record than that.
func remainsOf(record []byte) (r remains, err error) {
	s := scanner{rest: record}
	r.resting = s.u32() == 0
	s.bytes()
	parts := s.u8()
	s.take(5)
	r.dropped = Flags(s.u16())&Dropped != 0
	r.number, r.from = s.uvarint(), s.uvarint()
	if parts&hasVisit != 0 {
		s.take(8)
		if interval := s.f32(); !r.resting {
			r.load = loadOf(interval)
		}
		s.take(7*4 + 3) // the rest of the timing, status and reason
	}
	if parts&hasDigest != 0 {
		s.take(20)
	}
	if parts&hasMain != 0 {
		r.content = s.u64()
	}
	if s.bad {
		return r, fmt.Errorf("page record: %w", ErrCorrupt)
	}
	return r, nil
}

// loadUnit is the unit in which load indexes are summed, 2⁻⁴⁰ per second: whole numbers, so that a sum does not depend
// on the order of its terms and can be checked exactly.
const loadUnit = 1 << 40

// loadOf is the term 1/T of a page.
func loadOf(interval float32) uint64 {
	if !(interval >= 1) {
		if !(interval > 0) {
			return 0
		}
		interval = 1
	}
	return uint64(math.Round(loadUnit / float64(interval)))
}

// loadIn is the term of a page in the load of its host; 0 if no visit is planned.
func (p *Page) loadIn() uint64 {
	if p.Next.IsZero() {
		return 0
	}
	return loadOf(p.Timing.Interval)
}

// counts are the numbers the store keeps of a host.
type counts struct {
	waiting, known, visited uint64
	load                    uint64 // in loadUnit
}

func (c counts) encode() []byte {
	b := make([]byte, 4, 36)
	for _, v := range [...]uint64{c.waiting, c.known, c.visited, c.load} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func decodeCounts(key, v []byte) (counts, error) {
	b, err := unseal(key, v)
	if err != nil {
		return counts{}, fmt.Errorf("host counts: %w", err)
	}
	s := scanner{rest: b}
	c := counts{s.u64(), s.u64(), s.u64(), s.u64()}
	return c, s.err("host counts")
}

func encodeHost(h *HostRecord) []byte {
	b := make([]byte, 4, 64+len(h.Name)+len(h.Politeness))
	b = appendBytes(b, h.Name)
	b = binary.LittleEndian.AppendUint64(b, millis(h.NextAllowed))
	b = binary.LittleEndian.AppendUint32(b, h.Flags)
	b = binary.LittleEndian.AppendUint32(b, seconds(h.RobotsUntil))
	b = binary.AppendUvarint(b, uint64(len(h.Rates)))
	for _, n := range h.Rates {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = encodeFailures(appendBytes(b, h.Politeness), h)
	since := seconds(h.Failure.Since)
	again := since > 0 && since != seconds(h.Failure.At)
	if len(h.Cookies) > 0 || again {
		b = appendBytes(b, h.Cookies)
	}
	if again {
		b = binary.LittleEndian.AppendUint32(b, since)
	}
	return b
}

// encodeFailures writes when a host was asked last, and how its visits failed.
func encodeFailures(b []byte, h *HostRecord) []byte {
	b = binary.LittleEndian.AppendUint32(b, seconds(h.AskedAt))
	b = binary.AppendUvarint(b, h.GivenUp)
	b = binary.AppendUvarint(b, uint64(len(h.Errors)))
	for _, word := range slices.Sorted(maps.Keys(h.Errors)) {
		b = appendBytes(b, word)
		b = binary.AppendUvarint(b, h.Errors[word])
	}
	b = binary.LittleEndian.AppendUint32(b, seconds(h.Failure.At))
	b = binary.LittleEndian.AppendUint16(b, h.Failure.Status)
	return appendBytes(append(b, h.Failure.Reason), h.Failure.Says)
}

func decodeHost(key, v []byte) (HostRecord, error) {
	id := hostKey(key)
	b, err := unseal(key, v)
	if err != nil {
		return HostRecord{}, fmt.Errorf("host %016x: %w", uint64(id), err)
	}
	s := scanner{rest: b}
	h := HostRecord{ID: id, Name: s.string(), NextAllowed: momentMillis(s.u64()), Flags: s.u32(),
		RobotsUntil: moment(s.u32())}
	if n := s.uvarint(); n > uint64(len(s.rest)) {
		s.bad = true
	} else if n > 0 {
		h.Rates = make([]uint32, n)
		for i := range h.Rates {
			h.Rates[i] = uint32(s.uvarint())
		}
	}
	if b := s.bytes(); len(b) > 0 {
		h.Politeness = append([]byte(nil), b...)
	}
	h.AskedAt, h.GivenUp = moment(s.u32()), s.uvarint()
	for n := s.uvarint(); n > 0 && !s.bad; n-- {
		word := s.string()
		h.CountError(word, s.uvarint())
	}
	h.Failure = Failure{At: moment(s.u32()), Status: s.u16(), Reason: s.u8(), Says: s.string()}
	if len(s.rest) > 0 && !s.bad {
		h.Cookies = append([]byte(nil), s.bytes()...)
	}
	if h.Failure.Since = h.Failure.At; len(s.rest) > 0 && !s.bad {
		h.Failure.Since = moment(s.u32())
	}
	return h, s.err("host " + h.Name)
}

func encodeLease(l *Lease) []byte {
	b := make([]byte, 4, 64+len(l.HostName)+len(l.Slave)+len(l.Boot)+len(l.Data))
	b = binary.LittleEndian.AppendUint64(b, uint64(l.Host))
	b = binary.LittleEndian.AppendUint64(b, millis(l.Until))
	b = binary.AppendUvarint(b, l.Seq)
	b = appendBytes(b, l.HostName)
	b = appendBytes(b, l.Slave)
	b = appendBytes(b, l.Boot)
	b = appendBytes(b, l.Data)
	return b
}

func decodeLease(key, v []byte) (Lease, error) {
	id := uint64(hostKey(key))
	b, err := unseal(key, v)
	if err != nil {
		return Lease{}, fmt.Errorf("lease %d: %w", id, err)
	}
	s := scanner{rest: b}
	l := Lease{ID: id, Host: HostID(s.u64()), Until: momentMillis(s.u64()), Seq: s.uvarint(),
		HostName: s.string(), Slave: s.string(), Boot: s.string()}
	if b := s.bytes(); len(b) > 0 {
		l.Data = append([]byte(nil), b...)
	}
	return l, s.err(fmt.Sprintf("lease %d", id))
}

func encodeParcel(p *Parcel) []byte {
	b := make([]byte, 4, 16+64*len(p.Candidates))
	b = binary.AppendUvarint(b, uint64(p.Partition))
	b = binary.AppendUvarint(b, uint64(len(p.Candidates)))
	last := ""
	for i := range p.Candidates {
		c := &p.Candidates[i]
		b = append(b, c.Depth, c.DepthLeft, c.Band, min(c.Redirects, outlink.MaxRedirects)|c.Requisite<<5)
		b = binary.AppendUvarint(b, c.From)
		b = appendAfter(b, last, c.URL)
		last = c.URL
	}
	last = ""
	for i := range p.Candidates {
		if c := &p.Candidates[i]; c.Requisite > 0 {
			b, last = appendAfter(b, last, c.Via), c.Via
		}
	}
	return b
}

func decodeParcel(key, v []byte) (Parcel, error) {
	b, err := unseal(key, v)
	if err != nil {
		return Parcel{}, fmt.Errorf("outbox %x: %w", key, err)
	}
	s := scanner{rest: b}
	p := Parcel{Key: append([]byte(nil), key...), Partition: int(s.uvarint())}
	n, last := s.uvarint(), ""
	for ; n > 0 && !s.bad; n-- {
		c := Candidate{Depth: s.u8(), DepthLeft: s.u8(), Band: s.u8(), Redirects: s.u8(), From: s.uvarint()}
		c.Redirects, c.Requisite = c.Redirects&outlink.MaxRedirects, c.Redirects>>5
		c.URL = s.after(last)
		c.Host = weburl.HostOf(c.URL)
		last = c.URL
		p.Candidates = append(p.Candidates, c)
	}
	last = ""
	for i := range p.Candidates {
		if c := &p.Candidates[i]; c.Requisite > 0 {
			c.Via = s.after(last)
			last = c.Via
		}
	}
	return p, s.err(fmt.Sprintf("outbox %x", key))
}

// appendAfter writes a string as the length it shares with the one before and the rest.
func appendAfter(b []byte, last, s string) []byte {
	n := 0
	for n < len(last) && n < len(s) && last[n] == s[n] {
		n++
	}
	return appendBytes(binary.AppendUvarint(b, uint64(n)), s[n:])
}

func (s *scanner) after(last string) string {
	n := s.uvarint()
	if n > uint64(len(last)) {
		s.bad = true
		return ""
	}
	return last[:n] + string(s.bytes())
}

func encodeRelaxation(r *Relaxation) []byte {
	return append(append(make([]byte, 4, 16+len(r.URL)), r.Depth, r.DepthLeft, r.Redirects), r.URL...)
}

func decodeRelaxation(key, v []byte) (Relaxation, error) {
	b, err := unseal(key, v)
	if err != nil || len(b) < 4 || len(key) != 16 {
		return Relaxation{}, fmt.Errorf("relaxation %x: %w", key, ErrCorrupt)
	}
	return Relaxation{Host: HostID(binary.BigEndian.Uint64(key)), Depth: b[0], DepthLeft: b[1], Redirects: b[2],
		URL: string(b[3:])}, nil
}

func hostKey(k []byte) HostID {
	if len(k) < 8 {
		return 0
	}
	return HostID(binary.BigEndian.Uint64(k))
}

func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 0, 8), n) }

func key128(host HostID, fp uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(host)), fp)
}
