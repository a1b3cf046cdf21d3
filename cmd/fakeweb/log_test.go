package fakeweb

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func insecure() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

func TestPacesAndOverlaps(t *testing.T) {
	e := func(host, path string, start, end float64) Entry {
		return Entry{Host: host, Path: path, Start: at(start), End: at(end), Status: 200}
	}
	log := []Entry{
		e("a", "/1", 5, 6), e("a", "/2", 0, 1), e("a", "/robots.txt", 9, 9.5), // apart: 5 and 4
		e("b", "/1", 0, 10), e("b", "/2", 2, 3), e("b", "/1", 4, 5), // both inside the first
		e("c", "/1", 0, 1), e("c", "/2", 0.999, 2), // by a millisecond
		e("d", "/robots.txt", 0, 1), e("d", "/robots.txt", 1, 2),
	}
	paces := Paces(log)
	for i, want := range []time.Duration{4 * time.Second, 2 * time.Second, 999 * time.Millisecond, time.Second} {
		if paces[i].Shortest != want {
			t.Errorf("%s: %v, want %v", paces[i].Origin, paces[i].Shortest, want)
		}
	}
	if p := paces[0]; p.Requests != 3 || p.Before.Path != "/1" || p.After.Path != "/robots.txt" {
		t.Errorf("%+v", p)
	}
	if p, ok := Shortest(log); !ok || p.Origin != "http://c" {
		t.Errorf("%+v", p)
	}
	if _, ok := Shortest(log[:1]); ok {
		t.Error("one request has no interval")
	}
	for slack, want := range map[time.Duration]int{0: 3, 2 * time.Millisecond: 2, time.Second: 0} {
		if got := Overlaps(log, slack); len(got) != want {
			t.Errorf("slack %v: %d overlaps, want %d", slack, len(got), want)
		}
	}
	if r := Repeats(log); len(r) != 1 || r["http://b/1"] != 2 {
		t.Errorf("repeats %v", r)
	}
	if v := Visits(log); len(v) != 6 {
		t.Errorf("visits %v", v)
	}
}

func TestLogFileSaysWhatTheMemoryKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "access.log")
		w, err := New(Options{Hosts: 3, Pages: 20, LogFile: path, Latency: Latency{Mean: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		c := client(t, w)
		for n := range 60 {
			req, _ := http.NewRequest("GET", w.PageURL(n%3, n/3, 0), nil)
			req.Header.Set("User-Agent", fmt.Sprint("henro/", n%2))
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		}
		time.Sleep(flushAfter) // what a reader sees while the web runs
		synctest.Wait()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.Collect(bytes.Lines(text))
		log := w.Log()
		if len(lines) != 60 || len(log) != 60 {
			t.Fatalf("%d in the file, %d in memory", len(lines), len(log))
		}
		for i, e := range log {
			if want := e.append(nil); !bytes.Equal(lines[i], want) {
				t.Fatalf("%q in the file, %q in memory", lines[i], want)
			}
			if e.End.Sub(e.Start) != time.Second || e.Status != 200 || e.Bytes < 1000 {
				t.Fatalf("%+v", e)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestLogInMemoryIsBounded(t *testing.T) {
	l, err := openLog(10, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 25 {
		l.add(Entry{Status: i})
	}
	log := l.entries()
	if len(log) != 10 || log[0].Status != 15 || log[9].Status != 24 {
		t.Errorf("%v", log)
	}
}

func TestALineOfTheLogFile(t *testing.T) {
	e := Entry{Host: "h:81", Path: "/a\tb", Start: time.Unix(1, 5), End: time.Unix(2, 0), Status: 200, Bytes: 7,
		Conn: 3, From: netip.MustParseAddrPort("127.0.0.1:9"), Secure: true, Agent: "x\ny"}
	want := "1000000005\t2000000000\thttps\th:81\t/a?b\t200\t7\t3\t-\t127.0.0.1:9\tx?y\n"
	if got := string(e.append(nil)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	e = Entry{Host: "h", Path: "/", Start: time.Unix(1, 0), End: time.Unix(2, 0), Aborted: true}
	want = "1000000000\t2000000000\thttp\th\t/\t0\t0\t0\taborted\t-\t\n"
	if got := string(e.append(nil)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
