package config

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"google.golang.org/protobuf/proto"

	"henro/actors/admission"
	"henro/actors/host"
	"henro/actors/politeness"
	"henro/actors/reading"
	"henro/actors/revisit"
	"henro/actors/scope"
	"henro/actors/traps"
	"henro/master"
	"henro/master/frontier"
	"henro/master/window"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/slave/fetch"
	"henro/store"
)

// Crawl is what the flags of a crawl say: those of henro crawl and henro-master.
type Crawl struct {
	Dir          string
	SeedFile     string
	Depth        int
	Scope        string
	Include      []string
	Exclude      []string
	TLD          []string
	StopList     string
	Contact      string
	Delay        time.Duration
	OwnHosts     bool
	Profile      string
	Retries      int
	Patience     time.Duration
	Fetch        *messages.FetchSettings
	AllowPrivate Networks // of Fetch
	Pages        uint64
	For          time.Duration
	Bytes        Bytes
	Continuous   bool
	Again        bool
	Every        time.Duration
	Windows      []string
	Relief       string
	Revisit      revisit.Options
	Sitemaps     string
	Politeness   string
	Parallel     []string
	Behaviour    []string
	Near         string
	Mime         string
	URLRules     string
	Aliases      string
	PageBudget   int
	Topic        []string // files
	Frontier     string
	Order        string
	Admission    admission.Options
	HostPages    uint64
	Traps        bool
	StopAfter    int
	Watches      bool                // a watch of pages: no link is followed, and all are visited again
	definition   *reading.Definition // by Define
	follows      bool                // by Define: it follows a crawl, whose settings may come later
}

