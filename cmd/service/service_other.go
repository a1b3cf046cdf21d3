//go:build !windows

package service

import "context"

// underManager is of Windows.
func underManager(string, func(context.Context) error) (code int, managed bool) { return 0, false }
