package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"henro/actors/living"
)

var (
	// ErrMissing is returned when no Chromium is found.
	ErrMissing = errors.New("no Chromium is found: install it (Debian: apt install chromium), or say where one is " +
		"with --browser-path")
	// ErrUnanswered is returned when the Source has no answer for the page itself.
	ErrUnanswered = errors.New("there is no answer for the page itself")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the browser is closed")

	errHung    = errors.New("the page keeps Chromium from answering")
	errCrashed = errors.New("the page crashed Chromium")
	errMemory  = errors.New("the page takes more memory than a browser may")
)

// Options say which Chromium and what it may cost.
type Options struct {
	Path      string // of Chromium; empty: looked for, see Find
	Dir       string // scratch folder of its own, for profile and temporary files; emptied at each start
	UserAgent string // as the slave says it; empty: Chromium's own
	Log       *logrus.Entry

	Timeout   time.Duration // of a page; 0: 30 s. Reading a page that hangs may take 12 s more.
	Requests  int           // of a page; 0: 1,000. More find no answer.
	BodyBytes int64         // of one answer; 0: 64 MiB. A longer one counts as none.
	PageBytes int           // of a page's DOM in characters; 0: 32 Mi. A longer one is an error.
	Memory    int64         // bytes of all of Chromium's processes, on Linux; 0: 2 GiB
	Recycle   int           // pages after which Chromium is started anew; 0: 200
}

// Request is what a page asks for. Kind is CDP's resource type in small letters: document, script, fetch, xhr, image…
type Request struct {
	Method, URL string
	Header      http.Header
	Body        []byte
	Kind        string
}

// Answer is a capture: its body without content coding. At is when it was captured.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	At     time.Time
}

// Source answers what a page asks for; several requests at a time. nil: it is not there, and the page gets an error, as
// of a network that fails. A request for which there was nothing is not asked for again by the same page.
type Source func(ctx context.Context, r *Request) *Answer

// Page is what is to be rendered. Behaviour is a script that runs after ours, as the body of an async function.
type Page struct{ URL, Behaviour string }

// Asked is a request of a page, and what became of it.
type Asked struct {
	Request
	Answered bool
	Status   int
	Mime     string
}

// Rendering is a page as scripts made it.
type Rendering struct {
	HTML                  []byte // of the DOM, open shadow roots as declarative ones
	Title, Text           string
	Asked                 []Asked      // in the order of their answers
	Links                 []string     // of the DOM with open shadow roots, and where popups and scripts would have led
	Menus                 []string     // where links lead that are there only while a menu of the page is open
	Tried                 living.Tried // what cannot be replayed: here Sockets alone are counted
	Errors                int          // of scripts that nobody caught
	Rested                bool         // nothing new was asked for during 500 ms, before the time was over
	Screenshot, Thumbnail []byte       // PNG of 1280 × 720, JPEG of 640 × 360; nil: Chromium took none in time
	Narrow                []byte       // PNG of 390 × 844, as on a phone; nil likewise
	At                    time.Time    // of the page's own answer
	Took                  time.Duration
}

var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
	"headless_shell", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	`C:\Program Files\Google\Chrome\Application\chrome.exe`,
	`C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe`}

// Find returns the path of a Chromium: the one given, else one of the system. The error says what to do.
func Find(path string) (string, error) {
	if path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("--browser-path: %w", err)
		}
		return found, nil
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", ErrMissing
}

// Browser renders pages, one at a time. It may be used by several goroutines.
type Browser struct {
	o      Options
	turn   chan struct{} // who has it renders
	closed context.Context
	close  func()

	chromium *chromium // nil: none runs
}

// New returns a browser that has started nothing: Chromium starts with the first page.
func New(o Options) *Browser {
	defaults(&o.Timeout, 30*time.Second)
	defaults(&o.Requests, 1000)
	defaults(&o.BodyBytes, 64<<20)
	defaults(&o.PageBytes, 32<<20)
	defaults(&o.Memory, 2<<30)
	defaults(&o.Recycle, 200)
	if o.Log == nil {
		o.Log = logrus.NewEntry(logrus.StandardLogger())
	}
	b := &Browser{o: o, turn: make(chan struct{}, 1)}
	b.closed, b.close = context.WithCancel(context.Background())
	return b
}

func defaults[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// Render renders one page; others wait for their turn. After an error other than ErrUnanswered the next page gets a new
// Chromium.
func (b *Browser) Render(ctx context.Context, p Page, source Source) (*Rendering, error) {
	if !strings.HasPrefix(p.URL, "http://") && !strings.HasPrefix(p.URL, "https://") {
		return nil, fmt.Errorf("render %q: only http and https", p.URL)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.closed, cancel)()
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if b.closed.Err() != nil {
		return nil, ErrClosed
	}
	if b.chromium != nil && (b.chromium.pages >= b.o.Recycle || b.chromium.root.Err() != nil) {
		b.end()
	}
	if b.chromium == nil {
		c, err := start(ctx, &b.o)
		if err != nil {
			return nil, fmt.Errorf("start Chromium: %w", err)
		}
		b.chromium = c
	}
	r, err := b.chromium.render(ctx, p, source)
	if err != nil && !errors.Is(err, ErrUnanswered) {
		b.end()
	}
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", p.URL, err)
	}
	return r, nil
}

func (b *Browser) end() {
	b.chromium.end()
	b.chromium = nil
}

// Close ends Chromium, and a page that is under way, and empties the scratch folder.
func (b *Browser) Close() error {
	b.close()
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	if b.chromium != nil {
		b.end()
		return empty(b.o.Dir)
	}
	return nil
}

// empty removes what Chromium leaves in its folder.
func empty(dir string) error {
	return errors.Join(os.RemoveAll(filepath.Join(dir, "profile")), os.RemoveAll(filepath.Join(dir, "tmp")))
}
