package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/eventlog"
	"golang.org/x/sys/windows/svc/mgr"

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

// account has no rights but those of every user, and none on other machines.
const account = `NT AUTHORITY\LocalService`

// Commands are "service install" and "service remove".
func Commands(name string) []*cobra.Command {
	service := &cobra.Command{
		Use: "service", Short: "Install or remove the program as a service of Windows", Args: cobra.NoArgs,
		Long: "Install or remove the program as a service of Windows, which runs from the start of the machine " +
			"on, whoever is logged in.",
		Example: `  ` + name + ` service install --dir D:\henro --key C:\henro\cluster.key`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	service.AddCommand(
		&cobra.Command{
			Use: "install [flags of " + name + "]", Short: "Install the program, with its flags, as a service",
			DisableFlagParsing: true,
			Long: `Install the program as a service that is started with the flags given here. It runs as LOCAL
SERVICE, which must be allowed to write --dir and to read --key. Paths are relative to the folder of the
program. It needs a shell of the administrator.`,
			Example: `  ` + name + ` service install --dir D:\henro --key C:\henro\cluster.key`,
			RunE: func(cmd *cobra.Command, flags []string) error {
				if slices.Contains(flags, "--help") || slices.Contains(flags, "-h") {
					return cmd.Help()
				}
				if err := cmd.Root().ParseFlags(flags); err != nil {
					return config.Usage("%v; %s --help lists the flags", err, name)
				}
				if err := install(name, flags); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), `%[1]s is installed, and starts with the machine. Now let it
write its --dir and read its --key, and start it:
  icacls D:\henro /grant "LOCAL SERVICE:(OI)(CI)M"
  icacls C:\henro\cluster.key /grant "LOCAL SERVICE:R"
  sc.exe start %[1]s
`, name)
				return nil
			},
		},
		&cobra.Command{
			Use: "remove", Short: "Stop the service and remove it", Args: cobra.NoArgs,
			Long: "Ask the service to end, wait until it has, and remove it. What it wrote stays.", Example: "  " +
				name + " service remove",
			RunE: func(cmd *cobra.Command, _ []string) error {
				if err := remove(cmd.Context(), name); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is removed\n", name)
				return nil
			},
		})
	return []*cobra.Command{service}
}

// manager connects to the service control manager.
func manager() (*mgr.Mgr, error) {
	m, err := mgr.Connect()
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return nil,
			config.Usage("services are the administrator's: repeat this in a shell that was opened with \"Run as " +
				"administrator\"")
	} else if err != nil {
		return nil, fmt.Errorf("connect to the service control manager: %w", err)
	}
	return m, nil
}

func install(name string, flags []string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	m, err := manager()
	if err != nil {
		return err
	}
	defer m.Disconnect()
	s, err := m.CreateService(name, program, mgr.Config{
		DisplayName: name, Description: "Polite incremental web archiver: " + name, StartType: mgr.StartAutomatic,
		ServiceStartName: account,
	}, flags...)
	if errors.Is(err, windows.ERROR_SERVICE_EXISTS) {
		return config.Usage("%s is installed already: %s service remove, then install it again", name, name)
	} else if err != nil {
		return fmt.Errorf("create the service: %w", err)
	}
	defer s.Close()
	again := []mgr.RecoveryAction{
		{Type: mgr.ServiceRestart, Delay: 5 * time.Second}, {Type: mgr.ServiceRestart, Delay: 5 * time.Second},
		{Type: mgr.ServiceRestart, Delay: time.Minute},
	}
	err = errors.Join(known(delayStart(s)), known(s.SetRecoveryActions(again, uint32((24*time.Hour).Seconds()))),
		known(s.SetRecoveryActionsOnNonCrashFailures(true)))
	if err == nil {
		err = eventlog.InstallAsEventCreate(name, eventlog.Error)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("set up the service: %w", err), s.Delete())
	}
	return nil
}

// delayStart lets the service start some time after the machine.
func delayStart(s *mgr.Service) error {
	c, err := s.Config()
	if err != nil {
		return err
	}
	c.DelayedAutoStart = true
	return s.UpdateConfig(c)
}

// known leaves out the error of a setting that this system does not have: Wine lacks some.
func known(err error) error {
	if errors.Is(err, windows.ERROR_INVALID_LEVEL) {
		return nil
	}
	return err
}

// removeFor bounds the wait for a service to end, which gives its hosts back before: a fetch under way may take a
// minute.
const removeFor = 90 * time.Second

func remove(ctx context.Context, name string) error {
	m, err := manager()
	if err != nil {
		return err
	}
	defer m.Disconnect()
	s, err := m.OpenService(name)
	if errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST) {
		return config.Usage("%s is not installed", name)
	} else if err != nil {
		return fmt.Errorf("open the service: %w", err)
	}
	defer s.Close()
	status, err := s.Control(svc.Stop)
	if err != nil && !errors.Is(err, windows.ERROR_SERVICE_NOT_ACTIVE) {
		return fmt.Errorf("stop the service: %w", err)
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for since := time.Now(); err == nil && status.State != svc.Stopped; status, err = s.Query() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if time.Since(since) > removeFor {
			return fmt.Errorf("%s has not ended after %v", name, removeFor)
		}
	}
	if err := errors.Join(s.Delete(), eventlog.Remove(name)); err != nil {
		return fmt.Errorf("remove the service: %w", err)
	}
	return nil
}
