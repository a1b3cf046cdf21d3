package watching

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"henro/actors/known"
	"henro/actors/reading"
	"henro/actors/revisit"
	"henro/cmd/config"
	"henro/cmd/feed"
	"henro/cmd/telling"
	"henro/master"
	"henro/master/watchlist"
	"henro/messages/ticks"
	"henro/messages/visible"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fsync"
	"henro/store/report/changes"
)

// noteName is the file in the directory of a crawl that says in which file the list is, and ownName the list of one
// whose list came otherwise.
const (
	noteName = "watch.list"
	ownName  = "list.txt"
)

// never is how often pages are visited that are not to be: the longest interval that there is.
const never = 10 * 365 * 24 * time.Hour

// live is the list of a run, which can be changed meanwhile.
type live struct {
	source   string   // the file of lines in which it is changed
	excluded []string // patterns of this run
	editing  sync.Mutex

	mu      sync.Mutex // guards what follows
	list    *List
	written time.Time            // when the source was written, as it was read
	gone    map[string]Page      // that were in the list in this run
	changed map[string]time.Time // when pages changed last
	misses  map[string]bool      // pages in whose last capture there is no text where their watches look
	waiting map[string]int       // hosts for which orders are left, and how often they were tried
	node    *master.Node
	feed    *feed.Feed
	again   context.CancelFunc // has the watches read again

	looked map[string]string // for which captures and watches it is known whether they miss; of keep alone
	turn   int               // the page that is looked at next; of keep alone
}

func newLive() live {
	return live{list: &List{}, gone: map[string]Page{}, changed: map[string]time.Time{}, waiting: map[string]int{},
		misses: map[string]bool{}, looked: map[string]string{}}
}

