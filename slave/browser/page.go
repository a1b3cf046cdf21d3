package browser

import (
	"context"
	_ "embed" // the scripts
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"henro/actors/living"
)

const (
	restsAfter  = 500 * time.Millisecond
	maxBehave   = 10 * time.Second
	lookWithin  = 4 * time.Second
	lookOften   = 100 * time.Millisecond
	watchMemory = time.Second
)

var (
	//go:embed first.js
	first string
	//go:embed behave.js
	behave string
	//go:embed look.js
	look string
	//go:embed menus.js
	menus string
)

// tab is the page in Chromium.
type tab struct {
	*visit
	ctx     context.Context // of chromedp
	fail    context.CancelCauseFunc
	frame   cdp.FrameID       // the page itself
	loading network.RequestID // of the page itself, with what it is redirected to; guarded by visit.mu
}

func (c *chromium) render(caller context.Context, p Page, source Source) (r *Rendering, err error) {
	began := time.Now()
	c.pages++
	ctx, fail := context.WithCancelCause(c.root)
	defer fail(nil)
	defer context.AfterFunc(caller, func() { fail(caller.Err()) })()
	v := newVisit(ctx, c.o, source)
	c.proxy.visiting.Store(v)
	defer c.proxy.visiting.Store(nil)
	limit := time.AfterFunc(c.o.Timeout+6*lookWithin, func() { fail(errHung) })
	defer limit.Stop()
	defer c.watch(fail)()

	t := &tab{visit: v, fail: fail}
	var closeTab func()
	t.ctx, closeTab = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(t.hear))
	defer func() {
		done := make(chan struct{})
		go func() { defer close(done); closeTab() }()
		select {
		case <-done:
		case <-time.After(closeWithin):
			err = errors.Join(err, errHung)
		}
	}()
	defer func() {
		if cause := context.Cause(ctx); cause != nil && err != nil {
			err = errors.Join(cause, err)
		}
	}()
	if err := t.open(p.URL); err != nil {
		return nil, err
	}
	deadline := began.Add(c.o.Timeout)
	rested := t.rest(began.Add(c.o.Timeout / 2))
	t.behave(p.Behaviour, min(maxBehave, time.Until(deadline)/2))
	rested = t.rest(deadline) && rested
	r, err = t.look(c.o.PageBytes)
	if err != nil {
		return nil, err
	}
	t.pictures(r)
	v.mu.Lock()
	v.over = true
	r.Asked, r.Tried.Sockets, r.Errors, r.At = slices.Clone(v.asked), len(v.sockets), v.errors, v.at
	r.Links = append(r.Links, v.noted...)
	slices.Sort(r.Links)
	r.Links = slices.Compact(r.Links)
	v.mu.Unlock()
	t.narrow(r)
	t.menus(r)
	r.Rested, r.Took = rested, time.Since(began)
	return r, nil
}

// watch fails the page when Chromium takes too much memory.
func (c *chromium) watch(fail context.CancelCauseFunc) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(watchMemory)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if memory(c.group) > c.o.Memory {
					fail(errMemory)
				}
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// open opens the tab and goes to the page.
func (t *tab) open(url string) error {
	if err := chromedp.Do(t.ctx); err != nil {
		return err
	}
	of := chromedp.FromContext(t.ctx)
	t.frame = cdp.FrameID(of.Target.TargetID)
	err := chromedp.Do(t.ctx,
		Send(cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{
			Source: first + living.Random}),
		Send(network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true}),
		Send(emulation.SetDeviceMetricsOverride, wide()),
		Send(fetch.Enable, fetch.EnableParams{HandleAuthRequests: new(true), Patterns: []*fetch.RequestPattern{
			{URLPattern: "*", ResourceType: network.ResourceTypeDocument}}}))
	if err == nil {
		_, err = chromedp.CallBrowser(t.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: of.BrowserContextID})
	}
	if err != nil {
		return err
	}
	opened, err := chromedp.Call(t.ctx, cdppage.Navigate, cdppage.NavigateParams{URL: url})
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil:
		return err
	case len(t.asked) > 0 && !t.asked[len(t.asked)-1].Answered && opened.ErrorText != "":
		return ErrUnanswered
	case opened.ErrorText != "":
		return errors.New(opened.ErrorText)
	}
	return nil
}

