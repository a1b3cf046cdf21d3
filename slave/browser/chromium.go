package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

const (
	startWithin = time.Minute // Chromium on a loaded machine
	closeWithin = 3 * time.Second
	width       = 1280
	height      = 720
	// of a phone
	narrowWidth  = 390
	narrowHeight = 844
)

// chromium is one running Chromium with its proxy.
type chromium struct {
	o       *Options
	proxy   *proxy
	root    context.Context
	cancel  func()
	profile string
	group   int // its processes
	pages   int
}

// start starts Chromium, after what a slave that was killed has left of one has been ended.
func start(ctx context.Context, o *Options) (c *chromium, err error) {
	path, err := Find(o.Path)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	c = &chromium{o: o, profile: filepath.Join(dir, "profile")}
	finish(c.profile, 0)
	if err := empty(dir); err != nil {
		return nil, fmt.Errorf("empty %s, which a Chromium may still use: %w", dir, err)
	}
	temporary := filepath.Join(dir, "tmp")
	if err := errors.Join(os.MkdirAll(c.profile, 0o700), os.MkdirAll(temporary, 0o700)); err != nil {
		return nil, err
	}
	if c.proxy, err = newProxy(o.Log); err != nil {
		return nil, err
	}
	options := c.flags(path)
	if runtime.GOOS != "windows" { // nothing of the slave's environment
		env := []string{"HOME=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
		if len(temporary) < 50 { // the path of a socket in it is bounded
			env = append(env, "TMPDIR="+temporary)
		}
		options = append(options, chromedp.NoInheritEnv, chromedp.Env(env...))
	}
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	silent := func(string, ...any) {}
	root, closeRoot := chromedp.NewContext(allocated, chromedp.WithErrorf(silent), chromedp.WithLogf(silent))
	c.root, c.cancel = root, func() { closeRoot(); end() }
	late := time.AfterFunc(startWithin, closeRoot)
	stop := context.AfterFunc(ctx, closeRoot)
	err = chromedp.Do(root)
	if err == nil {
		c.group = chromedp.FromContext(root).Browser.Process().Pid
		err = chromedp.ListenBrowser(root, c.popup)
	}
	if !late.Stop() || !stop() {
		err = errors.Join(err, errors.New("it takes too long"))
	}
	if err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// flags close what leads out, and what only a person needs.
func (c *chromium) flags(path string) []chromedp.ExecAllocatorOption {
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.Headless, chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck, chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) { apart(cmd) })}
	for _, name := range []string{"disable-background-networking", "disable-background-timer-throttling",
		"disable-backgrounding-occluded-windows", "disable-breakpad", "disable-client-side-phishing-detection",
		"disable-component-extensions-with-background-pages", "disable-component-update", "disable-default-apps",
		"disable-dev-shm-usage", "disable-domain-reliability", "disable-extensions", "disable-gpu",
		"disable-hang-monitor", "disable-notifications", "disable-prompt-on-repost", "disable-quic",
		"disable-renderer-backgrounding", "disable-search-engine-choice-screen", "disable-site-isolation-trials",
		"disable-sync", "deny-permission-prompts", "dns-prefetch-disable", "enable-automation",
		"metrics-recording-only", "no-pings", "no-service-autorun", "safebrowsing-disable-auto-update",
		"use-mock-keychain"} {
		options = append(options, chromedp.Flag(name, true))
	}
	for name, value := range map[string]string{
		"proxy-server": "http://" + c.proxy.address, "proxy-bypass-list": "<-loopback>",
		"host-resolver-rules":                 "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"ignore-certificate-errors-spki-list": c.proxy.trusts,
		"force-webrtc-ip-handling-policy":     "disable_non_proxied_udp",
		"webrtc-ip-handling-policy":           "disable_non_proxied_udp",
		"autoplay-policy":                     "no-user-gesture-required",
		"js-flags":                            "--max-old-space-size=512",
		"window-size":                         fmt.Sprintf("%d,%d", width, height),
		"user-data-dir":                       c.profile,
		"force-color-profile":                 "srgb",
		"password-store":                      "basic",
		"disk-cache-size":                     "1",
		"disable-features": "site-per-process,IsolateOrigins,IsolateSandboxedIframes,Translate,HttpsUpgrades," +
			"HttpsFirstBalancedModeAutoEnable,Prerender2,SpeculationRulesPrefetchFuture,OptimizationHints," +
			"MediaRouter,DialMediaRouteProvider,InterestFeedContentSuggestions,AutofillServerCommunication," +
			"CertificateTransparencyComponentUpdater,LocalNetworkAccessChecks,SpareRendererForSitePerProcess," +
			"WebTransport,DirectSockets"} {
		options = append(options, chromedp.Flag(name, value))
	}
	if c.o.UserAgent != "" {
		options = append(options, chromedp.UserAgent(c.o.UserAgent))
	}
	return options
}

// popup closes what a page opens beside itself.
func (c *chromium) popup(event any) {
	e, ok := event.(*target.EventTargetCreated)
	if !ok || e.TargetInfo.Type != "page" || e.TargetInfo.OpenerID == "" {
		return
	}
	if v := c.proxy.visiting.Load(); v != nil {
		v.note(e.TargetInfo.URL)
	}
	go func() {
		_, _ = chromedp.CallBrowser(c.root, target.CloseTarget,
			target.CloseTargetParams{TargetID: e.TargetInfo.TargetID})
	}()
}

// end ends Chromium with all its processes.
func (c *chromium) end() {
	finish(c.profile, c.group)
	c.cancel()
	_ = c.proxy.server.Close()
	finish(c.profile, 0)
}
