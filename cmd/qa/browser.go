package qa

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"henro/messages/weburl"
	"henro/slave/browser"
	"henro/slave/fetch"
)

// ErrNoBrowser is returned when no Chromium is installed.
var ErrNoBrowser = errors.New("no Chromium or Chrome is installed")

// ErrNoFrame is returned when a replay does not show the frame of the page in time.
var ErrNoFrame = errors.New("the frame with the capture did not appear")

const (
	maxRequests = 10_000   // of a page noted
	maxText     = 16 << 20 // bytes of a page's text compared
	quiet       = 500 * time.Millisecond
	maxBusy     = 15 * time.Second // a page that is never quiet, because it polls, is looked at then
)

// FindBrowser returns the path of an installed Chromium, or ErrNoBrowser.
func FindBrowser() (string, error) {
	if path, err := browser.Find(""); err == nil {
		return path, nil
	}
	return "", ErrNoBrowser // there is no flag here that would name one
}

// Browser is a running Chromium without a window.
type Browser struct {
	ctx    context.Context // of the browser's first tab, not of a caller: chromedp keeps the browser in it
	cancel func()
	// around is how many pixels of the window a frame leaves to what is around it, by the origin that shows the frame.
	around map[string]size
}

type size struct{ width, height int64 }

// Start starts a browser. Names resolve as the rules say (Chromium's --host-resolver-rules); none: as the system does.
func Start(ctx context.Context, path, rules string) (*Browser, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("no-pings", true), chromedp.Flag("disable-site-isolation-trials", true),
		chromedp.Flag("force-device-scale-factor", "1"),
		// In one process the frame of another origin belongs to the tab, and its requests are in the log of the tab. A
		// scheme that the browser changes by itself would be a request that the page did not make.
		chromedp.Flag("disable-features", "site-per-process,IsolateOrigins,IsolateSandboxedIframes,Translate,"+
			"HttpsUpgrades,HttpsFirstBalancedModeAutoEnable"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to start as root with its sandbox
	}
	if rules != "" {
		options = append(options, chromedp.Flag("host-resolver-rules", rules))
	}
	allocated, end := chromedp.NewExecAllocator(ctx, options...)
	tab, closeTab := chromedp.NewContext(allocated)
	b := &Browser{ctx: tab, cancel: func() { closeTab(); end() }, around: map[string]size{}}
	if err := chromedp.Do(tab); err != nil {
		b.cancel()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return b, nil
}

// Close ends the browser and removes its profile.
func (b *Browser) Close() { b.cancel() }

// ResolverRules are the rules of Chromium for entries HOST:PORT:ADDR, as in --resolve.
func ResolverRules(resolve []string) (string, error) {
	table, err := fetch.ParseTable(resolve)
	var rules []string
	for _, host := range slices.Sorted(maps.Keys(table)) {
		_, port, _ := net.SplitHostPort(host) // ParseTable has joined them
		if strings.ContainsAny(host, ", ") {
			return "", fmt.Errorf("%q: no blanks and commas, please", host)
		}
		rules = append(rules, fmt.Sprintf("MAP %s %s", host, net.JoinHostPort(table[host][0].String(), port)))
	}
	return strings.Join(rules, ","), err
}

// View is what is to be seen.
type View struct {
	Address       string
	Frame         func(url string) bool // the frame that shows the page; nil: the tab itself
	Width, Height int64                 // of the page in pixels
	Limit         time.Duration         // of the whole view
	First         string                // a script that runs before those of the page; empty: none
}

// Sight is a page as the browser showed it.
type Sight struct {
	Requests []Request
	Text     string // what is visible, spaces as the browser laid them out
	Picture  []byte // PNG of the first screen
}

// Request is a request of a page.
type Request struct {
	URL    string
	Type   string // as Chromium names it: Document, Stylesheet, Image, …
	Status int64  // 0: there was no answer
	Err    string // why there was none
	// Refused means that the browser did not send it: a policy of the page forbade it.
	Refused bool
}

// log collects the requests of a tab.
type log struct {
	mu       sync.Mutex
	requests []Request
	number   map[network.RequestID]int // of the request in requests
	open     map[network.RequestID]bool
	last     time.Time // when something happened
	loaded   bool
}

func (l *log) note(event any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if before, ok := l.number[e.RequestID]; ok && e.RedirectResponse != nil {
			l.requests[before].Status = e.RedirectResponse.Status
		}
		if !strings.HasPrefix(e.Request.URL, "http") || len(l.requests) == maxRequests {
			return // data: and blob: cause no request
		}
		l.number[e.RequestID] = len(l.requests)
		l.requests = append(l.requests, Request{URL: e.Request.URL, Type: e.Type.String()})
		l.open[e.RequestID] = true
	case *network.EventResponseReceived:
		if i, ok := l.number[e.RequestID]; ok {
			l.requests[i].Status = e.Response.Status
		}
	case *network.EventLoadingFailed:
		if i, ok := l.number[e.RequestID]; ok {
			l.requests[i].Err, l.requests[i].Refused = e.ErrorText, e.BlockedReason != ""
		}
		delete(l.open, e.RequestID)
	case *network.EventLoadingFinished:
		delete(l.open, e.RequestID)
	case *cdppage.EventLoadEventFired:
		l.loaded = true
	default:
		return
	}
	l.last = time.Now()
}

// isQuiet reports whether the page is loaded and nothing has happened for a while.
func (l *log) isQuiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loaded && len(l.open) == 0 && time.Since(l.last) >= quiet
}

