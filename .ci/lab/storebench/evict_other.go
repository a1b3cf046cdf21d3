//go:build !linux

package main

import (
	"errors"
	"os"
)

func dropCache(*os.File) error { return errors.ErrUnsupported }
