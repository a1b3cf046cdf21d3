// Program living opens pages that are made by scripts live and in henro replay, and compares them: each archived origin
// has an origin of its own there. What the pages ask for live is what the archive has: the crawl itself runs no script.
//
//	living -dir DIR -henro HENRO FOLDER…   serves the folders in each FOLDER as NAME.living.test
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"henro/cmd/qa"
	"henro/cmd/replay"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

const (
	domain  = ".living.test"
	address = "127.0.0.51"
	port    = "8480"
)

// pages are opened, as far as their site is there.
var pages = []string{"router/guide/start?tab=1", "spa/items/2", "spa/", "static/", "hostile/"}

func main() {
	l := lab{came: map[string]bool{}}
	flag.StringVar(&l.dir, "dir", "", "for what is written")
	flag.StringVar(&l.henro, "henro", "", "the program")
	flag.Parse()
	if err := l.run(context.Background(), flag.Args()); err != nil {
		fmt.Println("FAIL ", err)
		os.Exit(1)
	}
}

type lab struct {
	dir, henro string
	failed     bool

	mu   sync.Mutex
	came map[string]bool // what was asked of the hosts and of others since it was emptied
}

func (l *lab) say(ok bool, format string, values ...any) {
	word := "ok   "
	if !ok {
		word, l.failed = "FAIL ", true
	}
	fmt.Println(word, fmt.Sprintf(format, values...))
}

func (l *lab) run(ctx context.Context, folders []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hosts, err := l.serve(folders)
	if err != nil {
		return err
	}
	drawn := slices.DeleteFunc(slices.Clone(pages), func(page string) bool {
		host, _, _ := strings.Cut(page, "/")
		return !slices.Contains(hosts, host)
	})
	live, asked, err := l.live(ctx, drawn)
	if err != nil {
		return err
	}
	if err := l.crawl(ctx, hosts, asked); err != nil {
		return err
	}
	archive, err := captures.Open(filepath.Join(l.dir, "crawl", "warc"), func(string) {})
	if err != nil {
		return err
	}
	defer archive.Close()
	show, err := shown(ctx, archive)
	if err != nil {
		return err
	}
	for _, form := range []struct {
		name, rules string
		old         bool
	}{{"places", ", EXCLUDE *.localhost", false}, {"*.localhost leads elsewhere", "", true}} {
		if err := l.judge(ctx, archive, show, form.name, form.rules, form.old, drawn, live); err != nil {
			return err
		}
	}
	if l.failed {
		return errors.New("see above")
	}
	return nil
}

