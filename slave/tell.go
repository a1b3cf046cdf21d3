package slave

import "strconv"

// What the messages within a slave are about, for those who trace them; each says the lease before the URL under it.

func tell(each func(key, value string) bool, lease uint64, host, url string) bool {
	if lease != 0 && !each("lease", strconv.FormatUint(lease, 10)) {
		return false
	}
	if host != "" && !each("host", host) {
		return false
	}
	return url == "" || each("url", url)
}

// Tell says what was fetched.
func (f *fetched) Tell(each func(key, value string) bool) bool {
	return tell(each, 0, "", f.response.URL.String())
}

// Tell says what is to be parsed.
func (p *parse) Tell(each func(key, value string) bool) bool {
	return tell(each, p.task.Lease, p.task.Host, p.response.URL.String())
}

// Tell says what the fact is of.
func (f *factMade) Tell(each func(key, value string) bool) bool {
	return tell(each, f.lease, f.Message.GetHost(), f.Message.GetVisited().GetUrl())
}
