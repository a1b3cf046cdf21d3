package fakeweb

import "errors"

var (
	// ErrOptions is returned by New for options that contradict themselves.
	ErrOptions = errors.New("fakeweb: options")
	// ErrClosed is returned by DialContext after Close.
	ErrClosed = errors.New("fakeweb: closed")
	// ErrUnknownURL is returned for a URL that is on no host of this web.
	ErrUnknownURL = errors.New("fakeweb: URL of no host here")
	// ErrTooMany is returned by Reachable when the crawl would fetch more URLs than its limit.
	ErrTooMany = errors.New("fakeweb: more URLs reachable than the limit")
)