// Register adds the flags, with the defaults of the options that they set.
func (c *Crawl) Register(f *pflag.FlagSet) {
	o := master.DefaultOptions()
	f.StringVar(&c.Dir, "dir", "crawl", "state and archive: `DIR`/state, /warc, /logs; the same directory resumes")
	f.StringVar(&c.SeedFile, "seeds", "",
		"seeds, one URL a line, # comments, optional depth=N behind it; - is standard input (`FILE`)")
	f.IntVar(&c.Depth, "depth", o.Depth, "links followed from a seed; -1 is without limit")
	f.StringVar(&c.Scope, "scope", "host", "how far from the seeds: host, domain, prefix or any")
	f.StringArrayVar(&c.Include, "include", nil, "only URLs that match this `REGEXP` (repeatable)")
	f.StringArrayVar(&c.Exclude, "exclude", nil, "no URLs that match this `REGEXP` (repeatable)")
	f.StringArrayVar(&c.TLD, "tld", nil, "only hosts below this top-level domain, for example jp (repeatable)")
	f.StringVar(&c.StopList, "stop-list", "", "`FILE` of hosts and URL prefixes never to be visited, one a line")
	f.StringVar(&c.Contact, "contact", "",
		"URL or mail address by which the operators of hosts reach you; required for public hosts")
	f.DurationVar(&c.Delay, "delay", politeness.DefaultOptions().Floor,
		"least time between two requests to a host; 0 only for private addresses or with --i-own-these-hosts")
	f.BoolVar(&c.OwnHosts, "i-own-these-hosts", false, "the hosts are yours: --delay 0 is allowed")
	f.StringVar(&c.Profile, "profile", "polite",
		"pace of a crawl: polite, or archive (a minute between requests, 5 s for large hosts)")
	f.StringVar(&c.Politeness, "politeness", string(o.Unit),
		"what shares one clock: host, ip (all names of one address) or domain (all names of one registrable domain)")
	f.StringArrayVar(&c.Parallel, "parallel", nil,
		fmt.Sprintf("how many requests may be under way at once, %d at most, where the operator of a host consents: "+
			"`HOST=N`, with HOST as for --cookies (repeatable)", politeness.MaxParallel))
	f.IntVar(&c.Retries, "retries", o.Hosts.Retries, "failed visits of a page before it is given up")
	f.DurationVar(&c.Patience, "patience", o.Hosts.Patience,
		"longest rest of a failing host that the crawl waits for; if the host asks for more, its pages are given up. "+
			"0 is no limit, and there is none with --continuous")
	c.Fetch = o.Fetch
	fetchFlags(f, c.Fetch, &c.AllowPrivate, &c.Mime)
	f.StringArrayVar(&c.Behaviour, "behaviour", nil, "a script that is run in the pages of HOST when they are "+
		"rendered, behind what scrolls and unfolds them: `HOST=FILE`, with HOST as for --cookies (repeatable)")
	c.Admission = o.Hosts.Admission
	c.Admission.Flags(f)
	f.BoolVar(&c.Traps, "traps", true,
		"leave out URLs that look like one of endless many: too long, too deep, repeated, under ever new session ids")
	f.IntVar(&c.StopAfter, "stop-after", -1,
		fmt.Sprintf("leave a folder alone, for a day or longer, after so many broken pages in a row; 0 is never, -1 "+
			"is %d with --continuous and never without. 1 is the rule of the thesis: one page that is missing, moved "+
			"or too slow is enough", o.Hosts.Stop.MinBroken))
	f.Uint64Var(&c.HostPages, "host-pages", o.Hosts.MaxPages,
		"most pages of one host; 0 is no limit, and there is none with --continuous")
	f.Uint64Var(&c.Pages, "pages", 0,
		"stop after so many pages, once their requisites are there too (exit code 16)")
	f.DurationVar(&c.For, "for", 0, "stop after so long (exit code 15)")
	f.Var(&c.Bytes, "bytes", "stop after so much payload, for example 10GB (exit code 14)")
	f.BoolVar(&c.Again, "again", false,
		"make a round: visit all pages that the crawl knows once more, and what is found new, then end; an "+
			"interrupted round goes on")
	f.Var((*revisit.Span)(&c.Every), "every", "with --again: stay, and begin a round every so often: 12h, 7d")
	f.StringArrayVar(&c.Windows, "window", nil,
		"ask hosts only within these `HOURS`, such as \"Mon-Fri 22:00-06:00 Asia/Tokyo\" (repeatable; default: always)")
	f.BoolVar(&c.Continuous, "continuous", false, "keep revisiting")
	f.StringVar(&c.Sitemaps, "sitemaps", "auto",
		"read the sitemaps that robots.txt names and the feeds met on the way, visit what they name and, with "+
			"--continuous, follow what they say has changed: on, off, or auto, which is on with --continuous (without "+
			"it --depth alone says what is reached)")
	f.StringVar(&c.Relief, "relief", o.Hosts.Relief.String(),
		"what is done when the pages of a host ask for more visits than it bears: none, stretch, delay, template, or "+
			"shared out so that as many versions as possible are captured (optimal), as many with news (news: what "+
			"henro watch or --changes holds for noise is no change), as many pages as possible are as they are now "+
			"(freshness) or no page falls far behind (age)")
	c.Revisit = o.Hosts.Revisit
	c.Revisit.Flags(f)
	f.StringVar(&c.Near, "near", "off",
		"compare main texts: mark notes with a page which other had its text, or nearly that, first, for some 1.5 kB "+
			"more written a page; off compares nothing")
	f.StringVar(&c.URLRules, "url-rules", "off",
		"differences between URLs of a host that do not change the page: learn finds them (henro host), apply also "+
			"visits each page under one URL, with a few visits that test it; off does neither")
	f.StringVar(&c.Aliases, "aliases", "off",
		"hosts that answer the same pages under the same paths as another: mark says which they are (henro host "+
			"alias), and compares pages as --near mark does")
	f.IntVar(&c.PageBudget, "page-budget", o.Hosts.PageBudget,
		"visits of one lease at most; no more than 1000 while more than four hosts have pages")
	f.StringVar(&c.Frontier, "frontier", string(o.Frontier.Policy),
		"what is visited next: host (hosts take turns, all URLs are kept), ranked, which keeps two million waiting "+
			"URLs and drops the rest until they turn up again, thesis (tasks of three URLs drawn at random; "+
			"--depth counts anew from each) or thesis-whole (all hosts of a task go to one slave)")
	f.StringVar(&c.Order, "order", string(o.Order),
		"which of a host's URLs go first: breadth (depth), inlinks (links seen so far) or opic (rank received so far)")
	f.StringArrayVar(&c.Topic, "topic", nil,
		"visit first what is about the topic in `FILE`: one term a line, in any language, optional weight=N behind "+
			"it, or an example page in HTML (repeatable); without --continuous and --again this is --frontier ranked, "+
			"unless another is given")
}

