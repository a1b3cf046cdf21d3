package window

import (
	"testing"
	"time"
)

func TestWindowsOpenByTheClockOfTheirZone(t *testing.T) {
	for _, c := range []struct {
		sentence, window, at string
		open                 bool
		turn                 string
	}{
		{"by day", "Mon-Fri 09:00-17:00 UTC", "2026-03-02T09:00:00Z", true, "2026-03-02T17:00:00Z"},
		{"a minute before", "Mon-Fri 09:00-17:00 UTC", "2026-03-02T08:59:59Z", false, "2026-03-02T09:00:00Z"},
		{"over the weekend", "Mon-Fri 09:00-17:00 UTC", "2026-03-06T17:00:00Z", false, "2026-03-09T09:00:00Z"},
		{"Friday's night ends on Saturday", "Mon-Fri 22:00-06:00 Asia/Tokyo", "2026-03-07T05:00:00+09:00", true,
			"2026-03-07T06:00:00+09:00"},
		{"Saturday has no night", "Mon-Fri 22:00-06:00 Asia/Tokyo", "2026-03-07T23:00:00+09:00", false,
			"2026-03-09T22:00:00+09:00"},
		{"Sunday's night is not Monday's", "Mon-Fri 22:00-06:00 Asia/Tokyo", "2026-03-09T05:00:00+09:00", false,
			"2026-03-09T22:00:00+09:00"},
		{"days around the end of the week", "Sat-Mon 00:00-24:00 UTC", "2026-03-08T12:00:00Z", true,
			"2026-03-10T00:00:00Z"},
		{"whole days never close", "daily 00:00-24:00 UTC", "2026-03-08T12:00:00Z", true, ""},
		{"the hour that is left out in spring", "daily 02:30-03:30 Europe/Berlin", "2026-03-29T00:59:00Z", false,
			"2026-03-29T01:00:00Z"},
		{"the hour that comes twice in autumn", "daily 02:00-03:00 Europe/Berlin", "2026-10-25T01:30:00Z", true,
			"2026-10-25T02:00:00Z"},
		{"to midnight", "Wed 22:00-24:00 UTC", "2026-03-04T23:59:59Z", true, "2026-03-05T00:00:00Z"},
		{"words in any case", "MON,wed 22:00-24:00 UTC", "2026-03-04T23:59:59Z", true, "2026-03-05T00:00:00Z"},
	} {
		w, err := Parse(c.window)
		if err != nil {
			t.Errorf("%s: %v", c.sentence, err)
			continue
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		h := Hours{w}
		if h.Open(at) != c.open {
			t.Errorf("%s: open %v at %s", c.sentence, !c.open, c.at)
		}
		want := time.Time{}
		if c.turn != "" {
			if want, err = time.Parse(time.RFC3339, c.turn); err != nil {
				t.Fatal(err)
			}
		}
		if got := h.Turn(at); !got.Equal(want) {
			t.Errorf("%s: turns at %v, want %v", c.sentence, got, want)
		}
	}
	if !(Hours{}).Open(time.Now()) {
		t.Error("no hours at all are closed")
	}
}

func TestWhatIsNoWindow(t *testing.T) {
	for _, text := range []string{"", "Mon-Fri", "Mon-Fri 22:00-06:00", "Mon-Fri 22-06 UTC", "Tag 01:00-02:00 UTC",
		"daily 01:00-01:00 UTC", "daily 24:00-02:00 UTC", "daily 01:00-25:00 UTC", "daily 01:00-02:00 Mars/Base",
		"daily 01:00-02:00 Local", "Mon- 01:00-02:00 UTC", "daily 01:00-02:00 UTC please"} {
		if w, err := Parse(text); err == nil {
			t.Errorf("%q is a window: %+v", text, w)
		}
	}
}