// latest is the file in which the list was; empty: there was none, or it is gone.
func (w *run) latest() string {
	name, err := os.ReadFile(filepath.Join(w.dir, noteName))
	if err != nil {
		return ""
	}
	path := strings.TrimSpace(string(name))
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// note notes where the list is. One that is no file of lines is changed in a file of its own.
func (w *run) note(name string) error {
	if !w.list.plain || name == "-" {
		w.source = filepath.Join(w.dir, ownName)
		if err := os.Remove(filepath.Join(w.dir, noteName)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	path, err := filepath.Abs(name)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		w.written = info.ModTime()
	}
	w.source = path
	return w.writeNote()
}

func (w *run) writeNote() error {
	if err := config.Dir(w.dir); err != nil {
		return err
	}
	path, err := filepath.Abs(w.source)
	if err != nil {
		return err
	}
	return fsync.WriteFile(filepath.Join(w.dir, noteName), []byte(path+"\n"), 0o666)
}

func (w *run) begins(again context.CancelFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.again = again
}

func (w *run) follows(f *feed.Feed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.feed = f
}

func (w *run) told(c *changes.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed[c.URL] = c.At
}

// latestChanges is of how many changes it is known at the start when they were.
const latestChanges = 10_000

// keep has pages visited as often as the list says, as soon as the crawl knows their hosts, and the list read again
// when somebody has changed its file, until the context ends.
func (w *run) keep(ctx context.Context, node *master.Node) {
	latest, err := changes.Recent(filepath.Join(w.dir, changes.Folder), latestChanges)
	for i := range slices.Backward(latest) {
		w.told(&latest[i])
	}
	if err != nil {
		fmt.Fprintf(w.says, "henro watch: %v\n", err)
	}
	w.mu.Lock()
	w.node = node
	for host := range w.list.byHost() {
		w.waiting[host] = 0
	}
	w.mu.Unlock()
	for ticks.Rest(ctx, retry) == nil {
		w.reread(ctx)
		w.mu.Lock()
		hosts := slices.Sorted(maps.Keys(w.waiting))
		list, gone := w.list, w.gone
		w.mu.Unlock()
		for _, host := range hosts {
			w.tryTime(ctx, node, host, list.with(gone))
		}
		for range min(lookedAtOnce, len(list.Pages)) {
			w.turn = (w.turn + 1) % len(list.Pages)
			w.look(node, list.Pages[w.turn].URL.String())
		}
	}
}

// lookedAtOnce is at how many pages of the list it is looked each second.
const lookedAtOnce = 100

// look looks whether a page has text where its watch looks. That it has none is said: nothing would ever be told of it.
func (w *run) look(node *master.Node, url string) {
	w.mu.Lock()
	f, was := w.feed, w.misses[url]
	w.mu.Unlock()
	found, err := node.Reading().Record(url)
	if f == nil || err != nil || found.Page.CapturedAt.IsZero() {
		return
	}
	settled := time.Since(found.Page.CapturedAt) > time.Minute // before, the index may have the capture before alone
	state := fmt.Sprintf("%p %x %t", f, found.Page.Digest, settled)
	if w.looked[url] == state {
		return
	}
	misses, err := f.Misses(url)
	if err != nil {
		return // it is not in the index yet
	}
	w.looked[url] = state
	if misses && !was {
		fmt.Fprintf(w.says, "henro watch: %s: no text where its selectors look; is it made by scripts (--browser)?\n",
			visible.Line(url))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.misses[url] = misses
}

// isPage reports whether a URL is in the list, or what it leads to: what pages are made of, as frames, is not watched.
func (w *run) isPage(url string) bool {
	w.mu.Lock()
	list, node := w.list, w.node
	w.mu.Unlock()
	if list.known[url] || node == nil {
		return true
	}
	found, err := node.Reading().Record(url)
	return err != nil || found.Page.Flags.Requisite() == 0
}

// refusedAfter is after how many tries it is said that an order is refused: hosts are known at their first visit.
const refusedAfter = 60

func (w *run) tryTime(ctx context.Context, node *master.Node, host string, pages map[string][]*Page) {
	err := retime(ctx, node, host, pages[host])
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		delete(w.waiting, host)
	} else if w.waiting[host]++; w.waiting[host] == refusedAfter {
		fmt.Fprintf(w.says, "henro watch: pages of %s are not visited as the list says yet: %v\n", visible.Line(host),
			err)
	}
}

// reread takes the list over when somebody has changed its file. What is wrong with it is said once.
func (w *run) reread(ctx context.Context) {
	w.editing.Lock()
	defer w.editing.Unlock()
	info, err := os.Stat(w.source)
	if err != nil || info.ModTime().Equal(w.written) || w.written.IsZero() {
		return
	}
	w.written = info.ModTime()
	text, err := os.ReadFile(w.source)
	if err == nil {
		err = w.take(ctx, string(text), false)
	}
	if err != nil {
		fmt.Fprintf(w.says, "henro watch: the list stays as it was: %s: %v\n", w.source, err)
	}
}

// byHost are the pages of a list by their hosts.
func (l *List) byHost() map[string][]*Page { return l.with(nil) }

// with are the pages of a list, and some that are not in it any more, by their hosts.
func (l *List) with(gone map[string]Page) map[string][]*Page {
	pages := map[string][]*Page{}
	for i := range l.Pages {
		host := l.Pages[i].URL.Host()
		pages[host] = append(pages[host], &l.Pages[i])
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		p := gone[name]
		pages[p.URL.Host()] = append(pages[p.URL.Host()], &p)
	}
	return pages
}

// retime has the pages of a host visited as often as a list says.
func retime(ctx context.Context, node *master.Node, host string, pages []*Page) error {
	crawl := node.Reading()
	has, err := known.Intervals(crawl.State.Partitions[crawl.State.PartitionOf(host)], host)
	if err != nil {
		return err
	}
	for _, posted := range orders(host, pages, has) {
		if _, err := node.Revisit(ctx, posted); err != nil {
			return err
		}
	}
	return nil
}

// every is how often a page is to be visited; 0: the timetable decides.
func (p *Page) every() time.Duration {
	if p.Paused {
		return never
	}
	return p.Every
}

// orders are those for pages of a host, whose watches are as they are: what is not wanted any more is taken back, then
// the most frequent interval is one for all pages, unless the timetable decides for some, and the others have one each.
func orders(host string, pages []*Page, has revisit.FixedIntervals) (orders []*master.RevisitPosted) {
	all := host + "/*"
	count, mine := map[time.Duration]int{}, map[string]bool{}
	var most time.Duration
	for _, p := range pages {
		mine[p.URL.String()] = true
		every := p.every()
		if count[every]++; count[every] > count[most] {
			most = every
		}
	}
	if count[0] > 0 {
		most = 0
	}
	wanted := map[string]time.Duration{}
	var names []string
	add := func(name string, every time.Duration) {
		if every > 0 {
			wanted[name], names = every, append(names, name)
		}
	}
	add(all, most)
	for _, p := range pages {
		if p.every() != most {
			add(p.URL.String(), p.every())
		}
	}
	for _, r := range has {
		name := string(r.Pages)
		if wanted[name] == 0 && (name == all || mine[name] || r.Every == never) {
			orders = append(orders, &master.RevisitPosted{Pages: name, Auto: true})
		}
		if wanted[name] == r.Every {
			delete(wanted, name)
		}
	}
	for _, name := range names {
		if every := wanted[name]; every > 0 {
			orders = append(orders, &master.RevisitPosted{Pages: name, Every: every})
		}
	}
	return orders
}

// take takes a list over: its file is written, if write says so, the crawl visits its pages as it says, and what
// changes on them is told by its watches. An error says what is wrong with it, and nothing is as it says then.
func (w *run) take(ctx context.Context, text string, write bool) error {
	list, err := ReadList(strings.NewReader(text))
	if err != nil {
		return err
	}
	watches, err := list.watches(w.dir)
	if err != nil {
		return err
	}
	w.mu.Lock()
	old, node := w.list, w.node
	gone := maps.Clone(w.gone)
	w.mu.Unlock()
	if node == nil {
		return errors.New("the crawl has not begun yet: try again")
	}
	before := map[string]Page{}
	for _, p := range old.Pages {
		before[p.URL.String()] = p
	}
	hosts := map[string]bool{}
	var seeds []reading.Seed
	for _, p := range list.Pages {
		name := p.URL.String()
		was, had := before[name]
		_, hadGone := gone[name]
		if !had || was.every() != p.every() {
			hosts[p.URL.Host()] = true
		}
		if !p.Paused && (!had && !hadGone || was.Paused) {
			seeds = append(seeds, reading.Seed{URL: p.URL})
		}
		delete(gone, name)
	}
	for name, p := range before {
		if !list.known[name] {
			p.Paused, hosts[p.URL.Host()] = true, true
			gone[name] = p
		}
	}
	waiting, err := w.retimeAll(ctx, node, hosts, list.with(gone), old.with(w.gone))
	if err != nil {
		return err
	}
	if write {
		if err := w.write(text); err != nil {
			return err
		}
	}
	if watches != nil {
		if err := list.writeWatches(w.dir); err != nil {
			return err
		}
	}
	if len(seeds) > 0 {
		if _, err := master.Ask[*master.SeedsAdded](ctx, node, &master.AddSeeds{Seeds: seeds}); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list, w.gone = list, gone
	for _, host := range waiting {
		w.waiting[host] = 0
	}
	if watches != nil && w.again != nil {
		w.again()
	}
	return nil
}

// retimeAll has pages of hosts visited as often as a list says, or as before, if that is refused. waiting are those
// that the crawl does not know yet.
func (w *run) retimeAll(ctx context.Context, node *master.Node, hosts map[string]bool,
	now, before map[string][]*Page) (waiting []string, err error) {
	for host := range hosts {
		switch err = retime(ctx, node, host, now[host]); {
		case errors.Is(err, store.ErrNotFound):
			waiting, err = append(waiting, host), nil
		case err != nil:
			for host := range hosts {
				_ = retime(ctx, node, host, before[host]) // what it was before was taken then
			}
			return nil, fmt.Errorf("%s: %w", host, err)
		}
	}
	return waiting, nil
}

// write writes the file of the list, and notes that it is there.
func (w *run) write(text string) error {
	if err := fsync.WriteFile(w.source, []byte(text), 0o666); err != nil {
		return err
	}
	if info, err := os.Stat(w.source); err == nil {
		w.written = info.ModTime()
	}
	return w.writeNote()
}

// text is the file of the list, or what it would be.
func (w *run) text() (string, error) {
	if !w.written.IsZero() {
		text, err := os.ReadFile(w.source)
		return string(text), err
	}
	var text strings.Builder
	for i := range w.list.Pages {
		p := &w.list.Pages[i]
		if len(p.Watch.Ignore)+len(p.Watch.Come) > 0 {
			return "", fmt.Errorf("the export that was read says of %s what a list cannot say: write a list of lines, "+
				"and the rest into watch.yaml", p.URL)
		}
		shown := w.shown(p)
		line, err := shown.Line()
		if err != nil {
			return "", err
		}
		text.WriteString(line + "\n")
	}
	return text.String(), nil
}

// shown is a page of the list as the dashboard shows it. The lock is held, or nothing is changed.
func (w *run) shown(p *Page) watchlist.Page {
	name := p.URL.String()
	return watchlist.Page{URL: name, Every: p.Every, Tag: p.Watch.Tag, Paused: p.Paused, Changed: w.changed[name],
		Misses: w.misses[name],
		Watch:  strings.Join(p.Watch.Only, ", "), Leave: strings.Join(p.Watch.Leave, ", "),
		Late: slices.Contains(w.excluded, "^"+regexp.QuoteMeta(name)+"$")}
}

// Pages are those of the list.
func (w *run) Pages() (pages []watchlist.Page, file string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.list.Pages {
		pages = append(pages, w.shown(&w.list.Pages[i]))
	}
	return pages, w.source
}

// Put writes the line of a page.
func (w *run) Put(ctx context.Context, before string, p watchlist.Page) error {
	line, err := p.Line()
	if err != nil {
		return err
	}
	made, err := parseLine(strings.Fields(line))
	if err != nil {
		return err
	}
	if made.Every > never || made.Every > 0 && made.Every < time.Minute {
		return fmt.Errorf("every %s: want a minute to ten years", p.Span())
	}
	is := (&run{}).shown(&made)
	if is.Every != p.Every || is.Tag != p.Tag || is.Watch != p.Watch || is.Leave != p.Leave || is.Paused != p.Paused {
		return fmt.Errorf("the words %q begin a part of a line: selectors and tags cannot have them", keys)
	}
	return w.edit(ctx, before, made.URL.String(), line)
}

// Remove removes the lines of a page.
func (w *run) Remove(ctx context.Context, url string) error { return w.edit(ctx, url, "", "") }

// edit has a line stand in the place of those of a page, or at the end.
func (w *run) edit(ctx context.Context, before, url, line string) error {
	w.editing.Lock()
	defer w.editing.Unlock()
	text, err := w.text()
	if err != nil {
		return err
	}
	if text, err = replaceLine(text, before, url, line); err != nil {
		return err
	}
	return w.take(ctx, text, true)
}

// replaceLine puts a line in the place of the first of a page, and takes its others out. All else stays as it is.
func replaceLine(text, before, url, line string) (string, error) {
	var out strings.Builder
	found := false
	for old := range strings.Lines(text) {
		name := ""
		if words := strings.Fields(strings.TrimPrefix(old, "\ufeff")); len(words) > 0 {
			if u, err := weburl.Parse(words[0]); err == nil {
				name = u.String()
			}
		}
		switch {
		case name == "" || name != before && name != url:
			out.WriteString(old)
		case name == url && name != before:
			return "", fmt.Errorf("%s is in the list already", url)
		case line != "" && !found:
			if strings.HasPrefix(old, "\ufeff") {
				line = "\ufeff" + line
			}
			out.WriteString(line + "\n")
			fallthrough
		default:
			found = true
		}
	}
	if before != "" && !found {
		return "", fmt.Errorf("%.200q is not in the list any more", before)
	}
	if before == "" {
		if all := out.String(); all != "" && !strings.HasSuffix(all, "\n") {
			out.WriteString("\n")
		}
		out.WriteString(line + "\n")
	}
	return out.String(), nil
}

// noise is slave.Options.Noise.
func (w *run) noise(url string, status int, body []byte) bool {
	w.mu.Lock()
	f := w.feed
	w.mu.Unlock()
	return f != nil && f.Quiet(url, status, body)
}

// Teach has a page learn what a reader says of a change.
func (w *run) Teach(ctx context.Context, id string, noise bool) (err error) {
	away := between(ctx, w, func(f *feed.Feed, folder string, _ *telling.Teller) {
		_, err = f.TeachByID(folder, id, noise, io.Discard)
	})
	return cmp.Or(away, err)
}

// Receivers are the names of those that are told.
func (w *run) Receivers() (names []string) {
	for _, r := range w.receivers {
		names = append(names, r.Name)
	}
	return names
}

// Test sends a message to each receiver.
func (w *run) Test(ctx context.Context) error {
	var teller *telling.Teller
	if err := between(ctx, w, func(_ *feed.Feed, _ string, t *telling.Teller) { teller = t }); err != nil {
		return err
	}
	return teller.Test(io.Discard)
}

// between does something between two looks at what changed.
func between(ctx context.Context, w *run, do func(f *feed.Feed, folder string, t *telling.Teller)) error {
	w.mu.Lock()
	f := w.feed
	w.mu.Unlock()
	if f == nil {
		return errors.New("changes are not told at this moment: try again")
	}
	ctx, end := context.WithTimeout(ctx, 10*time.Second)
	defer end()
	return f.Now(ctx, func(folder string, t *telling.Teller) { do(f, folder, t) })
}
