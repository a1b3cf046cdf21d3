// Package pictures shows how the versions of a page looked, for the dashboard: by the pictures that lie in the crawl's
// own directory, and by those that lie with its slaves.
//
// A slave is asked which pictures of a page it has, and hands one out when a reader sees it. What it says is bounded
// here as well, since whoever answers may lie.
package pictures

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/console"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/master/lending"
	"henro/messages"
	"henro/store/archive/captures"
	"henro/store/report/changes"
	"henro/store/report/looks"
)

// Bounds of what is shown.
const (
	most      = 100              // pictures of a page, of each width, with each node
	bytesSent = 3 << 20          // of one that a slave hands out: two, and what else it says, fit a piece of the remote
	patience  = 2 * time.Second  // for an answer
	carrying  = 10 * time.Second // for a picture
	fresh     = 10 * time.Second // until it is looked again for the pictures of a page
	pages     = 64               // of which is known which pictures there are
	atOnce    = 16               // requests for pictures
	digest    = 100              // bytes of one
)

// actorName is that of the actor which a slave answers by.
const actorName = "pictures"

// Slaves returns those that are there.
type Slaves func(context.Context) ([]lending.SlaveStatus, error)

// Album knows the pictures of the pages that were shown lately. Any goroutine may use it.
type Album struct {
	dir    string // of the crawl
	system *actor.ActorSystem
	slaves Slaves
	// nil: it does not answer
	ask func(address string, asked *messages.PicturesAsked, limit time.Duration) *messages.PicturesTold

	mu      sync.Mutex // one look at a time
	seen    map[string]known
	carries sync.Mutex // one picture of a slave at a time
}

// known are the pictures of a page.
type known struct {
	at     time.Time
	all    []looks.Picture
	silent []string
}

// New makes the album of a crawl in a directory.
func New(dir string, system *actor.ActorSystem, slaves Slaves) *Album {
	return &Album{dir: dir, system: system, slaves: slaves, seen: map[string]known{},
		ask: func(address string, asked *messages.PicturesAsked, limit time.Duration) *messages.PicturesTold {
			said, _ := system.Root.RequestFuture(actor.NewPID(address, actorName), asked, limit).Result()
			told, _ := said.(*messages.PicturesTold)
			return told
		}}
}

// View is how the versions of a page looked.
type View struct {
	Silent []string // slaves that did not say which they have
	Failed string   // why no others are known; "": they are
	looks  map[int64][]looks.Look
}

// At is how the version of a moment looked, and the page before it.
func (v *View) At(at time.Time) []looks.Look { return v.looks[at.Unix()] }

// Of is the view of a page whose versions are those of its captures, and those that were told of it.
func (a *Album) Of(ctx context.Context, url string, own []reading.Capture, told []changes.Change) *View {
	var moments []time.Time
	for i := range own {
		if own[i].Change != reading.ChangeNone {
			moments = append(moments, own[i].At.Truncate(time.Second))
		}
	}
	for i := range told {
		if told[i].URL == url {
			moments = append(moments, told[i].At.Truncate(time.Second))
		}
	}
	slices.SortFunc(moments, time.Time.Compare)
	moments = slices.CompactFunc(moments, time.Time.Equal)
	if len(moments) == 0 {
		return &View{}
	}
	found, err := a.find(ctx, url)
	if err != nil {
		return &View{Failed: err.Error()}
	}
	v := &View{Silent: found.silent, looks: map[int64][]looks.Look{}}
	for i, some := range looks.Pair(moments, found.all) {
		v.looks[moments[i].Unix()] = some
	}
	return v
}

// find finds the pictures of a page, here and with all slaves.
func (a *Album) find(ctx context.Context, url string) (found known, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if found = a.seen[url]; time.Since(found.at) < fresh {
		return found, nil
	}
	found = known{}
	if found.all, err = looks.In(filepath.Join(a.dir, "warc"), url, most); err != nil {
		return found, err
	}
	there, err := a.there(ctx)
	if err != nil {
		return found, err
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for name, address := range there {
		asking.Go(func() {
			defer floor.Guard(a.system, "a question for pictures")
			told := a.ask(address, &messages.PicturesAsked{Url: url}, patience)
			mu.Lock()
			defer mu.Unlock()
			if told == nil || told.Failed != "" {
				found.silent = append(found.silent, name)
				return
			}
			for _, p := range told.Pictures[:min(len(told.Pictures), 2*most)] {
				found.all = append(found.all, looks.Picture{URL: url, Width: int(p.Width), Node: name,
					At: time.Unix(p.AtUnix, 0).UTC(), Digest: p.Digest[:min(len(p.Digest), digest)]})
			}
		})
	}
	asking.Wait()
	slices.Sort(found.silent)
	slices.SortStableFunc(found.all, func(a, b looks.Picture) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Node, b.Node))
	})
	if len(a.seen) >= pages {
		clear(a.seen)
	}
	found.at = time.Now()
	a.seen[url] = found
	return found, nil
}

