package watch

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"henro/store/report/changes"
)

// shown is how many lines of what was held for noise are shown, and looks how many changes an id is looked for in.
const (
	shown = 50
	looks = 10_000
)

// ErrNoChange is returned for the id of a change that was not found here, or long ago.
var ErrNoChange = errors.New("no such change is among the latest")

// Noise shows what was held for noise lately, the latest last, with its id, why, and what changed.
func Noise(folder string, out io.Writer) error {
	all, err := changes.RecentNoise(folder, shown)
	for _, c := range slices.Backward(all) {
		fmt.Fprintf(out, "%s\n  %s\n  %s\n", c.Line(), c.ID, strings.Join(c.Why, "; "))
		for i, line := range strings.Split(c.Diff, "\n") {
			if i > 2 && line != "" && line[0] != ' ' && line[0] != '@' {
				fmt.Fprintf(out, "    %.200s\n", line)
			}
		}
	}
	return err
}

// TeachByID has a page learn what a reader says of a change that was told, or of what was held for noise. It returns
// the URL of the page.
func (w *Watcher) TeachByID(folder, id string, noise bool, out io.Writer) (url string, err error) {
	if err := w.archive.Refresh(); err != nil {
		return "", err
	}
	told, err := changes.Recent(folder, looks)
	if err != nil {
		return "", err
	}
	quiet, err := changes.RecentNoise(folder, looks)
	if err != nil {
		return "", err
	}
	is := func(c changes.Change) bool { return c.ID == id }
	all := append(told, quiet...)
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return "", fmt.Errorf("%w: %s; changes.jsonl and henro feed --noise have them", ErrNoChange, id)
	}
	p, err := w.Find(&all[i])
	if err != nil {
		return "", fmt.Errorf("%s: %w", all[i].URL, err)
	}
	blocks, err := w.Teach(p, noise)
	if err == nil {
		word := "news"
		if noise {
			word = "noise"
		}
		fmt.Fprintf(out, "%d blocks of %s are %s from now on\n", blocks, all[i].URL, word)
	}
	return all[i].URL, err
}