// thesis is the policy under which hosts take turns, and tasks drawn at random say which of their pages are visited.
const thesis = "thesis"

// leastLease is how long a slave may be silent at least; else it is as long as one fetch may take, up to the default.
const leastLease = 6 * time.Second

// retryWait is the time before the first retry: twelve times that between requests.
func (c *Crawl) retryWait() time.Duration {
	return min(max(12*c.Delay, time.Second), host.DefaultOptions().RetryWait)
}

// taskURLs are the URLs of a task of --frontier thesis.
const taskURLs = 3

// Options makes the options of the master out of the flags. It touches nothing but the stop list file.
func (c *Crawl) Options(flags *pflag.FlagSet) (master.Options, error) {
	o := master.DefaultOptions()
	if err := checkWords(flags); err != nil {
		return o, err
	}
	mode, err := scope.ParseMode(c.Scope)
	switch {
	case err != nil:
		return o, Usage("--scope: %v", err)
	case c.Delay < 0:
		return o, Usage("--delay %v: want 0 or more", c.Delay)
	case c.Delay == 0 && !c.AllowPrivate.Any() && !c.OwnHosts:
		return o,
			Usage("--delay 0 is for hosts of your own: add --i-own-these-hosts or --allow-private, or give a delay")
	case c.Contact == "" && !c.AllowPrivate.Any() && !c.follows:
		return o, Usage("public hosts must be able to reach you: give --contact with a URL or a mail address")
	case c.Depth < -1 || c.Depth >= outlink.UnlimitedDepth:
		return o, Usage("--depth %d: want 0 to %d, or -1 for no limit", c.Depth, outlink.UnlimitedDepth-1)
	}
	o.Fetch = proto.CloneOf(c.Fetch)
	if err := errors.Join(checkContact(c.Contact), checkFetch(o.Fetch),
		checkSecrets(o.Fetch, c.Politeness)); err != nil {
		return o, err
	}
	o.Fetch.UserAgent, o.Fetch.Operator, o.Fetch.HtmlOnly = UserAgent(c.Contact), c.Contact, c.Mime == "html"
	portals, err := readLines(c.StopList)
	if err != nil {
		return o, Usage("--stop-list: %v", err)
	}
	for i, line := range portals {
		portals[i] = strings.Fields(line)[0] // a comment may stand behind it
	}
	o.Dir, o.Depth, o.Definition = c.Dir, c.Depth, c.definition
	o.Scope = scope.Options{Mode: mode, Include: c.Include, Exclude: c.Exclude, TLDs: c.TLD, Portals: portals}
	if _, err := scope.New(o.Scope); err != nil {
		return o, Usage("%v", err)
	}
	follows := c.Derived(flags)
	if o.Hosts.Politeness, err = c.politeness(follows["delay"] == ""); err != nil {
		return o, err
	}
	switch {
	case c.Again && c.Continuous:
		return o, Usage("--again makes one round and ends, --continuous visits each page at its own time: " +
			"give one of them")
	case c.Every != 0 && !c.Again:
		return o, Usage("--every %s is for rounds: add --again", (*revisit.Span)(&c.Every))
	case c.Every != 0 && c.Every < time.Minute:
		return o, Usage("--every %s: want 1m or more", (*revisit.Span)(&c.Every))
	case c.Revisit.Min < time.Minute:
		return o, Usage("--revisit-min %v: want 1m or more, which is what the time queue resolves", c.Revisit.Min)
	}
	for _, text := range c.Windows {
		w, err := window.Parse(text)
		if err != nil {
			return o, Usage("--window %q: %v", text, err)
		}
		o.Hours = append(o.Hours, w)
	}
	if o.Hosts.Parallel, err = atOnce(c.Parallel); err != nil {
		return o, err
	}
	if o.Fetch.Behaviours, err = behaviours(c.Behaviour); err != nil {
		return o, err
	}
	if follows["browser"] != "" {
		o.Fetch.Browser = "off"
	}
	o.Hosts.Again, o.RoundEvery = c.Again, c.Every
	o.Hosts.Continuous, o.Hosts.Retries, o.Hosts.RetryWait, o.Hosts.Patience, o.Hosts.PageBudget = c.Continuous,
		c.Retries, c.retryWait(), c.Patience, c.PageBudget
	o.Hosts.Revisit, o.Hosts.Relief = c.Revisit, politeness.Optimal
	o.Fetch.News = c.Relief == "news"
	if o.Hosts.Revisit.Objective.Set(c.Relief) != nil && !o.Fetch.News {
		if o.Hosts.Relief, err = politeness.ParseRelief(c.Relief); err != nil {
			return o, Usage("--relief: %v", err)
		}
	}
	if err := o.Hosts.Revisit.Validate(); err != nil {
		return o, Usage("--revisit-…, --aim: %v", err)
	}
	o.Hosts.Sitemaps, o.Unit = c.Sitemaps == "on" || follows["sitemaps"] != "", master.Unit(c.Politeness)
	o.Hosts.Aliases, o.Fetch.Near = c.Aliases == "mark", c.Near == "mark"
	o.Hosts.URLRules = host.URLRuleMode(slices.Index(words["url-rules"], c.URLRules))
	if !o.Fetch.Near && !o.Hosts.Aliases {
		o.Store.Contents = 0
	}
	o.MaxPages, o.MaxBytes, o.For, o.Hosts.MaxPages = c.Pages, uint64(c.Bytes), c.For, c.HostPages
	o.LeaseFor = min(max(time.Duration(c.Fetch.FetchTimeoutNs), leastLease), o.LeaseFor)
	o.Frontier.Policy, o.Order, o.Hosts.Admission = frontier.Policy(c.Frontier), frontier.Order(c.Order), c.Admission
	if policy, whole := strings.CutSuffix(c.Frontier, "-whole"); policy == thesis {
		o.Frontier.Policy, o.TaskURLs, o.Whole = frontier.PolicyHost, taskURLs, whole
	}
	switch {
	case len(c.Topic) > 0:
		if o.Hosts.Admission.Topic, err = readTopic(c.Topic); err != nil {
			return o, Usage("--topic: %v", err)
		}
		if follows["frontier"] != "" {
			o.Frontier.Policy = frontier.PolicyRanked
		}
	case c.Admission.TopicMin > 0:
		return o, Usage("--topic-min needs a --topic: give the file with its words")
	}
	if err := o.ValidateOrder(); err != nil {
		return o, Usage("%v", err)
	}
	o.Hosts.Admission.ObeyNofollow = follows["obey"] != "" || slices.Contains(o.Fetch.Obey, "nofollow")
	if !c.Traps {
		o.Hosts.Admission.Traps = traps.Options{}
	}
	if follows["requisites"] != "" {
		o.Hosts.Admission.Requisites = 0
	}
	if err := o.Hosts.Admission.Validate(); err != nil {
		return o, Usage("--topic-min: %v", err)
	}
	if c.StopAfter >= 0 || follows["stop-after"] != "" {
		o.Hosts.Stop.MinBroken = max(c.StopAfter, 0)
	}
	if err := o.Hosts.Stop.Validate(); err != nil {
		return o, Usage("--stop-after: %v", err)
	}
	return o, nil
}

