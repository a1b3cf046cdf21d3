package spool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/collect/spool"
	"henro/store/archive/bucket"
)

// TestASpoolIsFullUntilFilesAreGone: finished files with their indexes count, and nothing else.
func TestASpoolIsFullUntilFilesAreGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "warc")
	inLogs := filepath.Join("..", "proof", "henro-1", "tile")
	write := func(name string, size int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(dir, 0o755), os.MkdirAll(filepath.Join(dir, inLogs), 0o755)); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := spool.New(dir, "henro", true, 1000)
		if s.Says() != "" {
			t.Error("it is full before it was looked at")
		}
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		for i, step := range []struct {
			name string
			size int // -1: it is removed
			err  error
			want string // empty: there is room
		}{
			{"henro-1.warc.gz", 700, nil, ""},
			{"henro-2.warc.gz.open", 5000, nil, ""},
			{"other-1.warc.gz", 5000, nil, ""},
			{"henro-1.cdxj", 299, errors.New("connection refused"), ""},
			{"henro-3.warc.gz", 1, errors.New("connection refused"), "2 WARC files (0 MB with their log) wait " +
				"to be collected, --spool allows 0 MB: connection refused"},
			{"henro-3.cdxj", 1000, nil, "--spool allows 0 MB"},
			{"henro-1.warc.gz", -1, errors.New(strings.Repeat("é", 1000)), "ééé"},
			{"henro-3.warc.gz", -1, nil, ""},
			{"henro-4.warc.gz", 1, nil, ""},
			{filepath.Join(inLogs, "000"), 1001, nil, "1 WARC files (0 MB with their log)"},
			{"henro-4.warc.gz", -1, nil, ""}, // nothing waits, however large the log
			{"other-2.warc.gz", 1, fmt.Errorf("it has more: %w", bucket.ErrTaken), "of another crawl"},
			{"other-2.warc.gz", 1, errors.New("connection refused"), "of another crawl"},
			{"other-2.warc.gz", 1, nil, ""},
		} {
			if step.size < 0 {
				os.Remove(filepath.Join(dir, step.name))
			} else {
				write(step.name, step.size)
			}
			s.Tried(step.err)
			time.Sleep(spool.Every)
			synctest.Wait()
			says := s.Says()
			if (says == "") != (step.want == "") || !strings.Contains(says, step.want) || len(says) > 700 {
				t.Errorf("step %d: %q, want %q", i, says, step.want)
			}
		}
		os.RemoveAll(dir)
		time.Sleep(spool.Every)
		synctest.Wait()
		if !strings.Contains(s.Says(), "cannot be counted") {
			t.Errorf("without a folder: %q", s.Says())
		}
		cancel()
		<-done
		spool.New(dir, "henro", false, 0).Run(t.Context()) // no bound: it ends at once
	})
}
