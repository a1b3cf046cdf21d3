// Command bridge tells a running crawl of URLs that have changed, as sites tell search engines of them: by IndexNow
// (https://www.indexnow.org/documentation) of the hosts named by -hosts, and by WebSub
// (https://www.w3.org/TR/websub/) of what is new in the feeds named behind the flags.
//
//	henro crawl --continuous … &
//	go run ./docs/examples/bridge -public https://bridge.example.net -hosts example.org https://example.org/feed.xml
//
// It has to be reached from outside at -public, by a proxy that speaks TLS. A site then posts its changes to
// https://bridge.example.net/indexnow. What is told is a hint: henro believes it as far as it has been right before.
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mmcdole/gofeed"
	"github.com/mmcdole/gofeed/atom"
	log "github.com/sirupsen/logrus"
)

// Bounds of what others may send.
const (
	maxURLs  = 10_000  // of one notice, as IndexNow and henro have it
	maxBody  = 4 << 20 // of a notice or a feed, bytes
	maxKey   = 1 << 10 // of a file with a key, bytes
	keyHolds = time.Hour
	lease    = 7 * 24 * time.Hour // of a subscription; a hub may choose another
)

var keyForm = regexp.MustCompile(`^[a-zA-Z0-9-]{8,128}$`)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("bridge", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:8080", "where notices arrive")
	public := flags.String("public", "", "the URL by which hubs reach that")
	henro := flags.String("henro", "http://127.0.0.1:7780", "the dashboard of the crawl")
	hosts := flags.String("hosts", "", "names of hosts whose IndexNow notices are taken, with commas")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 && *public == "" {
		return errors.New("a hub needs -public URL")
	}
	b := newBridge(*henro, strings.TrimSuffix(*public, "/"), strings.Split(*hosts, ","))
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: b.routes(), ReadTimeout: time.Minute, WriteTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	for _, feed := range flags.Args() {
		go b.follow(ctx, feed)
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bridge holds what was proved and subscribed to, in memory: at a start all of it is asked for again.
type bridge struct {
	henro, public string
	hosts         []string
	client        *http.Client

	mu     sync.Mutex
	proved map[string]time.Time     // places of keys that were read, until when they count
	topics map[string]*subscription // by the last part of their callbacks
}

func newBridge(henro, public string, hosts []string) *bridge {
	return &bridge{henro: henro, public: public, hosts: hosts, client: &http.Client{Timeout: 20 * time.Second},
		proved: map[string]time.Time{}, topics: map[string]*subscription{}}
}

func (b *bridge) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /indexnow", b.indexNow)
	mux.HandleFunc("POST /indexnow", b.indexNow)
	mux.HandleFunc("GET /websub/{id}", b.verify)
	mux.HandleFunc("POST /websub/{id}", b.published)
	return mux
}

// tell has the crawl told of URLs.
func (b *bridge) tell(ctx context.Context, by string, urls []string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.henro+"/api/changed?by="+by,
		strings.NewReader(strings.Join(urls, "\n")))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "text/plain")
	answer, err := b.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, maxKey))
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("henro answers %s: %s", answer.Status, said)
	}
	log.Infof("%d URLs by %s: %s", len(urls), by, bytes.TrimSpace(said))
	return nil
}

// notice is what IndexNow posts.
type notice struct {
	Host        string   `json:"host"`
	Key         string   `json:"key"`
	KeyLocation string   `json:"keyLocation"`
	URLs        []string `json:"urlList"`
}