// Derived is what follows from other settings: of each that is not as its flag says, what it is and why.
func (c *Crawl) Derived(flags *pflag.FlagSet) map[string]string {
	all, free := map[string]string{}, func(name string) bool { return !flags.Changed(name) }
	so := func(holds bool, setting, why string) {
		if holds {
			all[setting] = ": " + why
		}
	}
	so(free("delay") && c.Profile != "polite", "delay", "as --profile "+c.Profile+" has it")
	so(c.Sitemaps == "auto" && c.Continuous, "sitemaps", "on, as --continuous uses what they say of changes")
	so(free("frontier") && len(c.Topic) > 0 && !c.Continuous && !c.Again, "frontier", "ranked, by the --topic")
	so(c.Scope == scope.Any.String(), "obey", "nofollow too, as --scope any leads wherever strangers have put links")
	so(free("requisites") && c.Mime == "html", "requisites", "none, as --mime html would not archive them")
	so(free("browser") && (c.Admission.Requisites == 0 || all["requisites"] != ""), "browser",
		"off, as what scripts ask for would be requisites")
	so(c.StopAfter < 0 && !c.Continuous, "stop-after", "0, as nothing is visited again without --continuous")
	return all
}

// atOnce reads how many requests may be under way at once to which hosts.
func atOnce(consents []string) (map[string]int, error) {
	all := make(map[string]int, len(consents))
	for _, text := range consents {
		name, number, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(number)
		if err == nil && (n < 1 || n > politeness.MaxParallel) {
			err = fmt.Errorf("want 1 to %d", politeness.MaxParallel)
		}
		if err := errors.Join(err, checkHosts(name)); err != nil {
			return nil, Usage("--parallel %q: want HOST=N: %v", text, err)
		}
		all[name] = n
	}
	return all, nil
}

