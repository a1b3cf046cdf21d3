// Package service runs a program of henro until it is asked to end.
//
// In a terminal, and under systemd, a program is asked by a signal; the service control manager of Windows asks in its
// own way, and hides what a program writes. Main is the same for both.
package service

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"henro/cmd/config"
)

// Main runs a program and returns its exit code. The context ends when the program is asked to end; a second interrupt
// ends it at once.
func Main(name string, run func(context.Context) error) (code int) {
	if code, managed := underManager(name, run); managed {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	go giveBack(ctx)
	err := run(ctx)
	config.Say(config.Shown(os.Stderr), name, err)
	return config.Code(err)
}
