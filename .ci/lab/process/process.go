// Package process starts the programs of a lab, and ends them by their own handles only.
//
// What a process writes is appended to a file named after it, beside what was done to it, so that the file tells the
// whole story.
package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrEarly says that a process was over, in good order, before anything could be done to it.
var ErrEarly = errors.New("ended too early")

// Patience bounds every wait for what takes a moment on a machine that has time; nothing is judged by it. A machine of
// a CI stands still for seconds at times.
const Patience = time.Minute

// Process is one start of one program.
type Process struct {
	Name  string
	Begun time.Time
	Over  <-chan struct{} // closed when it has ended
	Ended time.Time       // once over

	cmd *exec.Cmd
	log *os.File
	at  int64 // where its part of the log begins
	err error // of Wait, once over
}

// Group is the processes of one trial; End ends what is left of them.
type Group struct {
	Dir string // of their logs

	mu  sync.Mutex
	all []*Process
}

// Start begins a program whose output is appended to NAME.log.
func (g *Group) Start(name, program string, arguments ...string) (*Process, error) {
	return g.start(name, exec.Command(program, arguments...), nil)
}

// StartTraced begins a program that stands still before its first instruction, hands its number to prepare, and lets it
// run. The caller must have locked its thread, which is the only one that may look into the process meanwhile.
func (g *Group) StartTraced(prepare func(pid int) error, name, program string, arguments ...string) (*Process, error) {
	cmd := exec.Command(program, arguments...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	return g.start(name, cmd, prepare)
}

func (g *Group) start(name string, cmd *exec.Cmd, prepare func(pid int) error) (*Process, error) {
	log, err := os.OpenFile(filepath.Join(g.Dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	over := make(chan struct{})
	p := &Process{Name: name, Over: over, cmd: cmd, log: log}
	if info, err := log.Stat(); err == nil {
		p.at = info.Size()
	}
	cmd.Stdout, cmd.Stderr = log, log
	p.Note("%s %v", filepath.Base(cmd.Path), cmd.Args[1:])
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if prepare != nil {
		err = prepare(cmd.Process.Pid)
	}
	p.Begun = time.Now()
	g.mu.Lock()
	g.all = append(g.all, p)
	g.mu.Unlock()
	go func() {
		p.err = cmd.Wait()
		p.Ended = time.Now()
		close(over)
	}()
	if err != nil {
		p.end()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// End ends what still runs.
func (g *Group) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.all {
		p.end()
		p.log.Close()
	}
	g.all = nil
}

func (p *Process) end() {
	if p.Running() {
		p.cmd.Process.Signal(syscall.SIGCONT)
		p.cmd.Process.Kill()
		<-p.Over
	}
}

// Note writes into the log what is done to the process.
func (p *Process) Note(format string, args ...any) {
	fmt.Fprintf(p.log, "--- %s %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

// Signal sends a signal; ErrEarly when the process has ended in good order just before.
func (p *Process) Signal(what syscall.Signal) error {
	p.Note("%s", what)
	err := p.cmd.Process.Signal(what)
	if errors.Is(err, os.ErrProcessDone) {
		if <-p.Over; p.Code() == 0 {
			return fmt.Errorf("%s to %s: %w", what, p.Name, ErrEarly)
		}
	}
	if err != nil {
		return fmt.Errorf("%s to %s: %w; %s", what, p.Name, err, p.LastWords())
	}
	return nil
}

// Kill ends the process without a word, and returns when.
func (p *Process) Kill() (time.Time, error) {
	at := time.Now()
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return at, err
	}
	<-p.Over
	return at, nil
}

// Running reports whether it has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.Over:
		return false
	default:
		return true
	}
}

// PID is its number in the system.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Code is its exit code, once it is over.
func (p *Process) Code() int { return p.cmd.ProcessState.ExitCode() }

// Await waits for the process to end by itself, and says when its exit code is another than wanted.
func (p *Process) Await(ctx context.Context, within time.Duration, code int) error {
	if err := p.AwaitEnd(ctx, within); err != nil {
		return err
	}
	if got := p.Code(); got != code {
		return fmt.Errorf("%s ended with code %d, want %d: %v; %s", p.Name, got, code, p.err, p.LastWords())
	}
	return nil
}

// AwaitEnd waits for the process to end.
func (p *Process) AwaitEnd(ctx context.Context, within time.Duration) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.Over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("%s has not ended after %v; %s", p.Name, within, p.LastWords())
	}
}

// AwaitWord waits until the process has written something into its log: a signal before it listens for one would end it
// at once.
func (p *Process) AwaitWord(ctx context.Context, word string) error {
	for since := time.Now(); ; {
		if text := p.Log(); len(text) > int(p.at) && strings.Contains(text[p.at:], word) {
			return nil
		}
		if err := p.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		if time.Since(since) > Patience {
			return fmt.Errorf("%s has not said %q after %v; %s", p.Name, word, Patience, p.LastWords())
		}
	}
}

// EndSlaves asks slaves to end, and waits until they have, in good order. One whose last results no master took, since
// the crawl is over, says so and has another code.
func EndSlaves(ctx context.Context, slaves ...*Process) error {
	for _, s := range slaves {
		if err := errors.Join(s.AwaitWord(ctx, "slave ready"), s.Signal(syscall.SIGTERM)); err != nil {
			return err
		}
	}
	for _, s := range slaves {
		if err := s.Await(ctx, 2*Patience, 0); err != nil &&
			!(!s.Running() && s.Code() == 1 && strings.Contains(s.Log()[s.at:], "no master takes")) {
			return err
		}
	}
	return nil
}

// Pause waits for a while, or until the process ends before its time.
func (p *Process) Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.Over:
		if p.Code() != 0 {
			return fmt.Errorf("%s ended with code %d; %s", p.Name, p.Code(), p.LastWords())
		}
		return fmt.Errorf("%s: %w", p.Name, ErrEarly)
	}
}

// LastWords is the end of the log of a process that was not expected to be over.
func (p *Process) LastWords() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "its log ends: " + strings.Join(lines[max(0, len(lines)-4):], " | ")
}

// Log is the whole log so far.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// ports counts up from a random place below what the kernel gives to outgoing connections, so that no connection of
// another process takes a port between its choice and its use.
var ports = func() *atomic.Uint32 {
	next := &atomic.Uint32{}
	next.Store(rand.Uint32())
	return next
}()

// FreePort finds a port of 127.0.0.1 that is free now, for UDP and TCP, and that no other call of this process
// returns.
func FreePort() (string, error) {
	const least, room = 10_000, 20_000
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", least+ports.Add(1)%room)
		tcp, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		udp, err := net.ListenPacket("udp", address)
		tcp.Close()
		if err == nil {
			udp.Close()
			return address, nil
		}
	}
	return "", errors.New("no port is free")
}
