package mirrors_test

import (
	"fmt"
	"reflect"
	"testing"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
	"henro/store/report/mirrors"
	"henro/store/report/tables"
	"henro/store/report/tables/tablestest"
)

// stateOf makes the state of a crawl from URLs and their texts.
func stateOf(t *testing.T, texts map[string]string) *store.State {
	t.Helper()
	dir := t.TempDir()
	o := store.DefaultOptions()
	o.NoSync = true
	state, err := store.OpenState(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for url, text := range texts {
		host := weburl.HostOf(url)
		b := store.NewBatch(tablestest.Noon)
		b.PutHost(store.HostRecord{ID: store.IDOf(host), Name: host, NextAllowed: tablestest.Noon})
		b.Visit(store.Visited{Page: store.Page{URL: url, DepthLeft: outlink.UnlimitedDepth, Status: 200,
			LastVisit: tablestest.Noon, CapturedAt: tablestest.Noon, MainDigest: fingerprint.Main([]byte(text)),
			SimHash: 1}})
		if _, err := state.Partitions[state.PartitionOf(host)].Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	if state, err = tablestest.Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	return state
}

func TestFoldersWithTheSamePagesAreFound(t *testing.T) {
	site := func(texts map[string]string, folder, version string, from, to int) {
		for i := from; i < to; i++ {
			texts[fmt.Sprintf("%spart%d/page%d.html?of=a/b", folder, i%3, i)] = fmt.Sprint(version, i)
		}
	}
	folder := func(url string, pages int64, coverage float64) mirrors.Folder {
		return mirrors.Folder{URL: url, Pages: pages, Coverage: coverage}
	}
	for name, c := range map[string]struct {
		fill func(map[string]string)
		want []mirrors.Mirror
	}{
		"nothing is the same": {func(texts map[string]string) {
			site(texts, "http://a.test/", "one", 0, 20)
			site(texts, "http://b.test/", "two", 0, 20)
		}, nil},
		"the same texts under other names are no mirror": {func(texts map[string]string) {
			for i := range 20 {
				texts[fmt.Sprintf("http://a.test/%d", i)] = fmt.Sprint(i)
				texts[fmt.Sprintf("http://b.test/%d", i+1)] = fmt.Sprint(i)
			}
		}, nil},
		"a folder within a larger host": {func(texts map[string]string) {
			site(texts, "http://a.test/doc/", "one", 0, 30)
			site(texts, "http://a.test/", "other", 0, 30)
			site(texts, "http://b.test/pub/doc/", "one", 0, 27)
		}, []mirrors.Mirror{{27, folder("http://a.test/doc/", 30, 0.9), folder("http://b.test/pub/doc/", 27, 1)}}},
		"four names of a host, and nothing that lies within them": {func(texts map[string]string) {
			for _, host := range []string{"http://a.test/", "http://www.a.test/", "https://a.test:81/",
				"http://c.test/"} {
				site(texts, host, "one", 0, 24)
				texts[host] = host // the front pages differ
			}
			delete(texts, "http://c.test/")
		}, []mirrors.Mirror{
			{24, folder("http://a.test/", 25, 24./25), folder("http://c.test/", 24, 1)},
			{24, folder("http://a.test/", 25, 24./25), folder("http://www.a.test/", 25, 24./25)},
			{24, folder("http://a.test/", 25, 24./25), folder("https://a.test:81/", 25, 24./25)},
		}},
		"a folder within the folder that it is a mirror of": {func(texts map[string]string) {
			site(texts, "http://a.test/", "one", 0, 20)
			site(texts, "http://a.test/old/", "one", 0, 15)
			site(texts, "http://a.test/old/old/", "one", 0, 9) // as a link without end makes them: too few pages
		}, []mirrors.Mirror{{15, folder("http://a.test/old/", 24, 15./24), folder("http://a.test/", 20, 0.75)}}},
		"too small a part of both": {func(texts map[string]string) {
			site(texts, "http://a.test/", "one", 0, 30)
			site(texts, "http://b.test/", "one", 15, 45)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			texts := map[string]string{}
			c.fill(texts)
			source := &tables.Source{State: stateOf(t, texts), Temp: t.TempDir()}
			o := mirrors.Options{Pages: 10, Coverage: 0.7}
			for _, memory := range []int{0, 1000} { // with 1000 bytes, everything goes by way of files
				source.Memory = memory
				got, err := mirrors.Find(t.Context(), source, o, nil)
				if err != nil || !reflect.DeepEqual(got, c.want) {
					t.Errorf("memory %d: %v\n got %+v\nwant %+v", memory, err, got, c.want)
				}
			}
		})
	}
}
