package service

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/eventlog"

	"henro/cmd/config"
)

// underManager runs the program if the service control manager has started it.
func underManager(name string, run func(context.Context) error) (code int, managed bool) {
	if is, err := svc.IsWindowsService(); err != nil || !is {
		return 0, false
	}
	if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
		os.Stdin, os.Stdout, os.Stderr = null, null, null // there are none, and to write would be an error
	}
	if program, err := os.Executable(); err == nil {
		_ = os.Chdir(filepath.Dir(program)) // the manager begins in the folder of the system
	}
	if err := svc.Run(name, &managedProgram{name: name, run: run}); err != nil {
		tell(name, err)
		return config.ExitFailed, true
	}
	return config.ExitFinished, true
}

// managedProgram is a program as the manager sees it.
type managedProgram struct {
	name string
	run  func(context.Context) error
}

// While a program ends, the manager is sent a checkpoint so often, and a hint to wait so long for the next.
const (
	endingEvery = 5 * time.Second
	endingHint  = 20 * time.Second
)

// Execute implements svc.Handler: it answers the manager until the program has ended. An end that was not asked for is
// a failure, after which the manager starts the program again, unless the program says that nothing is left to do.
func (p *managedProgram) Execute(_ []string, asked <-chan svc.ChangeRequest, status chan<- svc.Status) (own bool,
	code uint32) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptPreShutdown}
	still := time.NewTicker(endingEvery)
	defer still.Stop()
	ending := svc.Status{State: svc.StopPending, WaitHint: uint32(endingHint / time.Millisecond)}
	for {
		select {
		case err := <-ended:
			if err != nil {
				tell(p.name, err)
			}
			if failed(err) && ctx.Err() == nil {
				return true, uint32(config.Code(err))
			}
			return false, 0
		case <-still.C:
			if ctx.Err() != nil {
				ending.CheckPoint++
				status <- ending
			}
		case request := <-asked:
			switch request.Cmd {
			case svc.Interrogate:
				status <- request.CurrentStatus
			case svc.Stop, svc.PreShutdown:
				cancel()
				status <- ending
			}
		}
	}
}

// failed reports whether a program may do better when it is started again: not when its crawl has come to a limit.
func failed(err error) bool {
	limits := []int{config.ExitPageLimit, config.ExitTimeLimit, config.ExitSizeLimit}
	return err != nil && !slices.Contains(limits, config.Code(err))
}

// tell writes into the event log why a program ended; what it does otherwise is in its own log, below its --dir.
func tell(name string, why error) {
	log, err := eventlog.Open(name)
	if err != nil {
		return // no reader of the error is left
	}
	defer log.Close()
	_ = log.Error(1, why.Error())
}
