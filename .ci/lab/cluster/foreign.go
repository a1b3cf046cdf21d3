package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"henro/.ci/lab/play"
	"henro/.ci/lab/process"
	"henro/master/lending"
	"henro/messages"
)

// foreign lets a slave join whose protocol is one ahead, which works like any other, and one whose protocol is two
// ahead, which is refused, on both sides with a word in the log. The programs are this tree's, but for the number.
func foreign(ctx context.Context, t *trial) error {
	ahead, err := t.otherProtocol(ctx, messages.Protocol+1)
	if err != nil {
		return err
	}
	tooFar, err := t.otherProtocol(ctx, messages.Protocol+2)
	if err != nil {
		return err
	}
	next, stranger := t.slaves[0], t.slaves[1]
	next.bin, stranger.bin = ahead, tooFar
	if err := t.under(ctx, 0.3); err != nil {
		return err
	}
	if err := t.worked(ctx, next); err != nil {
		return err
	}
	status, err := t.status(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(status.Slaves, func(s lending.SlaveStatus) bool { return s.Name == stranger.name })
	if i < 0 || status.Slaves[i].State != lending.Refused {
		return fmt.Errorf("%s is not shown as refused", stranger.name)
	}
	for _, e := range t.web.Log() {
		if e.From.Addr() == stranger.web {
			return fmt.Errorf("%s was refused, and asked for %s", stranger.name, e.URL())
		}
	}
	for _, n := range []*node{t.master, stranger} {
		if !strings.Contains(n.Log(), "member refused") {
			return fmt.Errorf("%s has not logged that it refuses the other", n.name)
		}
	}
	t.note("protocol %d refused, protocol %d at work", messages.Protocol+2, messages.Protocol+1)
	stranger.bin = t.o.bin
	if err := errors.Join(stranger.Signal(syscall.SIGTERM), stranger.Await(ctx, process.Patience, 0)); err != nil {
		return err
	}
	if err := stranger.start(); err != nil {
		return err
	}
	at := time.Now()
	for !t.heard(ctx, stranger) {
		if err := t.master.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		if time.Since(at) > process.Patience {
			return fmt.Errorf("%s does not work with the programs that fit; %s", stranger.name, stranger.LastWords())
		}
	}
	t.note("with the programs that fit welcomed after %s", play.MS(time.Since(at)))
	return nil
}

// otherProtocol builds the slave of this tree with another number of its protocol.
func (t *trial) otherProtocol(ctx context.Context, number int) (string, error) {
	bin := t.path(fmt.Sprintf("protocol-%d", number))
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	file, err := filepath.Abs("messages/protocol.go")
	if err != nil {
		return "", err
	}
	changed := filepath.Join(bin, "protocol.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(bin, "overlay.json")
	source := fmt.Sprintf("package messages\n\n// Protocol is of a version to come.\nconst Protocol = %d\n", number)
	if err := errors.Join(os.WriteFile(changed, []byte(source), 0o644),
		os.WriteFile(list, overlay, 0o644)); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-overlay", list, "-ldflags",
		fmt.Sprintf("-X main.version=protocol-%d", number), "-o", bin+"/", "./cmd/henro-slave")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build with protocol %d: %w: %s", number, err, out)
	}
	return bin, nil
}