// there are the slaves of other processes, by their names.
func (a *Album) there(ctx context.Context) (map[string]string, error) {
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	found, err := a.slaves(ctx)
	there := map[string]string{}
	for i := range found {
		if at := found[i].Address; at != "" && at != a.system.Address() {
			there[found[i].Name] = at
		}
	}
	return there, err
}

// Route is where pictures are shown.
func (a *Album) Route() console.Route {
	return console.Route{Pattern: "GET " + looks.Path, AtOnce: atOnce, Serve: a.Serve}
}

// Serve answers with a picture. What fails is said in its place.
func (a *Album) Serve(w http.ResponseWriter, r *http.Request) {
	kind, body, err := a.read(r)
	status := http.StatusOK
	switch {
	case err == nil:
		w.Header().Set("Cache-Control", "private, max-age=3600")
	case errors.Is(err, captures.ErrNotArchived):
		status = http.StatusNotFound
	default:
		status = http.StatusBadGateway
	}
	if err != nil {
		kind, body = "image/svg+xml", fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="640" `+
			`height="90"><rect width="640" height="90" fill="#fff"/><text x="20" y="50" font-family="sans-serif" `+
			`font-size="16" fill="#900">%s</text></svg>`, html.EscapeString(fmt.Sprintf("%.120v", err)))
	}
	_ = looks.Send(w, kind, status, bytes.NewReader(body)) // an error means that the reader is gone
}

func (a *Album) read(r *http.Request) (kind string, body []byte, err error) {
	p, err := looks.Asked(r)
	if err != nil {
		return "", nil, err
	}
	if p.Node == "" {
		return looks.Read(filepath.Join(a.dir, "warc"), p, looks.Bytes)
	}
	there, err := a.there(r.Context())
	if err != nil {
		return "", nil, err
	}
	if there[p.Node] == "" {
		return "", nil, fmt.Errorf("%s, which has the picture, is not there", p.Node)
	}
	a.carries.Lock()
	defer a.carries.Unlock()
	if r.Context().Err() != nil {
		return "", nil, r.Context().Err()
	}
	asked := &messages.PicturesAsked{Url: p.URL, Width: int32(p.Width), AtUnix: p.At.Unix()}
	told := a.ask(there[p.Node], asked, carrying)
	switch {
	case told == nil:
		return "", nil, fmt.Errorf("%s, which has the picture, does not answer: try again", p.Node)
	case told.Failed != "":
		return "", nil, fmt.Errorf("%s: %s", p.Node, told.Failed)
	case len(told.Body) > bytesSent || !looks.IsPicture(told.Type):
		return "", nil, fmt.Errorf("%s has answered with no picture", p.Node)
	}
	return told.Type, told.Body, nil
}

// Start has the system of a slave answer for the pictures in its directory.
func Start(system *actor.ActorSystem, dir string) error {
	folder := filepath.Join(dir, "warc")
	_, err := system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
		if m, ok := ctx.Message().(*messages.PicturesAsked); ok {
			ctx.Respond(tell(folder, m))
		}
	}, actor.WithMailbox(actor.Unbounded())), actorName)
	if err != nil {
		return fmt.Errorf("spawn the teller of pictures: %w", err)
	}
	return nil
}

// tell answers a question.
func tell(folder string, m *messages.PicturesAsked) *messages.PicturesTold {
	told := &messages.PicturesTold{}
	var err error
	if m.AtUnix == 0 {
		var all []looks.Picture
		all, err = looks.In(folder, m.Url, most)
		for _, p := range all {
			told.Pictures = append(told.Pictures,
				&messages.Picture{Width: int32(p.Width), AtUnix: p.At.Unix(), Digest: p.Digest})
		}
	} else {
		told.Type, told.Body, err = looks.Read(folder,
			looks.Picture{URL: m.Url, Width: int(m.Width), At: time.Unix(m.AtUnix, 0).UTC()}, bytesSent)
	}
	if err != nil {
		told = &messages.PicturesTold{Failed: fmt.Sprintf("%.200v", err)}
	}
	return told
}