// Send makes a step of a command whose answer does not matter.
func Send[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// later sends a command from where nobody may wait for its answer.
func later[P, R any](t *tab, c cdp.Command[P, R], params P) {
	go func() { _, _ = chromedp.Call(t.ctx, c, params) }()
}

// hear takes what Chromium says of the tab; it must not wait.
func (t *tab) hear(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		t.hears(e.Request.Method, e.Request.URL, e.Type.String())
	case *network.EventWebSocketCreated:
		t.socket(e.URL)
	case *network.EventWebTransportCreated:
		t.socket(e.URL)
	case *runtime.EventExceptionThrown:
		t.mu.Lock()
		t.errors++
		t.mu.Unlock()
	case *cdppage.EventLoadEventFired:
		t.mu.Lock()
		t.loaded, t.last = true, time.Now()
		t.mu.Unlock()
	case *cdppage.EventWindowOpen:
		t.note(e.URL)
	case *cdppage.EventJavascriptDialogOpening:
		later(t, cdppage.HandleJavaScriptDialog, cdppage.HandleJavaScriptDialogParams{})
	case *inspector.EventTargetCrashed:
		t.fail(errCrashed)
	case *fetch.EventAuthRequired:
		answer := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
		if e.AuthChallenge.Source == fetch.AuthChallengeSourceProxy {
			answer = &fetch.AuthChallengeResponse{Username: "henro", Password: t.password,
				Response: fetch.AuthChallengeResponseResponseProvideCredentials}
		}
		later(t, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: e.RequestID,
			AuthChallengeResponse: answer})
	case *fetch.EventRequestPaused:
		t.mu.Lock()
		away := e.FrameID == t.frame && t.loading != "" && e.NetworkID != t.loading
		if e.FrameID == t.frame && t.loading == "" {
			t.loading = e.NetworkID
		}
		t.mu.Unlock()
		if !away {
			later(t, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
			return
		}
		if e.Request.Method == "GET" {
			t.note(e.Request.URL)
		}
		later(t, fetch.FailRequest, fetch.FailRequestParams{RequestID: e.RequestID,
			ErrorReason: network.ErrorReasonAborted})
	}
}

// rest waits until the page rests, and reports whether it did before the deadline.
func (t *tab) rest(deadline time.Time) bool {
	tick := time.NewTicker(lookOften / 2)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		if t.rests() {
			return true
		}
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return false
		}
	}
	return false
}

// behave runs our script and the user's. What they throw is the page's own business.
func (t *tab) behave(users string, within time.Duration) {
	ctx, cancel := context.WithTimeout(t.ctx, within)
	defer cancel()
	ours := within * 3 / 4
	until := time.Now().Add(ours)
	_, _ = In(ctx, t.frame, fmt.Sprintf("(%s)(%d)", behave, ours.Milliseconds()))
	t.rest(until) // what a page is about to ask for at its end may be given up as that is left
	_, _ = In(ctx, t.frame, `scrollTo({top: 0, behavior: "instant"})`)
	if users != "" {
		_, _ = evaluate(ctx, "(async () => {"+users+"\n})()", 0)
	}
}

// In runs a script of ours in a frame, where those of the page cannot reach it, and returns what it promises, in JSON.
func In(ctx context.Context, frame cdp.FrameID, script string) ([]byte, error) {
	world, err := chromedp.Call(ctx, cdppage.CreateIsolatedWorld, cdppage.CreateIsolatedWorldParams{FrameID: frame})
	if err != nil {
		return nil, err
	}
	return evaluate(ctx, script, world.ExecutionContextID)
}

