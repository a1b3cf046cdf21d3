package walk

import (
	"henro/actors/robots"
	"henro/messages"
	"henro/messages/weburl"
)

// maxHops is RFC 9309 2.3.1.2: at least five consecutive redirects are followed.
const maxHops = 5

// File is how far the rules of a host are known: robots.txt, behind its redirects, and tdmrep.json where it is obeyed.
// It is a value, and goes along with the answer that is parsed.
type File struct {
	Ask       weburl.URL    // what is to be asked for next; zero: nothing
	Rules     *robots.Rules // once they are whole
	Elsewhere bool          // robots.txt redirects to another host: the master asks there

	found *robots.Rules // of robots.txt, while tdmrep.json is asked for
	hops  int           // redirects followed
}

// TDM reports that what is asked for is tdmrep.json.
func (f *File) TDM() bool { return f.found != nil }

// Answered is the file after an answer, as the agent of that name reads it (RFC 9309 2.3.1). With tdm, tdmrep.json is
// asked for too.
func (f File) Answered(a *Answer, agent string, tdm bool) File {
	host, failed := f.Ask.Host(), a.Reason != messages.Reason_NONE
	rules := f.found
	switch {
	case f.TDM():
		if !failed && a.Status == 200 { // a file that cannot be fetched reserves nothing
			rules = f.found.Reserve(a.Body)
		}
		return File{Rules: rules}
	case !failed && a.Status >= 300 && a.Status < 400 && a.Location != "":
		if to, err := a.URL.Resolve(a.Location); err == nil && f.hops < maxHops {
			return File{Ask: to, Elsewhere: to.Host() != host, hops: f.hops + 1}
		}
		rules = robots.AllowAll() // 2.3.1.2: a file not reached by then may be taken as unavailable
	default:
		rules = robots.Judge(a.Status, failed, a.Body, agent)
	}
	if tdm && !rules.Unreachable() {
		if to, err := weburl.Parse(host + robots.TDMFile); err == nil {
			return File{Ask: to, found: rules}
		}
	}
	return File{Rules: rules}
}