// politeness makes the pace of a crawl out of the flags.
func (c *Crawl) politeness(asDelay bool) (o politeness.Options, err error) {
	if o, err = politeness.Profile(c.Profile); err != nil {
		return o, Usage("--profile: %v", err)
	}
	if asDelay {
		o.Floor = c.Delay
		if c.Delay == 0 {
			o.LargeHostFloor = 0
		}
	}
	o.BackoffBase = c.retryWait()
	o.BackoffCap = max(o.BackoffCap, o.BackoffBase)
	if err := o.Validate(); err != nil {
		return o, Usage("%v", err)
	}
	return o, nil
}

// Names gives the master what finds the addresses of names, by the same table and resolver as slaves have, if it needs
// to know them. Call end when the master has ended.
func (c *Crawl) Names(o *master.Options) (end func(), err error) {
	if o.Unit != master.UnitIP {
		return func() {}, nil
	}
	names, err := fetch.NewNames(fetch.Options{UserAgent: o.Fetch.UserAgent, Resolve: o.Fetch.Resolve,
		DNS: o.Fetch.Dns})
	if err != nil {
		return nil, Usage("%v", err)
	}
	o.Lookup = names.Addresses
	return names.Close, nil
}

// Begins refuses a new crawl without seeds, unless it may wait for them, and seeds in a private network that is not
// allowed. It comes before Options, so that an error in the seeds is shown before what else the crawl lacks.
func (c *Crawl) Begins(seeds []reading.Seed, waits bool) error {
	if len(seeds) == 0 && !waits && !store.Exists(filepath.Join(c.Dir, "state")) {
		return Usage("nothing to crawl: give a seed such as https://example.org/, --seeds FILE, or the --dir of a " +
			"crawl to resume")
	}
	for _, seed := range seeds {
		name := strings.Trim(seed.URL.Hostname(), "[]")
		addr, err := netip.ParseAddr(name)
		private := err == nil && (addr.IsLoopback() || addr.IsPrivate()) || name == "localhost" ||
			strings.HasSuffix(name, ".localhost")
		if private && !c.AllowPrivate.Any() {
			return Usage("%s is in a private network: add --allow-private to fetch there", seed.URL)
		}
	}
	return nil
}

// buildVersion is that of the programs; main packages set it before anything else.
var buildVersion = "dev"

// SetVersion sets the version that the User-Agent carries. If the linker gave none, it is that of the module, which
// go install PATH@VERSION leaves in the program.
func SetVersion(v string) {
	info, ok := debug.ReadBuildInfo()
	if ok && v == buildVersion && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v = info.Main.Version
	}
	buildVersion = v
}

// Version is what SetVersion has made of it.
func Version() string { return buildVersion }

