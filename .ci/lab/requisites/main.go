// Command requisites shows the site of linkstest in headless Chromium, scrolls to its end, and compares what Chromium
// asked the two hosts of the site for with the list that the tests of the slave compare with.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"henro/.ci/lab/tab"
	"henro/slave/links/linkstest"
)

func main() {
	update := flag.String("update", "", "`FILE` to write the list to")
	flag.Parse()
	asked, err := load()
	if err != nil {
		fmt.Fprintln(os.Stderr, "requisites:", err)
		os.Exit(1)
	}
	if *update != "" {
		err := os.WriteFile(*update, []byte(strings.Join(asked, "\n")+"\n"), 0o666)
		if err != nil {
			fmt.Fprintln(os.Stderr, "requisites:", err)
			os.Exit(1)
		}
		return
	}
	differ := false
	want := linkstest.Loaded()
	for _, path := range asked {
		if !slices.Contains(want, path) {
			differ = true
			fmt.Println("new:", path)
		}
	}
	for _, path := range want {
		if !slices.Contains(asked, path) {
			differ = true
			fmt.Println("not asked for any more:", path)
		}
	}
	if differ {
		os.Exit(1)
	}
	fmt.Printf("Chromium asks for the same %d paths\n", len(asked))
}

// load shows the site and returns what was asked for, in order.
func load() ([]string, error) {
	var mu sync.Mutex
	asked := map[string]bool{}
	near, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	far, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return nil, err
	}
	for listener, prefix := range map[net.Listener]string{near: "", far: "//" + linkstest.Other} {
		server := &http.Server{ReadHeaderTimeout: time.Minute,
			Handler: linkstest.Handler(far.Addr().String(), func(r *http.Request) {
				mu.Lock()
				asked[prefix+r.URL.RequestURI()] = true
				mu.Unlock()
			})}
		go func() { _ = server.Serve(listener) }()
		defer server.Close()
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"))...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = chromedp.Do(ctx, chromedp.Navigate("http://"+near.Addr().String()+"/index.html"),
		chromedp.Sleep(5*time.Second),                              // what scripts, frames and scrolling load
		tab.Send(page.GetAppManifest, page.GetAppManifestParams{}), // a window reads it, a headless browser does not
		chromedp.Sleep(time.Second))
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Sorted(maps.Keys(asked)), nil
}
