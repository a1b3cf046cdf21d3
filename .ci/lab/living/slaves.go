package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

// leases gives hosts back often, so that another slave may have them: --page-budget of a crawl by several.
const leases = "12"

// together makes a crawl by a master and several slaves, each with a browser of its own, and lays their archives
// together. It returns what the master said.
func (l *lab) together(ctx context.Context, crawl *exec.Cmd, dir string) ([]byte, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	gossip := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	seeds := filepath.Join(dir, "seeds.txt")
	if err := os.WriteFile(seeds, []byte(crawl.Args[len(crawl.Args)-1]+"\n"), 0o600); err != nil {
		return nil, err
	}
	ours := slices.Clone(crawl.Args[2 : len(crawl.Args)-1]) // without the program, the verb and the URL
	if i := slices.Index(ours, "--browser-path"); i >= 0 {
		ours = slices.Delete(ours, i, i+2)
	}
	if l.delay > 0 { // else as fast as it goes
		ours = append(ours, "--page-budget", leases)
	}
	start := func(program string, arguments ...string) (*exec.Cmd, *bytes.Buffer, error) {
		path, said := filepath.Join(filepath.Dir(l.henro), program), &bytes.Buffer{}
		cmd := exec.CommandContext(ctx, path, arguments...)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = time.Minute
		cmd.Stdout, cmd.Stderr = said, said
		return cmd, said, cmd.Start()
	}
	master, said, err := start("henro-master", append(ours, "--seeds", seeds, "--name", "master", "--gossip", gossip,
		"--actors", "127.0.0.1:0")...)
	if err != nil {
		return nil, err
	}
	var slaves []*exec.Cmd
	for i := range l.slaves {
		slave, _, err := start("henro-slave", "--join", gossip, "--name", name(i), "--dir", filepath.Join(dir, name(i)),
			"--browser-path", l.path, "--log-level", "error")
		if err != nil {
			return nil, err
		}
		slaves = append(slaves, slave)
	}
	err = master.Wait()
	for _, slave := range slaves {
		_ = slave.Process.Signal(os.Interrupt)
	}
	for _, slave := range slaves {
		_ = slave.Wait() // it was interrupted
	}
	for i := range slaves {
		if err := join(filepath.Join(dir, name(i), "warc"), filepath.Join(dir, "warc")); err != nil {
			return nil, err
		}
	}
	return said.Bytes(), err
}

func name(slave int) string { return fmt.Sprintf("slave%d", slave+1) }

// join links the WARC files of one archive into another.
func join(from, to string) error {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(from, "*.warc*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := os.Link(file, filepath.Join(to, filepath.Base(file))); err != nil {
			return err
		}
	}
	return nil
}

// part is what a slave did of a crawl by several: pages of the site that it fetched, those of them that it rendered,
// and what it fetched that stands in no page, and only scripts or rules name.
type part struct{ pages, rendered, unwritten int }

// parts says what each slave did.
func (l *lab) parts(s *Site, dir string) ([]part, error) {
	var all []part
	for i := range l.slaves {
		archive, err := captures.Open(filepath.Join(dir, name(i), "warc"), func(string) {})
		if err != nil {
			return nil, err
		}
		var p part
		err = archive.Entries(func(e cdxj.Entry) bool {
			path, own := strings.CutPrefix(e.URL, l.root(s))
			switch {
			case strings.HasPrefix(e.URL, "urn:view:"):
				p.rendered++
			case own && slices.Contains(s.Pages, path) && e.Status == 200:
				p.pages++
			case own && strings.HasPrefix(path, "/data/"):
				p.unwritten++
			}
			return true
		})
		if err := archive.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// sayParts prints what each slave did.
func (l *lab) sayParts(s *Site, way, dir string) error {
	all, err := l.parts(s, dir)
	if err != nil {
		return err
	}
	for i, p := range all {
		fmt.Printf("      %s, --browser %s: %s fetched %d pages and rendered %d; %d parts that stand in no page\n",
			s.Name, way, name(i), p.pages, p.rendered, p.unwritten)
	}
	return nil
}
