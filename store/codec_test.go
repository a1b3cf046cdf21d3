package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store/timequeue"
)

func TestPageRecordsKeepEveryField(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	full := Page{URL: "http://a.example/x?y", Number: 1 << 40, From: 7, Depth: 1, DepthLeft: 2, Band: 3, Redirects: 31,
		Attempts: 5,
		Next:     at, LastVisit: at.Add(1 * time.Second), CapturedAt: at.Add(2 * time.Second),
		LastModified: at.Add(-time.Hour),
		Timing:       Timing{1, 2, 3, 4, 5, 6, 7, 8}, Status: 200, Reason: 7, Flags: NoIndex | Scripted,
		Digest: [20]byte{1, 19: 2}, MainDigest: 8, SimHash: 9, ETag: `W/"x"`, Says: "connection refused",
		Via: "http://b.example/", SameAs: "http://c.example/", Near: "http://d.example/"}
	if f := reflect.ValueOf(full); true {
		for i := range f.NumField() {
			if f.Field(i).IsZero() {
				t.Fatalf("the test leaves %s out", f.Type().Field(i).Name)
			}
		}
	}
	plain, same, near := full, full, full // no page has two of them
	plain.SameAs, plain.Near, same.Via, same.Near, near.Via, near.SameAs = "", "", "", "", "", ""
	for _, p := range []Page{plain, same, near, {},
		{URL: "http://a.example/", DepthLeft: outlink.UnlimitedDepth}} {
		rec := appendPage(nil, &p)
		got, err := decodePage(rec)
		if err != nil || got != p {
			t.Errorf("%+v %v, not %+v", got, err, p)
		}
		if string(urlOf(rec)) != p.URL {
			t.Errorf("URL %q", urlOf(rec))
		}
		for n := range rec {
			if _, err := decodePage(rec[:n]); err == nil {
				t.Errorf("%d of %d bytes are a record too", n, len(rec))
			}
		}
	}
	waiting := Page{URL: full.URL, Number: 1 << 20, From: 1 << 20, DepthLeft: 3}
	t.Logf("a visited page takes %d bytes beside its URL and ETag, a waiting one %d",
		len(appendPage(nil, &plain))-len(full.URL)-len(full.ETag)-len(full.Says)-len(full.Via)-1,
		len(appendPage(nil, &waiting))-len(full.URL))
}

func TestHostRecordsKeepWhyTheyFailed(t *testing.T) {
	key := []byte("01234567")
	sealed := func(b []byte) []byte {
		binary.LittleEndian.PutUint32(b, timequeue.Sum(key, b[4:]))
		return b
	}
	want := HostRecord{ID: hostKey(key), Name: "http://a", Politeness: []byte("p"), AskedAt: moment(1000), GivenUp: 3,
		Errors:  map[string]uint64{"CONNECT_REFUSED": 2, "HTTP 503": 1},
		Failure: Failure{At: moment(999), Status: 503, Reason: 4, Says: "connection refused"}}
	for _, cookies := range []string{"", "\nsession=1; Path=/"} {
		for _, since := range []time.Time{moment(999), moment(7)} {
			if want.Failure.Since, want.Cookies = since, nil; cookies != "" {
				want.Cookies = []byte(cookies)
			}
			got, err := decodeHost(key, sealed(encodeHost(&want)))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v %v, not %+v", got, err, want)
			}
		}
	}
	bare := encodeHost(&HostRecord{Name: "http://a"})
	for n := 5; n < len(bare); n++ {
		if _, err := decodeHost(key, sealed(bare[:n:n])); err == nil {
			t.Errorf("%d of %d bytes are a record too", n, len(bare))
		}
	}
}

func TestDueTimesAreRoundedUp(t *testing.T) {
	p := Page{Next: time.Unix(1000, 1)}
	if got, _ := decodePage(appendPage(nil, &p)); !got.Next.Equal(time.Unix(1001, 0)) {
		t.Error(got.Next)
	}
}

