package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// process is one start of one program.
type process struct {
	name  string
	cmd   *exec.Cmd
	log   *os.File
	begun time.Time
	over  chan struct{} // closed when it has ended
	err   error         // of Wait, once over
}

// start begins a program whose output is appended to a log named after it.
func (r *round) start(name, program string, arguments ...string) (*process, error) {
	log, err := os.OpenFile(r.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	p := &process{name: name, log: log, over: make(chan struct{}), cmd: exec.Command(r.bin+"/"+program, arguments...)}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	fmt.Fprintf(log, "--- %s %s %v\n", time.Now().Format("15:04:05.000"), program, arguments)
	if err := p.cmd.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.begun = time.Now()
	r.processes = append(r.processes, p)
	go func() {
		p.err = p.cmd.Wait()
		close(p.over)
	}()
	return p, nil
}

// signal does to the process what the round is about; note is the name for it.
func (r *round) signal(p *process, what syscall.Signal, note string) error {
	r.note("%s %s at %s", note, p.name, ms(time.Since(r.begun)))
	fmt.Fprintf(p.log, "--- %s %s\n", time.Now().Format("15:04:05.000"), what)
	if err := p.cmd.Process.Signal(what); err != nil {
		return fmt.Errorf("%s %s: %w; %s", note, p.name, err, p.lastWords())
	}
	return nil
}

// lastWords is the end of the log of a process that was not expected to be over.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "its log ends: " + strings.Join(lines[max(0, len(lines)-4):], " | ")
}

// kill ends a process without a word, and returns when.
func (r *round) kill(p *process) (time.Time, error) {
	at := time.Now()
	if err := r.signal(p, syscall.SIGKILL, "killed"); err != nil {
		return at, err
	}
	<-p.over
	r.events = append(r.events, event{at, time.Now()})
	return at, nil
}

// await waits for a process to end by itself, and says when its exit code is another than wanted.
func (r *round) await(ctx context.Context, p *process, within time.Duration, code int) error {
	select {
	case <-p.over:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(within):
		return fmt.Errorf("%s has not ended after %v", p.name, within)
	}
	got := p.cmd.ProcessState.ExitCode()
	if got != code {
		return fmt.Errorf("%s ended with code %d, want %d: %v; %s", p.name, got, code, p.err, p.lastWords())
	}
	return nil
}

func (p *process) running() bool {
	select {
	case <-p.over:
		return false
	default:
		return true
	}
}

// cleanUp ends what is left, by its own handle only.
func (r *round) cleanUp() {
	for _, p := range r.processes {
		if p.running() {
			p.cmd.Process.Signal(syscall.SIGCONT)
			p.cmd.Process.Kill()
			<-p.over
		}
		p.log.Close()
	}
}

// pause waits for a while, or until a process ends before its time.
func pause(ctx context.Context, d time.Duration, p *process) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.over:
		if p.cmd.ProcessState.ExitCode() != 0 {
			return fmt.Errorf("%s ended with code %d; %s", p.name, p.cmd.ProcessState.ExitCode(), p.lastWords())
		}
		return fmt.Errorf("%s: %w", p.name, errEarly)
	}
}

// errEarly says that the crawl was over before anything could be done to it.
var errEarly = errors.New("ended too early")

// ports counts up from a random place below what the kernel gives to outgoing connections, so that no connection of another process
// takes a port between its choice and its use.
var ports = func() *atomic.Uint32 {
	next := &atomic.Uint32{}
	next.Store(rand.Uint32())
	return next
}()

// freePort finds a port that nobody has now, for UDP and TCP, and that no other call of this process returns.
func freePort() (string, error) {
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
