//go:build !windows

package service

import (
	"context"

	"github.com/spf13/cobra"
)

// underManager is of Windows.
func underManager(string, func(context.Context) error) (code int, managed bool) { return 0, false }

// Commands are those of Windows: elsewhere systemd has files (docs/lab.md).
func Commands(string) []*cobra.Command { return nil }