// UserAgent is what hosts see: who crawls, with what, and where to complain.
func UserAgent(contact string) string {
	if contact == "" {
		return "henro/" + buildVersion
	}
	return fmt.Sprintf("henro/%s (+%s)", buildVersion, contact)
}

func checkContact(contact string) error {
	switch {
	case contact == "":
		return nil
	case strings.ContainsAny(contact, "\r\n()"):
		return Usage("--contact %q: want one URL or mail address", contact)
	case strings.Contains(contact, "@"):
		return nil
	}
	if u, err := url.Parse(contact); err != nil || u.Host == "" {
		return Usage("--contact %q is neither a URL (https://…) nor a mail address", contact)
	}
	return nil
}

// Seeds reads the seeds of the arguments and of --seeds. A seed that cannot be read is bad usage. A network or an
// address among the arguments is no seed: it was written behind --allow-private without an = between them.
func (c *Crawl) Seeds(arguments []string, stdin io.Reader) ([]reading.Seed, error) {
	var seeds []reading.Seed
	for _, raw := range arguments {
		if isNetwork(raw) && c.AllowPrivate.Any() {
			if err := c.AllowPrivate.Set(raw); err != nil {
				return nil, Usage("--allow-private: %v", err)
			}
			continue
		}
		seed, err := ParseSeed(raw, c.Depth)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, seed)
	}
	if c.SeedFile == "" {
		return seeds, nil
	}
	return seeds, EachLine("seeds", c.SeedFile, stdin, func(line string) error {
		seed, err := ParseSeed(line, c.Depth)
		seeds = append(seeds, seed)
		return err
	})
}

// EachLine takes the lines of the file that a flag names, - for standard input, without empty ones and # comments. What
// it does not take is bad usage, by the number of the line.
func EachLine(flag, name string, stdin io.Reader, take func(line string) error) error {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return Usage("--%s: %v", flag, err)
		}
		defer f.Close()
		in = f
	}
	// Programs of Windows put a mark before the first letter, which says that the text is UTF-16, or UTF-8.
	lines := bufio.NewScanner(transform.NewReader(in, unicode.BOMOverride(transform.Nop)))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), " #")
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := take(line); err != nil {
			return Usage("--%s %s, line %d: %v", flag, name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return Usage("--%s %s: %v", flag, name, err)
	}
	return nil
}

// ParseSeed reads a seed: a URL, and perhaps depth=N behind it in the place of the depth given.
func ParseSeed(line string, depth int) (reading.Seed, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return reading.Seed{}, Usage("an empty seed: want a URL such as https://example.org/")
	}
	raw := words[0]
	for _, word := range words[1:] {
		value, ok := strings.CutPrefix(word, "depth=")
		n, err := strconv.Atoi(value)
		if !ok || err != nil || n < -1 {
			return reading.Seed{}, Usage("seed %q: behind its URL stands %q, where only depth=N may; "+
				"a space in a URL is %%20", line, word)
		}
		depth = n
	}
	if !strings.Contains(raw, "://") {
		return reading.Seed{}, Usage("seed %q has no scheme: write https://%s", raw, raw)
	}
	u, err := weburl.Parse(raw)
	if err != nil {
		return reading.Seed{}, Usage("seed %q: %v", raw, err)
	}
	return reading.Seed{URL: u, Depth: depth}, nil
}

// Bytes is a size that people write as 10GB, 512MiB or 4096.
type Bytes int64

// Set reads a size.
func (b *Bytes) Set(text string) error {
	n, err := humanize.ParseBytes(strings.TrimSpace(text))
	if err != nil || n > 1<<62 {
		return errors.New("want a size such as 64MiB or 10GB")
	}
	*b = Bytes(n)
	return nil
}

// String writes the size in the largest unit that divides it.
func (b *Bytes) String() string {
	for _, unit := range []string{"TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB", "KB"} {
		factor, _ := humanize.ParseBytes("1" + unit)
		if uint64(*b) >= factor && uint64(*b)%factor == 0 {
			return fmt.Sprintf("%d%s", uint64(*b)/factor, unit)
		}
	}
	return strconv.FormatUint(uint64(*b), 10)
}

func (*Bytes) Type() string { return "size" }
