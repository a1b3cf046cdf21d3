// Package henro crawls from within a program, and reads what crawls have left.
//
// Crawl does what henro crawl does, with the same settings, the same politeness and the same directory: a crawl that a
// program has begun can be resumed, examined and replayed with the command, and the other way round. Open reads a
// crawl that is not running.
//
// What is exported here is the interface that versions of henro keep: from version 1 on it changes as semantic
// versioning says, before that with a note in CHANGELOG.md. All other packages of this module are its inside and
// change without notice, but for the type Summary, which keeps the names of summary.json.
package henro

import (
	"context"
	"io"
	"maps"
	"strings"

	"github.com/gocolly/colly/v2"
	"github.com/spf13/pflag"

	"henro/cmd/config"
	"henro/cmd/embedded"
	"henro/master"
)

// Options say what to crawl. The zero value of each field is a default, but for Seeds and Contact, which a new crawl
// needs.
type Options struct {
	// Dir holds state and archive: DIR/state, /warc, /logs. The same directory resumes. Empty: "crawl".
	Dir string
	// Seeds are URLs, each perhaps with " depth=N" behind it. A crawl that is resumed needs none.
	Seeds []string
	// Contact is the URL or mail address by which the operators of hosts reach you. Public hosts require it.
	Contact string
	// Settings are all others, by the names that they have in henro.yaml and as flags (docs/flags.md): "depth": 2,
	// "delay": "10s", "exclude": []string{`\.pdf$`}. No file and no environment is read. Nothing listens unless
	// "listen-http" says where.
	Settings map[string]any
	// Admit is a rule of your own: whether a link from one URL to another is taken. It is asked about links that all
	// other rules take, and not about seeds, by several goroutines at once, and must not wait. nil: there is no such
	// rule.
	Admit func(from, to string) bool
	// Colly adds callbacks of yours to a Collector, which makes one request at a time; it is called for each that is
	// made, some as many as there are requests at once. They see all requests of this process, also those for
	// robots.txt, sitemaps and what pages are shown with: the exact URL, User-Agent and Accept of the request, status
	// and header of the answer, a redirect too, and a copy of the first MiB of its body without content coding, in
	// which OnHTML and OnXML look. They run on the goroutine of the request, those of several requests at once, and the
	// next request to the host waits for them. They decide nothing: what they change in a request is not sent, what
	// they visit is not visited (see Admit), and all other settings of a Collector are set back. Abort makes a visit
	// one that failed; in OnResponseHeaders it leaves out the body. nil: there are none.
	Colly func(*colly.Collector)
	// Log receives warnings and errors, one line of JSON each; nil: they are in DIR/logs alone.
	Log io.Writer
}

// Summary says what a crawl did, as summary.json does. End says why it ended: "finished", "page limit" and so on.
type Summary = master.Summary

// Crawl crawls until nothing is left to visit, a limit is reached or the context ends. The crawl then lies in its
// directory, and the summary says why it ended. The error of a mistake in the options says what to do, and nothing was
// touched. When the context ends, what was fetched is stored and the error is that of the context. If an actor of henro
// fails for good, the process ends with code 5, and the same directory resumes.
func Crawl(ctx context.Context, o Options) (*Summary, error) {
	s := embedded.Settings{Log: config.Log{Level: "warn", JSON: true}}
	flags := pflag.NewFlagSet("henro", pflag.ContinueOnError)
	for _, group := range s.Groups() {
		group.Register(flags)
	}
	s.Run.HTTP.Listen, s.Run.Progress = "off", "off"
	settings := map[string]any{}
	maps.Copy(settings, o.Settings)
	for name, value := range map[string]string{"dir": o.Dir, "contact": o.Contact} {
		if value != "" {
			settings[name] = value
		}
	}
	if err := config.Set(flags, settings); err != nil {
		return nil, err
	}
	if err := s.Crawl.Define(flags, false, func(string) {}); err != nil {
		return nil, err
	}
	s.Crawl.Admission.Admit = o.Admit
	seeds, err := s.Crawl.Seeds(o.Seeds, strings.NewReader(""))
	if err != nil {
		return nil, err
	}
	log, err := s.Log.Logger()
	if err != nil {
		return nil, err
	}
	log.Logger.SetOutput(io.Discard)
	if o.Log != nil {
		log.Logger.SetOutput(o.Log)
	}
	status, err := s.Start(ctx, flags, seeds, &embedded.Crawl{Log: log, Colly: o.Colly})
	if err != nil {
		return nil, err
	}
	summary := master.SummaryOf(status)
	switch status.End {
	case master.PageLimit, master.TimeLimit, master.SizeLimit:
		return &summary, nil
	case master.Stopped:
		return &summary, context.Cause(ctx)
	}
	return &summary, config.EndError(ctx, summary)
}
