package config

import (
	"context"
	"errors"
	"fmt"

	"henro/master"
	"henro/store"
)

// StateError gives an error of opening the state in a directory its exit code.
func StateError(dir string, err error) error {
	switch {
	case errors.Is(err, store.ErrInUse), errors.Is(err, store.ErrNewerSchema), errors.Is(err, store.ErrOlderSchema),
		errors.Is(err, store.ErrReadOnly), errors.Is(err, store.ErrReplica):
		return Usage("--dir %s: %v", dir, err)
	}
	return err
}

// EndError is the error that makes the exit code of a crawl that did not simply finish.
func EndError(ctx context.Context, end master.Summary) error {
	switch end.End {
	case master.Finished:
		if len(end.FailedSeeds) > 0 {
			return &Exit{Code: ExitSeedsFailed, Err: seedsFailed(end.FailedSeeds)}
		}
	case master.PageLimit:
		return &Exit{Code: ExitPageLimit, Err: errors.New("stopped at --pages; the same --dir resumes")}
	case master.TimeLimit:
		return &Exit{Code: ExitTimeLimit, Err: errors.New("stopped at --for; the same --dir resumes")}
	case master.SizeLimit:
		return &Exit{Code: ExitSizeLimit, Err: errors.New("stopped at --bytes; the same --dir resumes")}
	case master.DiskFull:
		return &Exit{Code: ExitDiskFull, Err: errors.New("the disk is full: make room, then the same --dir resumes")}
	case master.Damaged:
		return &Exit{Code: ExitDamaged, Err: errors.New(end.Stalled.String())}
	case master.StoreFault:
		return &Exit{Code: ExitFailed, Err: fmt.Errorf("the state cannot be written: %s", end.Stalled)}
	case master.Stopped:
		if ctx.Err() != nil {
			return &Exit{Code: ExitInterrupted, Err: errors.New("interrupted; the same --dir resumes")}
		}
	}
	return nil
}

// seedsFailed names the seeds that failed, and why, each as an error of its own.
func seedsFailed(seeds []master.FailedVisit) error {
	all := []error{errors.New("every seed failed")}
	for _, seed := range seeds {
		all = append(all, fmt.Errorf("%s: %s", seed.URL, seed.Cause))
	}
	return errors.Join(all...)
}