// indexNow takes a notice. It answers as the protocol has it: 400 for what is none, 403 for a key that is not found,
// 422 for URLs of others.
func (b *bridge) indexNow(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	n := notice{Key: q.Get("key"), KeyLocation: q.Get("keyLocation"), URLs: q["url"]}
	if r.Method == http.MethodPost {
		n = notice{}
		if json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&n) != nil {
			http.Error(w, "want JSON", http.StatusBadRequest)
			return
		}
	}
	if !keyForm.MatchString(n.Key) || len(n.URLs) == 0 || len(n.URLs) > maxURLs {
		http.Error(w, "want a key and 1 to 10,000 URLs", http.StatusBadRequest)
		return
	}
	first, err := url.Parse(n.URLs[0])
	if err != nil || !slices.Contains(b.hosts, first.Hostname()) || n.Host != "" && n.Host != first.Hostname() {
		http.Error(w, "not one of the hosts whose notices are taken", http.StatusUnprocessableEntity)
		return
	}
	root := first.Scheme + "://" + first.Host
	place := root + "/" + n.Key + ".txt"
	if n.KeyLocation != "" {
		place = n.KeyLocation
	}
	below, err := folder(place) // a key speaks for the folder in which it lies
	for _, u := range n.URLs {
		if at, bad := folder(u); err != nil || bad != nil || !strings.HasPrefix(place, root+"/") ||
			!strings.HasPrefix(at, below) {
			http.Error(w, "a URL for which the key does not speak", http.StatusUnprocessableEntity)
			return
		}
	}
	if err := b.prove(r.Context(), place, n.Key); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if err := b.tell(r.Context(), "indexnow", n.URLs); err != nil {
		log.Error(err)
		http.Error(w, "the crawl was not told", http.StatusServiceUnavailable)
	}
}

// folder is a URL up to the last slash of its path, in one form.
func folder(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return "", errors.New("no URL of the web")
	}
	dir := path.Clean("/" + u.Path)
	if !strings.HasSuffix(u.Path, "/") {
		dir = path.Dir(dir)
	}
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(dir, "/") + "/", nil
}

// prove reads the key where it is said to be; what was right holds for an hour.
func (b *bridge) prove(ctx context.Context, place, key string) error {
	id := place + " " + key
	b.mu.Lock()
	held := time.Now().Before(b.proved[id])
	b.mu.Unlock()
	if held {
		return nil
	}
	_, text, err := b.get(ctx, place, maxKey)
	if err != nil || strings.TrimSpace(string(text)) != key {
		return errors.New("the key is not at " + place)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.proved) >= maxURLs {
		clear(b.proved)
	}
	b.proved[id] = time.Now().Add(keyHolds)
	return nil
}

func (b *bridge) get(ctx context.Context, from string, most int64) (http.Header, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, nil, err
	}
	answer, err := b.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("%s answers %s", from, answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	return answer.Header, text, err
}

// subscription is one feed at one hub.
type subscription struct {
	topic, secret string
	until         chan time.Duration // what the hub granted
}

