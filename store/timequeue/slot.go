package timequeue

import (
	"cmp"
	"encoding/binary"
	"math"
	"time"
)

// Level is the width of a slot.
type Level uint8

// The levels, finest first. Rest is the one slot that never opens.
const (
	Minutes Level = iota
	Hours
	Days
	Rest
)

const (
	minute  = 1
	hour    = 60
	day     = 24 * hour
	horizon = 400 * day // what is due later is looked at again then
)

func (l Level) width() uint32 { return [...]uint32{minute, hour, day, 0}[l] }

// Slot is one bucket of time: all records due in the level's width before it opens. Times are minutes since 1970.
type Slot struct {
	Opens uint32 // from this minute on its records are due
	Level Level
}

// RestSlot holds the records for which no visit is planned.
var RestSlot = Slot{math.MaxUint32, Rest}

// wakes is the minute at which something is to be done about the slot: a coarse one is split one width before it
// begins.
func (s Slot) wakes() uint32 {
	if s.Level == Minutes {
		return s.Opens
	}
	return s.Opens - min(s.Opens, 2*s.Level.width())
}

const slotKeyLen = 5

func (s Slot) key() []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, slotKeyLen+4), s.Opens), byte(s.Level))
}

func slotOf(key []byte) Slot { return Slot{binary.BigEndian.Uint32(key), Level(key[4])} }

func (s Slot) compare(t Slot) int {
	if s.Opens != t.Opens {
		return cmp.Compare(s.Opens, t.Opens)
	}
	return int(s.Level) - int(t.Level)
}

// Resolution is how finely time is divided.
type Resolution uint8

// The resolutions. Hierarchical is the one to use, the others are for comparison: minutes until the end of the next
// hour, hours until the end of the next day, days beyond.
const (
	Hierarchical Resolution = iota
	ByMinute
	ByHour
	ByDay
)

// Slot says where a record due at a time (seconds since 1970, 0: never) goes, seen from a minute up to which slots have
// opened. It is a slot that has not opened.
func (r Resolution) Slot(due, opened uint32) Slot {
	if due == 0 {
		return RestSlot
	}
	m := due / 60
	if due%60 != 0 {
		m++
	}
	m = min(max(m, opened+1), opened+horizon)
	level := Minutes
	switch r {
	case ByHour:
		level = Hours
	case ByDay:
		level = Days
	case Hierarchical:
		// A minute that closes an hour belongs to it, hence the steps by one.
		if m-1 >= (opened/hour+2)*hour {
			level = Hours
		}
		if m-1 >= (opened/day+2)*day {
			level = Days
		}
	}
	w := level.width()
	return Slot{(m + w - 1) / w * w, level}
}

// splits lists the coarse slots that may hold records which now have finer ones, and have not opened.
func (r Resolution) splits(opened uint32) []Slot {
	if r != Hierarchical {
		return nil
	}
	h, d := opened/hour*hour, opened/day*day
	return []Slot{{h + hour, Hours}, {h + 2*hour, Hours}, {d + day, Days}, {d + 2*day, Days}}
}

// Minute is the minute up to which slots have opened at a time.
func Minute(now time.Time) uint32 {
	return uint32(min(max(now.Unix()/60, 0), math.MaxUint32/60))
}

// moment is when a minute begins.
func moment(m uint32) time.Time { return time.Unix(int64(m)*60, 0) }
