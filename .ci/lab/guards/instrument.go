package main

import (
	"cmp"
	_ "embed" // of tried
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

//go:embed tried/tried.go
var triedText []byte

// call stands in each instrumented package, so that its files need no import more.
const call = `package %s

import "henro/.ci/lab/guards/tried"

func unlessTriedAway(n int, holds bool) bool { return tried.Guard(n, holds) }
`

// instrument writes the guards' files anew into a folder, with each condition handed through unlessTriedAway, and
// answers the file that tells the compiler so. A guard's number is its place in the list.
func instrument(guards []guard, folder string) (overlay string, err error) {
	byFile := map[string][]int{}
	for n, g := range guards {
		byFile[g.file] = append(byFile[g.file], n)
	}
	replace := map[string]string{}
	put := func(name string, text []byte) error {
		path, err := filepath.Abs(name)
		if replace[path] == "" {
			replace[path] = filepath.Join(folder, fmt.Sprintf("%d.go", len(replace)))
		}
		return errors.Join(err, os.WriteFile(replace[path], text, 0o600))
	}
	if err := put(".ci/lab/guards/tried/tried.go", triedText); err != nil {
		return "", err
	}
	for file, numbers := range byFile {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		own := filepath.Join(filepath.Dir(file), "guarded_by_lab.go")
		ownText := fmt.Appendf(nil, call, guards[numbers[0]].pkg)
		if err := errors.Join(put(file, through(text, guards, numbers)), put(own, ownText)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	overlay = filepath.Join(folder, "overlay.json")
	return overlay, errors.Join(err, os.WriteFile(overlay, text, 0o600))
}

// through writes unlessTriedAway around the conditions of a file's guards. One may stand within another, in a function
// that the other's condition calls, so their ends are written each for itself, from the last to the first.
func through(text []byte, guards []guard, numbers []int) []byte {
	type insertion struct {
		at   int
		text string
	}
	var all []insertion
	for _, n := range numbers {
		before := fmt.Sprintf("unlessTriedAway(%d, ", n)
		all = append(all, insertion{guards[n].from, before}, insertion{guards[n].to, ")"})
	}
	slices.SortFunc(all, func(a, b insertion) int { return cmp.Compare(b.at, a.at) })
	for _, i := range all {
		text = slices.Insert(text, i.at, []byte(i.text)...)
	}
	return text
}