func TestLoadSumsAreExact(t *testing.T) {
	for _, interval := range []float32{0.1, 1, 60, 3600, 86400, 400 * 86400} {
		if got, want := float64(loadOf(interval))/loadUnit, 1/math.Max(float64(interval),
			1); math.Abs(got-want) > want*1e-4 {
			t.Errorf("T = %v: %v, not %v", interval, got, want)
		}
	}
	for _, none := range []float32{0, -1, float32(math.NaN())} {
		if loadOf(none) != 0 {
			t.Errorf("T = %v: %v", none, loadOf(none))
		}
	}
}

func TestHostOfIsWhatTheURLSays(t *testing.T) {
	for _, raw := range []string{"http://a.example", "https://a.example:8443/x?y#z", "http://[::1]:81/",
		"http://a.example/?http://b.example/", "http://192.0.2.1/a@b", "http://例え.example/"} {
		u := weburl.MustParse(raw)
		if got := weburl.HostOf(u.String()); got != u.Host() {
			t.Errorf("weburl.HostOf(%s) = %s, not %s", u, got, u.Host())
		}
	}
	if got := weburl.HostOf("http://user:pw@a.example:81/"); got != "http://a.example:81" {
		t.Error(got)
	}
}

func TestLinksArePackedSmall(t *testing.T) {
	var links []outlink.Outlink
	plain := 0
	for i := range 40 {
		l := outlink.Outlink{URL: fmt.Sprintf("https://www.a.example/news/2026/article-%d.html", i*7919),
			Kind: outlink.Anchor, Flags: outlink.Followed, Anchor: fmt.Sprint("Article number ", i)}
		if i%4 == 0 {
			l.URL = fmt.Sprintf("https://other%d.example/", i)
		}
		links = append(links, l)
		plain += len(l.URL) + len(l.Anchor)
	}
	v, _ := encodeLinks(links)
	t.Logf("40 links of %d bytes are stored in %d", plain, len(v))
	if len(v) > plain/2 {
		t.Error("not packed")
	}
}

func FuzzDecode(f *testing.F) {
	at := time.Unix(1e9, 0)
	f.Add(appendPage(nil, &Page{URL: "http://a/", ETag: "x", LastVisit: at, Next: at}))
	f.Add(encodeHost(&HostRecord{Name: "http://a", Rates: []uint32{1, 2}, Politeness: []byte("p")})[4:])
	f.Add(encodeLease(&Lease{ID: 1, HostName: "h", Data: []byte("d")})[4:])
	f.Add(encodeParcel(&Parcel{Partition: 1, Candidates: []Candidate{{URL: "http://a/"}, {URL: "http://a/b"}}})[4:])
	few, _ := encodeLinks([]outlink.Outlink{{URL: "http://a/", Anchor: "a"}, {URL: "http://a/b"}})
	f.Add(few[4:])
	many, _ := encodeLinks(make([]outlink.Outlink, 200))
	f.Add(many[4:])
	f.Add([]byte(freshPosition(freshRef{})))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := decodePage(b); err == nil {
			if again, err := decodePage(appendPage(nil, &p)); err != nil || fmt.Sprint(again) != fmt.Sprint(p) {
				t.Errorf("%+v is read back as %+v, %v", p, again, err)
			}
		}
		if q, fresh := parsePosition(b); fresh != nil && !bytes.Equal(freshPosition(*fresh), b) || q != nil &&
			!bytes.Equal(queuePosition(*q), b) {
			t.Errorf("position %x", b)
		}
		// The rest stands behind a checksum: give it the right one.
		key := make([]byte, 16)
		decodeHost(key[:8], sealed(key[:8], b))
		decodeLease(key[:8], sealed(key[:8], b))
		sealed := sealed(key, b)
		decodeCounts(key, sealed)
		decodeRelaxation(key, sealed)
		if p, err := decodeParcel(key, sealed); err == nil {
			if again, err := decodeParcel(key, seal(key, encodeParcel(&p))); err != nil ||
				!reflect.DeepEqual(p, again) {
				t.Errorf("%+v is read back as %+v, %v", p, again, err)
			}
		}
		if links, err := decodeLinks(key, sealed); err == nil {
			set, _ := encodeLinks(links)
			if again, err := decodeLinks(key, seal(key, set)); err != nil ||
				!reflect.DeepEqual(links, again) {
				t.Errorf("%+v are read back as %+v, %v", links, again, err)
			}
		}
	})
}