// Still waits until scripts have nothing to do in a frame and change nothing: where others take the processor they may
// begin long after the last request.
func Still(ctx context.Context, frame cdp.FrameID) error {
	const rests = `new Promise((done) => {
		const end = performance.now() + 5000, rest = () => requestIdleCallback(done, {timeout: 1000});
		let timer;
		const wait = () => { clearTimeout(timer); timer = setTimeout(rest, performance.now() < end ? 250 : 0); };
		new MutationObserver(wait).observe(document, {subtree: true, childList: true, characterData: true});
		wait();
	})`
	_, err := In(ctx, frame, rests)
	return err
}

func evaluate(ctx context.Context, script string, world runtime.ExecutionContextID) ([]byte, error) {
	found, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: script, ContextID: world,
		AwaitPromise: new(true), ReturnByValue: new(true)})
	if err == nil && found.ExceptionDetails != nil {
		err = &chromedp.ExceptionError{ExceptionDetails: found.ExceptionDetails}
	}
	if err != nil {
		return nil, err
	}
	return found.Result.Value, nil
}

// look reads the page. Where a script of it never ends, it is ended, and no other runs any more.
func (t *tab) look(most int) (*Rendering, error) {
	read := func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(t.ctx, lookWithin)
		defer cancel()
		return In(ctx, t.frame, fmt.Sprintf("(%s)(%d)", look, most))
	}
	value, err := read()
	if errors.Is(err, context.DeadlineExceeded) && t.ctx.Err() == nil {
		later(t, runtime.TerminateExecution, cdp.Empty{})
		later(t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		later(t, runtime.TerminateExecution, cdp.Empty{})
		if value, err = read(); errors.Is(err, context.DeadlineExceeded) {
			return nil, errHung
		}
	}
	if err != nil {
		return nil, err
	}
	var seen struct {
		HTML, Title, Text string
		Large             bool
		Links             []string
	}
	if err := json.Unmarshal(value, &seen); err != nil {
		return nil, err
	}
	if seen.Large {
		return nil, fmt.Errorf("the page has more than %d characters", most)
	}
	return &Rendering{HTML: []byte(seen.HTML), Title: seen.Title, Text: seen.Text, Links: seen.Links}, nil
}

// pictures takes what Chromium shows, if it does so in time.
func (t *tab) pictures(r *Rendering) {
	ctx, cancel := context.WithTimeout(t.ctx, lookWithin)
	defer cancel()
	clip := cdppage.Viewport{Width: width, Height: height, Scale: 1}
	view, _ := chromedp.Call(ctx, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{
		Format: cdppage.CaptureScreenshotFormatPng, OptimizeForSpeed: new(true)})
	clip.Scale = 0.5
	small, _ := chromedp.Call(ctx, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{
		Format: cdppage.CaptureScreenshotFormatJpeg, Quality: new(int64(75)), Clip: &clip})
	r.Screenshot, r.Thumbnail = view.Data, small.Data
}

// narrow takes what a phone shows, once all else was seen: what a page asks for in a narrow window alone is not looked
// for. It may fail.
func (t *tab) narrow(r *Rendering) {
	ctx, cancel := context.WithTimeout(t.ctx, lookWithin)
	defer cancel()
	if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: narrowWidth, Height: narrowHeight, DeviceScaleFactor: 1, Mobile: true}); err != nil {
		return
	}
	view, err := chromedp.Call(ctx, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{
		Format: cdppage.CaptureScreenshotFormatPng, OptimizeForSpeed: new(true)})
	if err == nil {
		r.Narrow = view.Data
	}
}

// menus takes where the links of closed menus lead, once all else was seen: what a page asks for as they open finds no
// answer. It may fail.
func (t *tab) menus(r *Rendering) {
	ctx, cancel := context.WithTimeout(t.ctx, lookWithin)
	defer cancel()
	_, _ = chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, wide())
	value, err := In(ctx, t.frame, fmt.Sprintf("(%s)(%d)", menus, lookWithin.Milliseconds()*3/4))
	if err != nil { // a script of the page may go on for ever
		later(t, runtime.TerminateExecution, cdp.Empty{})
		return
	}
	_ = json.Unmarshal(value, &r.Menus)
}

// wide is the window in which a page is seen first.
func wide() emulation.SetDeviceMetricsOverrideParams {
	return emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1}
}
