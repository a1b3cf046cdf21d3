package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sirupsen/logrus"

	"henro/.ci/lab/process"
	"henro/actors/collect"
	"henro/cmd/config"
	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// rows are how often fill tells.
const rows = 10

// send prints what a slave holds in memory that brings files into a bucket, by captures sent. The rest of a slave,
// which makes captures, is not there.
func (l *lab) send(captures int) (err error) {
	fmt.Println("| captures sent | files | living, MB | resident, MB | s |\n|---|---|---|---|---|")
	began := time.Now()
	return l.fill(captures, func(string) error { return nil }, func(made, files int) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		fmt.Printf("| %d | %d | %.1f | %.0f | %.0f |\n", made, files, float64(m.HeapAlloc)/1e6, resident(),
			time.Since(began).Seconds())
	})
}

// fill writes files of small captures and brings them into the bucket, as a slave does that keeps its index too. before
// is called with each file that is finished, and told rows times with how many captures and files there are.
func (l *lab) fill(captures int, before func(file string) error, told func(made, files int)) (err error) {
	if l.at, err = process.FreePort(); err == nil {
		err = errors.Join(l.environment(), os.Mkdir(l.path("warc"), 0o755), l.startStore())
	}
	if err != nil {
		return err
	}
	where, err := config.FindBucket(archive)
	if err != nil {
		return err
	}
	place, err := collect.NewBucket(where)
	if err != nil {
		return err
	}
	keeper, err := bucket.NewKeeper(where)
	if err != nil {
		return err
	}
	log := logrus.New()
	log.SetLevel(logrus.WarnLevel)
	place.Brought = keeper.Brought
	go keeper.Run(l.ctx, func(_ bucket.Added, err error) {
		if err != nil && l.ctx.Err() == nil {
			log.Warn(err)
		}
	})
	o := warc.DefaultWriterOptions()
	o.Dir, o.MaxFile = l.path("warc"), 4_000_000
	writer, err := warc.NewWriter(o)
	if err != nil {
		return err
	}
	s := collect.DefaultSenderOptions()
	s.Dir, s.Prefix, s.Place = o.Dir, o.Prefix, place
	sender, err := collect.NewSender(s, logrus.NewEntry(log))
	if err != nil {
		return err
	}
	files := 0
	for made := range rows {
		for i := range captures / rows {
			if err := l.capture(writer, made*(captures/rows)+i); err != nil {
				return err
			}
			if last := i == captures/rows-1; !last && !writer.Full(0) {
				continue
			}
			name, err := writer.Finish()
			if err == nil {
				err = cdxj.IndexFile(filepath.Join(o.Dir, name))
			}
			if err == nil {
				err = before(filepath.Join(o.Dir, name))
			}
			if err == nil {
				err = l.pass(sender)
			}
			if err != nil {
				return err
			}
			files++
		}
		told((made+1)*(captures/rows), files)
	}
	return nil
}

// pass sends what there is. The store may not be there at first.
func (l *lab) pass(sender *collect.Sender) (err error) {
	for range 50 {
		if _, err = sender.Pass(l.ctx); err == nil {
			return nil
		}
		if err := l.wait(200 * time.Millisecond); err != nil {
			return err
		}
	}
	return err
}

func (l *lab) capture(w *warc.Writer, i int) error {
	if l.builder == nil {
		var err error
		if l.builder, err = warc.NewBuilder(warc.DefaultOptions()); err != nil {
			return err
		}
	}
	at, uri := made(i)
	l.records, _ = l.builder.AppendExchange(l.records[:0], &warc.Exchange{URI: uri, At: at,
		Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
		Body: fmt.Appendf(nil, "<title>Page %d</title><p>Of it there is little to say.", i)})
	_, err := w.Append(l.records)
	return err
}

// made says when and where a capture was made.
func made(i int) (at time.Time, uri string) {
	return time.Unix(1_790_000_000+int64(i), 0), fmt.Sprintf("https://host%d.example/guide/%d.html", i%1000, i)
}

// resident is what the process has in memory, in MB.
func resident() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := bytes.Cut(status, []byte("VmRSS:"))
	var kb float64
	_, _ = fmt.Sscan(string(after), &kb)
	return kb / 1e3
}
