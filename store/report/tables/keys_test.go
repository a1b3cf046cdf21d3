package tables

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"henro/store"
)

// Keys sort as values do, and give them back.
func TestKeysSortAsValues(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	all := []Value{{}, integer(-1 << 63), integer(-1), boolean(false), boolean(true), integer(2),
		{Kind: Real, Real: math.Inf(-1)}, {Kind: Real, Real: -1.5}, {Kind: Real}, {Kind: Real, Real: 1e300},
		moment(noon), moment(noon.Add(500 * time.Millisecond)), text("a"), text("a\x00"), text("a\x00\x00"),
		text("a\x00b"), text("a\x01"), text("b")}
	var before []byte
	for i, v := range all {
		key := v.appendKey(nil)
		if i > 0 && i != 11 && bytes.Compare(before, key) >= 0 { // moments sort as texts
			t.Errorf("%v: %x is not behind %x", v, key, before)
		}
		before = key
		back, rest, err := takeKey(append(key, "rest"...))
		if err != nil || string(rest) != "rest" || back.String() != v.String() && v.Kind != Boolean {
			t.Errorf("%v is read as %v, %q, %v", v, back, rest, err)
		}
	}
	if key := (Value{Kind: Real, Real: math.NaN()}).appendKey(nil); !bytes.Equal(key, Value{}.appendKey(nil)) {
		t.Errorf("what is no number: %x", key)
	}
}

func TestADamagedKeyIsSaid(t *testing.T) {
	for _, key := range []string{"", "\x01", "\x01seven..", "\x02", "\x02seven..", "\x03", "\x03abc", "\x03a\x00\xff",
		"\x04", "\xff"} {
		if v, _, err := takeKey([]byte(key)); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%q is %v, %v", key, v, err)
		}
	}
}

func TestValuesAsText(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 5e8, time.UTC)
	for want, v := range map[string]Value{"2026-03-01T12:00:00Z": moment(at.Truncate(time.Second)),
		"true":                     boolean(true),
		"2026-03-01T12:00:00.500Z": moment(at), "false": boolean(false), "": fingerprintOf(0), "-3": integer(-3),
		"000000000000000a": fingerprintOf(10)} {
		if got := v.String(); got != want {
			t.Errorf("%+v is %q, want %q", v, got, want)
		}
	}
	if v := (&host{}).Value(len(hostColumns)); v != (Value{}) {
		t.Errorf("a column that is not there has %v", v)
	}
}
