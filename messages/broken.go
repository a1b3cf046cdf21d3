package messages

// Words for what is broken about a page.
const (
	Missing = "missing" // there is none: 404, 410
	Failing = "failing" // the host cannot make it: 500, an answer that is not HTTP, a connection that breaks
	Slow    = "slow"    // it does not come in time
)

// Broken says what is broken about a page whose visit ended so; "" if nothing is, or the visit does not tell. A fault
// of the host proves nothing about the page: a name that does not resolve, a port that is closed, a host that asks for
// patience. Nor do redirects, which the thesis stopped at: today they are how hosts move.
func Broken(status uint32, reason Reason) string {
	switch reason {
	case Reason_NONE:
	case Reason_TIMEOUT:
		return Slow
	case Reason_CONNECTION_LOST, Reason_MALFORMED, Reason_HEADERS_TOO_LARGE:
		return Failing
	default:
		return ""
	}
	switch {
	case status == 404, status == 410:
		return Missing
	case status == 400, status >= 500 && status != 503:
		return Failing
	}
	return ""
}
