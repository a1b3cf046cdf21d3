package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what a server may ask for: a day is as long as politeness backs off; a typo must not silence a
// host.
const maxRetryAfter = 24 * time.Hour

// RetryAfter reads a Retry-After header (RFC 9110 10.2.3): seconds, or a date, which is measured from the server's own
// Date if it sent one, since its clock need not be ours. What cannot be read, or lies in the past, asks for nothing.
func RetryAfter(value, date string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(value, 10, 63); err == nil {
		if seconds > uint64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	if strings.Trim(value, "0123456789") == "" { // a number beyond all numbers
		return maxRetryAfter
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(date); err == nil {
		now = theirs
	}
	return min(max(0, at.Sub(now)), maxRetryAfter)
}
