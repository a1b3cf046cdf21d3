package pictures

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"henro/actors/reading"
	"henro/master/lending"
	"henro/messages"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/report/changes"
)

const page = "http://docs.test/tea?a=b&c"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// taken is a picture of the page.
func taken(name string, day int, is string) warc.Record {
	return warc.Record{TargetURI: name + page, ContentType: "image/png", Body: []byte(is),
		Date: noon.AddDate(0, 0, day)}
}

// keep writes pictures into a folder, as a file that still grows or one that is finished.
func keep(t *testing.T, dir, name string, open bool, all ...warc.Record) {
	t.Helper()
	b, err := warc.NewBuilder(warc.Options{Compression: warc.Gzip, Level: 3})
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for _, r := range all {
		r.Type, r.PayloadDigest = warc.Resource, warc.Sum(r.Body)
		data = b.Append(data, &r)
	}
	folder := filepath.Join(dir, "warc")
	path := filepath.Join(folder, name+".warc.gz")
	err = errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(path, data, 0o600), cdxj.IndexFile(path))
	if open {
		index := filepath.Join(folder, name+cdxj.Suffix)
		err = errors.Join(err, os.Rename(path, path+warc.OpenSuffix), os.Rename(index, index+warc.OpenSuffix))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// post carries messages to another system, as bytes.
type post struct{ to *actor.ActorSystem }

func (p post) SendUserMessage(pid *actor.PID, message any) {
	_, inner, sender := actor.UnwrapEnvelope(message)
	if sender != nil {
		sender = actor.NewPID(sender.Address, sender.Id)
	}
	p.to.Root.RequestWithCustomSender(actor.NewPID(pid.Address, pid.Id), proto.Clone(inner.(proto.Message)), sender)
}
func (post) SendSystemMessage(*actor.PID, any) {}
func (post) Stop(*actor.PID)                   {}

// nodes are systems that reach each other.
func nodes(t *testing.T, names ...string) map[string]*actor.ActorSystem {
	all := map[string]*actor.ActorSystem{}
	for _, name := range names {
		system := actor.NewActorSystem()
		t.Cleanup(func() { system.Shutdown() })
		system.ProcessRegistry.Address = name
		system.ProcessRegistry.RegisterAddressResolver(func(pid *actor.PID) (actor.Process, bool) {
			to, is := all[pid.Address]
			return post{to}, is
		})
		all[name] = system
	}
	return all
}

// get asks for a picture.
func get(a *Album, path string) (int, string, string) {
	w := httptest.NewRecorder()
	a.Serve(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Header().Get("Content-Type"), w.Body.String()
}

// A version has the pictures before and with it, wherever they lie: in files of the crawl's own that are finished or
// still grow, and with slaves. One that is silent is named, and so is one that is gone when a picture is asked for.
func TestPicturesAreShownWhereverTheyLie(t *testing.T) {
	own, bee := t.TempDir(), t.TempDir()
	keep(t, own, "a", false, taken("urn:view:", 0, "own one"), taken("urn:view-390:", 0, "narrow one"),
		taken("urn:thumbnail:", 1, "none"))
	keep(t, own, "b", true, taken("urn:view:", 1, "own two"), taken("urn:view-390:", 1, "narrow one"))
	keep(t, bee, "c", true, taken("urn:view:", 2, "of bee"), taken("urn:view-390:", 2, "narrow of bee"),
		taken("urn:view:", 3, strings.Repeat("x", bytesSent+1)))
	all := nodes(t, "master:1", "bee:1", "mute:1")
	if err := Start(all["bee:1"], bee); err != nil {
		t.Fatal(err)
	}
	there := []lending.SlaveStatus{{Name: "self", Address: "master:1"}, {Name: "bee", Address: "bee:1"},
		{Name: "mute", Address: "mute:1"}, {Name: "new"}}
	a := New(own, all["master:1"], func(context.Context) ([]lending.SlaveStatus, error) { return there, nil })
	ask := a.ask
	a.ask = func(address string, asked *messages.PicturesAsked, limit time.Duration) *messages.PicturesTold {
		if address == "mute:1" {
			return nil
		}
		return ask(address, asked, limit)
	}
	captures := []reading.Capture{{At: noon.AddDate(0, 0, 1), Change: reading.ChangeSome},
		{At: noon.Add(time.Hour), Change: reading.ChangeNone}, {At: noon, Change: reading.ChangeFirst}}
	told := []changes.Change{{URL: page, At: noon.AddDate(0, 0, 2)}, {URL: page, At: noon.AddDate(0, 0, 3)},
		{URL: page + "d", At: noon.AddDate(0, 0, 1).Add(time.Second)}}
	v := a.Of(t.Context(), page, captures, told)
	got := ""
	for day := range 4 {
		for _, l := range v.At(noon.AddDate(0, 0, day)) {
			_, kind, before := get(a, l.Before.Path())
			status, _, after := get(a, l.After.Path())
			got += fmt.Sprintf("%d: %d %s %s, %.30s %d %s\n", day, l.Width, kind, before,
				after[strings.LastIndex(after[:max(0, len(after)-13)], ">")+1:], status, l.After.Node)
		}
	}
	if want := "1: 1280 image/png own one, own two 200 \n2: 1280 image/png own two, of bee 200 bee\n" +
		"2: 390 image/png narrow one, narrow of bee 200 bee\n" +
		"3: 1280 image/png of bee, bee: the picture has more than 502 bee\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if fmt.Sprint(v.Silent) != "[mute]" {
		t.Errorf("silent: %v", v.Silent)
	}
	path := v.At(noon.AddDate(0, 0, 2))[0].After.Path()
	there = nil
	if status, kind, text := get(a, path); status != 502 || kind != "image/svg+xml" ||
		!strings.Contains(text, "bee, which has the picture, is not there") {
		t.Errorf("of a slave that is gone: %d %s %s", status, kind, text)
	}
	for _, query := range []string{"", "url=" + url.QueryEscape(page), "width=1280&at=20260301120000&url=" +
		url.QueryEscape(page+"d"), "width=640&at=20260301120000&url=" + url.QueryEscape(page),
		"width=1280&at=now&url=" + url.QueryEscape(page)} {
		if status, kind, _ := get(a, "/picture?"+query); status != 404 || kind != "image/svg+xml" {
			t.Errorf("%q: %d %s", query, status, kind)
		}
	}
}

// What a slave says is believed only as far as it goes: of pictures so many, of one so many bytes, and no script.
func TestASlaveThatLiesIsBounded(t *testing.T) {
	all := nodes(t, "master:1")
	a := New(t.TempDir(), all["master:1"], func(context.Context) ([]lending.SlaveStatus, error) {
		return []lending.SlaveStatus{{Name: `<bee>`, Address: "bee:1"}}, nil
	})
	said := &messages.PicturesTold{}
	asked := 0
	a.ask = func(string, *messages.PicturesAsked, time.Duration) *messages.PicturesTold { asked++; return said }
	for range 10 * most {
		said.Pictures = append(said.Pictures, &messages.Picture{Width: 1280, AtUnix: 1 << 62,
			Digest: strings.Repeat("x", 1000)})
	}
	told := []changes.Change{{URL: page, At: noon}}
	for range 3 {
		a.Of(t.Context(), page, nil, told)
	}
	known := a.seen[page].all
	if len(known) != 2*most || len(known[0].Digest) != digest || asked != 1 {
		t.Errorf("%d pictures, digests of %d bytes, asked %d times", len(known), len(known[0].Digest), asked)
	}
	path := "/picture?width=1280&at=20260301120000&node=%3Cbee%3E&url=" + url.QueryEscape(page)
	for _, lie := range []*messages.PicturesTold{nil, {Failed: "<script>"},
		{Type: "text/html", Body: []byte("<script>")}, {Type: "image/png", Body: make([]byte, bytesSent+1)}} {
		said = lie
		if status, kind, text := get(a, path); status != 502 || kind != "image/svg+xml" ||
			strings.Contains(text, "<bee") || strings.Contains(text, "<script") {
			t.Errorf("%v: %d %s %.300s", lie.GetType(), status, kind, text)
		}
	}
	for i := range 2 * pages {
		url := fmt.Sprint(page, i)
		a.Of(t.Context(), url, nil, []changes.Change{{URL: url}})
	}
	a.slaves = func(context.Context) ([]lending.SlaveStatus, error) { return nil, errors.New("no answer") }
	if v := a.Of(t.Context(), page, nil, told); v.Failed != "no answer" || v.At(noon) != nil {
		t.Errorf("without the list of slaves: %+v", v)
	}
	if len(a.seen) > pages {
		t.Errorf("the pictures of %d pages are known", len(a.seen))
	}
}
