package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/text/language"

	"henro/actors/robots"
	"henro/messages"
	"henro/slave/fetch"
)

// fetchFlags adds a flag for each of the rules by which slaves fetch and archive pages, with its value as it is for a
// default. The rules go to every slave as they are.
func fetchFlags(f *pflag.FlagSet, r *messages.FetchSettings, private *Networks, mime *string) {
	f.DurationVar((*time.Duration)(&r.FetchTimeoutNs), "fetch-timeout", time.Duration(r.FetchTimeoutNs),
		"hard total time of one fetch, from dial to last byte; a slave may be silent for as long, 6s to 1m, before "+
			"its hosts are given to others")
	f.Var((*Bytes)(&r.MaxBody), "max-body", "largest body kept; the rest is cut off")
	f.StringArrayVar(&r.Resolve, "resolve", nil, "where a name lives, as in curl: `HOST:PORT:ADDR` (repeatable)")
	f.StringVar(&r.Dns, "dns", "", "ask this resolver instead of the system's (`ADDR[:PORT]`)")
	private.rules = r
	f.Var(private, "allow-private",
		"fetch from loopback and private addresses too, or from those of these networks alone, such as 10.1.0.0/16; "+
			"link-local addresses and metadata services of clouds, such as 169.254.169.254, must be named one by one "+
			"(repeatable)")
	f.Lookup("allow-private").NoOptDefVal = "true"
	f.BoolVar(&r.VerifyTls, "verify-tls", false, "a certificate that does not verify is a failure, not just noted")
	f.StringArrayVar(&r.Obey, "obey", nil,
		"do not archive pages whose publisher says no to this `USE`: "+strings.Join(robots.Uses(), ", ")+", or that "+
			"say noindex (their links are followed); nofollow: follow no links that say so, as always with --scope "+
			"any; tdm asks each host for a file more (repeatable)")
	f.StringArrayVar(&r.Languages, "lang", nil,
		"archive pages in this language only, for example ja, and those whose language is unknown (repeatable)")
	f.BoolVar(&r.Http1, "http1", false, "do not offer HTTP/2: every capture has the exact bytes that came")
	f.StringVar(mime, "mime", "all", "what to archive of the pages visited: all, or html")
	f.StringVar(&r.Browser, "browser", "auto",
		"run the scripts of pages in Chromium, if there is one, on what is archived: auto (where they are needed: a "+
			"sample of each kind of page shows it), all or off")
	f.StringArrayVar(&r.Render, "render", nil,
		"run the scripts of pages that match this `REGEXP` in any case (repeatable)")
	secretFlags(f, r)
}

// checkFetch says what makes no sense, and writes languages in their one form.
func checkFetch(r *messages.FetchSettings) error {
	if _, err := fetch.ParseTable(r.Resolve); err != nil {
		return Usage("--resolve: %v", err)
	}
	for _, use := range r.Obey {
		if !slices.Contains(robots.Uses(), use) && use != "noindex" && use != "nofollow" {
			return Usage("--obey %q: want one of %s, noindex, nofollow", use, strings.Join(robots.Uses(), ", "))
		}
	}
	for i, lang := range r.Languages {
		base, err := language.ParseBase(lang)
		if err != nil {
			return Usage("--lang %q: want the code of a language, such as ja", lang)
		}
		r.Languages[i] = base.String() // ISO 639-1 where it has one: jpn is ja
	}
	for _, text := range r.Render {
		if _, err := regexp.Compile(text); err != nil {
			return Usage("--render %q: %v", text, err)
		}
	}
	if r.FetchTimeoutNs <= 0 || r.MaxBody <= 0 {
		return Usage("--fetch-timeout %v, --max-body %v: want more than nothing", time.Duration(r.FetchTimeoutNs),
			(*Bytes)(&r.MaxBody))
	}
	return nil
}

// maxBehaviour bounds a script of the user's, which goes to every slave.
const maxBehaviour = 256 << 10

// behaviours reads the scripts of the user's, each for the pages of some hosts.
func behaviours(given []string) (scripts []*messages.Header, err error) {
	for _, text := range given {
		hosts, file, _ := strings.Cut(text, "=")
		script, err := os.ReadFile(file)
		if len(script) > maxBehaviour {
			err = fmt.Errorf("the script has %d bytes: want at most %d", len(script), maxBehaviour)
		}
		if err := errors.Join(checkHosts(hosts), err); err != nil {
			return nil, Usage("--behaviour %q: want HOST=FILE: %v", text, err)
		}
		scripts = append(scripts, &messages.Header{Name: hosts, Value: string(script)})
	}
	return scripts, nil
}