// live opens the pages live, and lists what they ask for.
func (l *lab) live(ctx context.Context, drawn []string) (live map[string]*qa.Sight, asked []string, err error) {
	b, err := start(ctx, "MAP *"+domain+" "+address+", MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
	if err != nil {
		return nil, nil, err
	}
	defer b.Close()
	live = map[string]*qa.Sight{}
	for _, page := range drawn {
		asked = append(asked, at(page))
		if page == "hostile/" { // live it would go away
			asked = append(asked, at("hostile/worker.js"), at("hostile/sw.js"))
			continue
		}
		s, err := b.Look(ctx, qa.View{Address: at(page), Width: 1280, Height: 1024, Limit: time.Minute})
		if err != nil {
			return nil, nil, err
		}
		live[page] = s
		for _, r := range s.Requests {
			if r.Status > 0 && r.Status < 400 {
				asked = append(asked, r.URL)
			}
		}
	}
	// What workers and frames of other processes ask for is seen by the hosts alone.
	l.mu.Lock()
	defer l.mu.Unlock()
	for url := range l.came {
		asked = append(asked, url)
	}
	slices.Sort(asked)
	return live, slices.Compact(asked), nil
}

// judge opens all captures, and compares them with the live pages.
func (l *lab) judge(ctx context.Context, archive *captures.Archive, show qa.Shown, name, rules string, old bool,
	drawn []string, live map[string]*qa.Sight) error {
	b, err := start(ctx, "MAP * "+address+":"+port+", EXCLUDE 127.0.0.1, EXCLUDE localhost"+rules)
	if err != nil {
		return err
	}
	defer b.Close()
	l.mu.Lock()
	clear(l.came)
	l.mu.Unlock()
	for _, page := range drawn {
		e := cdxj.Entry{URL: at(page), At: time.Now()}
		s, err := show.Look(ctx, b, e, qa.DefaultOptions())
		if err != nil {
			l.say(false, "%s: %s: %v", name, page, err)
			continue
		}
		was := live[page]
		if was == nil {
			was = &qa.Sight{Text: "hostile tried", Picture: s.Picture}
		}
		p, err := qa.Judge(archive, show, e, was, s)
		if err != nil {
			return err
		}
		// Without places the words of scripts are not promised.
		same := p.Text >= 0.99 || old && !strings.HasPrefix(page, "static")
		l.say(same && len(p.Outside) == 0, "%s: %s: words %.3f, pixels %.3f, %d requests, %d unanswered, %d left", name,
			page, p.Text, p.Pixels, p.Replay, len(p.Unanswered), len(p.Outside))
		if !same {
			fmt.Printf("--- live\n%s\n--- replay\n%s\n", was.Text, s.Text)
		}
		for _, lack := range append(p.Unanswered, p.Outside...) {
			fmt.Println("        ", lack.URL, lack.Reason)
		}
		if !same || len(p.Unanswered) > 0 {
			for _, r := range s.Requests {
				if r.Status >= 400 || r.Err != "" {
					fmt.Println("        ", r.Status, r.Err, r.URL)
				}
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say(len(l.came) == 0, "%s: nothing left the machine %v", name, l.came)
	return nil
}

func at(page string) string {
	host, path, _ := strings.Cut(page, "/")
	return "http://" + host + domain + ":" + port + "/" + path
}

func start(ctx context.Context, rules string) (*qa.Browser, error) {
	path, err := qa.FindBrowser()
	if err != nil {
		return nil, err
	}
	return qa.Start(ctx, path, rules)
}

// shown is a replay of the archive.
func shown(ctx context.Context, archive *captures.Archive) (qa.Shown, error) {
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return qa.Shown{}, err
	}
	content, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return qa.Shown{}, err
	}
	at := replay.Listeners{Own: own, Content: []net.Listener{content}}
	go func() {
		_ = replay.NewServer(archive, replay.DefaultOptions(), logrus.NewEntry(logrus.New())).Serve(ctx, at)
	}()
	return qa.Shown{Address: at.Address, Asked: at.Asked}, nil
}

// crawl archives what the pages asked for.
func (l *lab) crawl(ctx context.Context, hosts, asked []string) error {
	dir, list := filepath.Join(l.dir, "crawl"), filepath.Join(l.dir, "seeds.txt")
	lines := []byte(strings.Join(asked, "\n") + "\n")
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(list, lines, 0o666)); err != nil {
		return err
	}
	arguments := []string{"crawl", "--dir", dir, "--seeds", list, "--depth", "0", "--allow-private",
		"--delay", "0", "--listen-http", "off", "--dns", "127.0.0.1:9", "--progress", "off", "--log-level", "warn"}
	for _, host := range hosts {
		arguments = append(arguments, "--resolve", host+domain+":"+port+":"+address)
	}
	out, err := exec.CommandContext(ctx, l.henro, arguments...).CombinedOutput()
	fmt.Printf("      crawl of %d URLs\n%s", len(asked), out)
	return err
}

// serve serves each folder as a host, and answers as an API where there is no file.
func (l *lab) serve(folders []string) (hosts []string, err error) {
	at := map[string]string{"api": "", "out": ""}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			at[e.Name()] = filepath.Join(folder, e.Name())
		}
	}
	for host := range at {
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	listener, err := net.Listen("tcp", net.JoinHostPort(address, port))
	if err != nil {
		return nil, err
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		host, _, ours := strings.Cut(r.Host, domain)
		// The browser's own errands are its maker's business. Whether places are found is asked with a name of none.
		if !strings.Contains(r.Host, "google") && !strings.Contains(r.Host, "gvt1") &&
			!strings.Contains(r.Host, ".localhost:") {
			l.mu.Lock()
			l.came["http://"+r.Host+r.RequestURI] = true
			l.mu.Unlock()
		}
		if ours {
			answer(w, r, host, at[host])
		}
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(handler)}
	go func() { _ = server.Serve(listener) }() // until the process ends
	return hosts, nil
}

var types = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css",
	".svg": "image/svg+xml", ".json": "application/json", ".md": "text/markdown", ".png": "image/png",
	".woff2": "font/woff2"}

// answer is a file, the index of its folder, that of the site where a router wants it, or what an API says.
func answer(w http.ResponseWriter, r *http.Request, host, folder string) {
	if origin := r.Header.Get("Origin"); origin != "" {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Set("Access-Control-Allow-Headers", "content-type, x-asked-by")
	}
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	path := filepath.Clean("/" + r.URL.Path)
	file := filepath.Join(folder, path)
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, "index.html")
	}
	body, err := os.ReadFile(file)
	if err != nil && filepath.Ext(path) == "" && (host == "spa" || host == "router") {
		file = filepath.Join(folder, "index.html")
		body, err = os.ReadFile(file)
	}
	switch id, isItem := strings.CutPrefix(path, "/v1/items/"); {
	case err == nil:
	case host != "api":
		http.NotFound(w, r)
		return
	case filepath.Ext(path) == ".svg":
		file, body = path, []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"></svg>`)
	case path == "/v1/search":
		file, body = ".json", []byte(`{"said": "found by `+r.Method+`"}`)
	case isItem:
		file = ".json"
		body, _ = json.Marshal(map[string]string{"said": "item " + id})
	default:
		file, body = ".json", []byte(`{"items": [1, 2, 3]}`)
	}
	w.Header().Set("Content-Type", types[filepath.Ext(file)])
	_, _ = w.Write(body)
}
