package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// parser reads the lines of strace -f -y -xx -ttt.
type parser struct {
	root    string
	begun   map[string]string // by thread: a call that another thread interrupted
	at      map[string]int64  // by descriptor: where the next write goes
	appends map[string]bool   // descriptors that write to the end
	when    float64           // of the line, in seconds
	events  []event
}

var errCut = errors.New("cannot be read")

func (p *parser) line(text string) error {
	thread, text, _ := strings.Cut(text, " ")
	when, text, _ := strings.Cut(strings.TrimSpace(text), " ")
	var err error
	if p.when, err = strconv.ParseFloat(when, 64); err != nil {
		return errCut
	}
	if strings.HasPrefix(text, "+++") || strings.HasPrefix(text, "---") {
		return nil
	}
	if head, ok := strings.CutSuffix(text, "<unfinished ...>"); ok {
		p.begun[thread] = head
		return nil
	}
	if strings.HasPrefix(text, "<... ") {
		_, rest, found := strings.Cut(text, " resumed>")
		if !found {
			return errCut
		}
		text = p.begun[thread] + rest
	}
	call, rest, found := strings.Cut(text, "(")
	i := strings.LastIndex(rest, ") = ")
	if !found {
		return errCut
	}
	if i < 0 {
		i = strings.LastIndex(rest, " = ") // strace pads short calls
	}
	if i < 0 {
		return errCut
	}
	result := strings.TrimSpace(rest[strings.LastIndex(rest, " = ")+3:])
	if strings.HasPrefix(result, "-1") || strings.HasPrefix(result, "?") {
		return nil
	}
	arguments := split(strings.TrimSpace(rest[:i]))
	return p.call(call, arguments, result)
}

// split cuts arguments at commas outside of quotes.
func split(text string) (all []string) {
	quoted, from := false, 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ',' && !quoted:
			all, from = append(all, strings.TrimSpace(text[from:i])), i+1
		}
	}
	return append(all, strings.TrimSpace(strings.TrimSuffix(text[from:], ")")))
}

// unquote reads a string of \xNN.
func unquote(text string) ([]byte, error) {
	if strings.HasSuffix(text, "...") || len(text) < 2 || text[0] != '"' {
		return nil, errCut
	}
	return unhex(text[1 : len(text)-1])
}

func unhex(text string) ([]byte, error) {
	data := make([]byte, 0, len(text)/4)
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			data = append(data, text[i])
			i++
			continue
		}
		if i+4 > len(text) || text[i+1] != 'x' {
			return nil, errCut
		}
		b, err := strconv.ParseUint(text[i+2:i+4], 16, 8)
		if err != nil {
			return nil, errCut
		}
		data = append(data, byte(b))
		i += 4
	}
	return data, nil
}

// file is the path of a descriptor, N<PATH>, from the root; empty: it is none of ours.
func (p *parser) file(descriptor string) (number, path string) {
	number, rest, found := strings.Cut(descriptor, "<")
	if !found {
		return number, ""
	}
	name, err := unhex(strings.TrimSuffix(rest, ">"))
	if err != nil {
		return number, ""
	}
	return number, p.below(string(name))
}

func (p *parser) below(path string) string {
	inside, err := filepath.Rel(p.root, path)
	if err != nil || inside == ".." || strings.HasPrefix(inside, "../") || !filepath.IsAbs(path) {
		return ""
	}
	return inside
}

func (p *parser) named(quoted string) (string, error) {
	name, err := unquote(quoted)
	return p.below(string(name)), err
}

// call notes what a call did.
func (p *parser) call(call string, a []string, result string) error {
	add := func(e event) {
		e.when = p.when
		p.events = append(p.events, e)
	}
	number, path := p.file(a[0])
	switch call {
	case "openat":
		fd, path := p.file(result)
		if path == "" {
			return nil
		}
		p.at[fd], p.appends[fd] = 0, strings.Contains(a[2], "O_APPEND")
		if strings.Contains(a[2], "O_WRONLY") || strings.Contains(a[2], "O_RDWR") || strings.Contains(a[2], "O_CREAT") {
			add(event{what: opened, path: path, makes: strings.Contains(a[2], "O_CREAT"),
				empties: strings.Contains(a[2], "O_TRUNC")})
		}
		return nil
	case "mkdirat", "unlinkat":
		path, err := p.named(a[1])
		if path == "" || err != nil {
			return err
		}
		add(event{what: map[string]happening{"mkdirat": folder, "unlinkat": removed}[call], path: path})
		return nil
	case "mkdir", "rmdir", "unlink":
		path, err := p.named(a[0])
		if path == "" || err != nil {
			return err
		}
		add(event{what: map[string]happening{"mkdir": folder, "rmdir": removed, "unlink": removed}[call], path: path})
		return nil
	case "rename", "renameat", "renameat2":
		from, to := a[0], a[1]
		if call != "rename" {
			from, to = a[1], a[3]
		}
		path, err := p.named(from)
		other, err2 := p.named(to)
		if path != "" && err == nil && err2 == nil {
			add(event{what: renamed, path: path, to: other})
		}
		return errors.Join(err, err2)
	}
	if path == "" {
		return nil
	}
	switch call {
	case "write":
		data, err := unquote(a[1])
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(result, 10, 64)
		if err != nil || n > int64(len(data)) {
			return errCut
		}
		at := p.at[number]
		if p.appends[number] {
			at = p.size(path)
		}
		p.at[number] = at + n
		add(event{what: written, path: path, at: at, data: data[:n]})
	case "pwrite64":
		data, err := unquote(a[1])
		at, err2 := strconv.ParseInt(a[3], 10, 64)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		add(event{what: written, path: path, at: at, data: data})
	case "lseek":
		at, err := strconv.ParseInt(result, 10, 64)
		if err != nil {
			return errCut
		}
		p.at[number] = at
	case "ftruncate":
		size, err := strconv.ParseInt(a[1], 10, 64)
		if err != nil {
			return errCut
		}
		add(event{what: cutTo, path: path, at: size})
	case "fallocate": // zeros to the file, and no more to the disk than a longer file
		var offset, length int64
		if _, err := fmt.Sscan(strings.Join(a[2:], " "), &offset, &length); err != nil || a[1] != "0" {
			return fmt.Errorf("fallocate of %s is not understood", path)
		}
		add(event{what: cutTo, path: path, at: max(p.size(path), offset+length)})
	case "fsync", "fdatasync":
		add(event{what: flushed, path: path})
	case "sync_file_range": // promises nothing
	default:
		return fmt.Errorf("%s of %s is not understood", call, path)
	}
	return nil
}

// size is how long a file is after what has been recorded.
func (p *parser) size(path string) (size int64) {
	for i := range p.events {
		switch e := &p.events[i]; {
		case e.what == opened && e.path == path && e.empties:
			size = 0
		case e.what == written && e.path == path:
			size = max(size, e.at+int64(len(e.data)))
		case e.what == cutTo && e.path == path:
			size = e.at
		case e.what == renamed && e.to == path:
			size = p.size2(i, e.path)
		}
	}
	return size
}

// size2 is how long a file was before an event.
func (p *parser) size2(before int, path string) int64 {
	earlier := parser{events: p.events[:before]}
	return earlier.size(path)
}