// follow subscribes to a feed, and again before the subscription ends.
func (b *bridge) follow(ctx context.Context, feed string) {
	for wait := time.Minute; ctx.Err() == nil; {
		granted, err := b.subscribe(ctx, feed)
		if err == nil {
			wait = max(granted/2, time.Minute)
		} else {
			log.Warnf("%s, tried again in %v: %v", feed, wait, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		if err != nil {
			wait = min(2*wait, 24*time.Hour)
		}
	}
}

// subscribe asks the hub of a feed, under a callback and with a secret of its own, and waits until the hub has asked
// whether that was meant (section 5.3).
func (b *bridge) subscribe(ctx context.Context, feed string) (granted time.Duration, err error) {
	header, text, err := b.get(ctx, feed, maxBody)
	if err != nil {
		return 0, err
	}
	hub, topic, err := discover(feed, header, text)
	if err != nil {
		return 0, err
	}
	id, s := rand.Text(), &subscription{topic: topic, secret: rand.Text(), until: make(chan time.Duration, 1)}
	b.mu.Lock()
	for other, was := range b.topics {
		if was.topic == topic {
			delete(b.topics, other) // the hub has the new callback from now on
		}
	}
	b.topics[id] = s
	b.mu.Unlock()
	answer, err := b.client.PostForm(hub, url.Values{"hub.mode": {"subscribe"}, "hub.topic": {topic},
		"hub.callback": {b.public + "/websub/" + id}, "hub.secret": {s.secret},
		"hub.lease_seconds": {strconv.Itoa(int(lease.Seconds()))}})
	if err != nil {
		return 0, err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted {
		return 0, fmt.Errorf("the hub answers %s", answer.Status)
	}
	select {
	case granted = <-s.until:
		log.Infof("subscribed to %s for %v", topic, granted)
		return granted, nil
	case <-time.After(time.Minute):
		return 0, errors.New("the hub did not ask back within a minute")
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// linkField is one link of a Link field (RFC 8288) with a rel.
var linkField = regexp.MustCompile(`<([^>]*)>[^,]*;\s*rel="?([^",;]+)`)

// discover finds the hub and the name of a feed (section 4): in the answer's Link fields or in the feed.
func discover(feed string, header http.Header, text []byte) (hub, topic string, err error) {
	topic = feed
	is := func(rel, href string) {
		switch rel {
		case "hub":
			hub = href
		case "self":
			topic = href
		}
	}
	for _, link := range linkField.FindAllStringSubmatch(strings.Join(header.Values("Link"), ", "), -1) {
		is(link[2], link[1])
	}
	if hub == "" {
		parsed, err := gofeed.NewParser().Parse(bytes.NewReader(text))
		if err != nil {
			return "", "", err
		}
		if parsed.FeedType == "atom" {
			if of, err := new(atom.Parser).Parse(bytes.NewReader(text)); err == nil {
				for _, link := range of.Links {
					is(link.Rel, link.Href)
				}
			}
		}
		for _, space := range parsed.Extensions { // in RSS
			for _, link := range space["link"] {
				is(link.Attrs["rel"], link.Attrs["href"])
			}
		}
	}
	if hub == "" {
		return "", "", errors.New("it names no hub")
	}
	return hub, topic, nil
}

func (b *bridge) subscription(id string) *subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.topics[id]
}

// verify answers a hub that asks whether a subscription was meant (section 5.3).
func (b *bridge) verify(w http.ResponseWriter, r *http.Request) {
	q, s := r.URL.Query(), b.subscription(r.PathValue("id"))
	seconds, err := strconv.Atoi(q.Get("hub.lease_seconds"))
	if s == nil || q.Get("hub.mode") != "subscribe" || q.Get("hub.topic") != s.topic || err != nil || seconds < 0 {
		http.NotFound(w, r)
		return
	}
	select {
	case s.until <- min(time.Duration(seconds)*time.Second, 10*lease):
	default:
	}
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprint(w, q.Get("hub.challenge"))
}

// published takes what is new in a feed. What is not signed with the secret is passed over, and answered as if it were
// (section 7.1).
func (b *bridge) published(w http.ResponseWriter, r *http.Request) {
	s := b.subscription(r.PathValue("id"))
	if s == nil {
		http.Error(w, "no such subscription", http.StatusGone)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil || !signed(r.Header.Get("X-Hub-Signature"), s.secret, text) {
		log.Warnf("passed over what is not signed by the hub of %s", s.topic)
		return
	}
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(text))
	if err != nil {
		log.Warnf("%s: %v", s.topic, err)
		return
	}
	var urls []string
	for _, item := range feed.Items[:min(len(feed.Items), maxURLs)] {
		if item.Link != "" {
			urls = append(urls, item.Link)
		}
	}
	if len(urls) == 0 {
		return
	}
	if err := b.tell(r.Context(), "websub", urls); err != nil {
		log.Error(err)
		http.Error(w, "the crawl was not told", http.StatusServiceUnavailable) // the hub says it again
	}
}

// signed reports whether a body is signed with a secret: "sha256=…" and the like.
func signed(field, secret string, body []byte) bool {
	method, text, _ := strings.Cut(field, "=")
	made := map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384,
		"sha512": sha512.New}[method]
	want, err := hex.DecodeString(text)
	if made == nil || err != nil {
		return false
	}
	sum := hmac.New(made, []byte(secret))
	sum.Write(body)
	return hmac.Equal(sum.Sum(nil), want)
}