// Look shows a page in a tab of its own.
func (b *Browser) Look(ctx context.Context, v View) (*Sight, error) {
	s, err := b.look(ctx, v)
	if errors.Is(err, errUnfit) { // fit has noted how much of the window is around the frame
		s, err = b.look(ctx, v)
	}
	if err != nil {
		err = fmt.Errorf("open %s: %w", v.Address, err)
	}
	return s, err
}

// errUnfit is returned when the frame is not as large as View says.
var errUnfit = errors.New("the frame with the capture has another size")

func (b *Browser) look(ctx context.Context, v View) (s *Sight, err error) {
	tab, closeTab := chromedp.NewContext(b.ctx)
	defer closeTab()
	defer context.AfterFunc(ctx, closeTab)()
	tab, cancel := context.WithTimeout(tab, v.Limit)
	defer cancel()
	l := &log{number: map[network.RequestID]int{}, open: map[network.RequestID]bool{}, last: time.Now()}
	around := b.around[weburl.HostOf(v.Address)]
	s = &Sight{}
	if err := chromedp.Listen(tab, l.note); err != nil {
		return nil, err
	}
	err = chromedp.Do(tab, browser.Send(network.Enable, network.EnableParams{}),
		browser.Send(network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}),
		browser.Send(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: v.Width + around.width, Height: v.Height + around.height, DeviceScaleFactor: 1}),
		browser.Send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-reduced-motion", Value: "reduce"}, {Name: "prefers-color-scheme", Value: "light"}}}),
		browser.Send(cdppage.AddScriptToEvaluateOnNewDocument,
			cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: v.First}),
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			opened, err := cdp.Call(ctx, t, cdppage.Navigate, cdppage.NavigateParams{URL: v.Address})
			if err == nil && opened.ErrorText != "" {
				err = errors.New(opened.ErrorText)
			}
			return err
		}),
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			frame, err := settle(ctx, t, l, v.Frame)
			if err != nil {
				return err
			}
			clip := &cdppage.Viewport{Width: float64(v.Width), Height: float64(v.Height), Scale: 1}
			if v.Frame != nil {
				if err := b.fit(ctx, t, v, frame, clip); err != nil {
					return err
				}
			}
			if s.Text, err = text(ctx, frame); err != nil {
				return err
			}
			picture, err := cdp.Call(ctx, t, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{Clip: clip})
			s.Picture = picture.Data
			return err
		}))
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Requests = l.requests
	return s, err
}

// settle waits until the frame is there and nothing has happened for a while, or until the longest wait is over.
func settle(ctx context.Context, t *chromedp.Target, l *log, wanted func(string) bool) (cdp.FrameID, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var frame cdp.FrameID
	for since := time.Now(); ; {
		if l.isQuiet() || time.Since(since) > maxBusy {
			tree, err := cdp.Call(ctx, t, cdppage.GetFrameTree, cdp.Empty{})
			if err != nil {
				return "", err
			}
			if frame = find(tree.FrameTree, wanted); frame != "" {
				if err := browser.Still(ctx, frame); err != nil || l.isQuiet() || time.Since(since) > maxBusy {
					return frame, err
				}
			}
			if time.Since(since) > 2*maxBusy {
				return "", ErrNoFrame
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func find(tree *cdppage.FrameTree, wanted func(string) bool) cdp.FrameID {
	if wanted == nil || wanted(tree.Frame.URL) {
		return tree.Frame.ID
	}
	for _, child := range tree.ChildFrames {
		if id := find(child, wanted); id != "" {
			return id
		}
	}
	return ""
}

// fit finds where the frame is. If it is not as large as View says, fit notes what is around it and returns errUnfit.
func (b *Browser) fit(ctx context.Context, t *chromedp.Target, v View, frame cdp.FrameID,
	clip *cdppage.Viewport) error {
	owner, err := cdp.Call(ctx, t, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: frame})
	if err != nil {
		return err
	}
	box, err := cdp.Call(ctx, t, dom.GetBoxModel, dom.GetBoxModelParams{BackendNodeID: owner.BackendNodeID})
	if err != nil {
		return err
	}
	at := box.Model.Content // x and y of four corners
	clip.X, clip.Y = at[0], at[1]
	width, height := int64(at[2]-at[0]), int64(at[5]-at[1])
	if width == v.Width && height == v.Height {
		return nil
	}
	around := b.around[weburl.HostOf(v.Address)]
	b.around[weburl.HostOf(v.Address)] = size{around.width + v.Width - width, around.height + v.Height - height}
	return errUnfit
}

// text is the visible text of a frame, that of open shadow trees behind all other. What is announced to screen readers
// alone is there for a moment.
func text(ctx context.Context, frame cdp.FrameID) (s string, err error) {
	const visible = `document.fonts.ready.then(() => new Promise(requestAnimationFrame)).then(() => {
		const text = [], walk = (root, parts) => {
			for (const e of root.querySelectorAll("[aria-live]")) if (e.offsetWidth < 2) e.remove();
			for (const e of parts)
				if (!/^(style|script|template)$/.test(e.localName)) text.push(e.innerText ?? e.textContent);
			for (const e of root.querySelectorAll("*")) if (e.shadowRoot) walk(e.shadowRoot, e.shadowRoot.children);
		};
		walk(document, [document.body ?? document.documentElement]);
		return text.join("\n"); })`
	found, err := browser.In(ctx, frame, visible)
	if err == nil && len(found) > maxText {
		err = fmt.Errorf("its text has more than %d bytes", maxText)
	}
	if err == nil {
		err = json.Unmarshal(found, &s)
	}
	return s, err
}
