package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// upward counts the arrows between files of one package that point up.
type upward struct {
	total int
	of    map[string]int // by the package's directory
}

// upwardArrows lays the files of each package in an order in which as few as possible use one that lies above, and
// counts those that still do. A file uses another when it names something that the other declares. A package read from
// top to bottom has none. The order is Eades, Lin and Smyth's (1993), which is near the best.
func upwardArrows(dir string) (*upward, error) {
	loaded, err := packages.Load(&packages.Config{
		Dir: dir,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedExportFile,
	}, "./...")
	if err != nil {
		return nil, err
	}
	out := &upward{of: map[string]int{}}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("package %s: %w", p.PkgPath, p.Errors[0])
		}
		uses := map[string]map[string]bool{}
		for _, f := range p.Syntax {
			uses[p.Fset.Position(f.Pos()).Filename] = map[string]bool{}
		}
		for ident, object := range p.TypesInfo.Uses {
			from, to := p.Fset.Position(ident.Pos()).Filename, p.Fset.Position(object.Pos()).Filename
			if object.Pkg() == p.Types && from != to && uses[from] != nil && uses[to] != nil {
				uses[from][to] = true
			}
		}
		n := pointUp(uses)
		out.total += n
		out.of[filepath.ToSlash(strings.TrimPrefix(p.PkgPath, "henro/"))] = n
	}
	return out, nil
}

// pointUp counts the arrows of a graph that point up in the order found.
func pointUp(uses map[string]map[string]bool) (n int) {
	left := slices.Sorted(maps.Keys(uses))
	var top, bottom []string
	degrees := func(v string) (out, in int) {
		for _, w := range left {
			if uses[v][w] {
				out++
			}
			if uses[w][v] {
				in++
			}
		}
		return out, in
	}
	for len(left) > 0 {
		best, bestAt, sink := -len(uses)*2, 0, false
		for i, v := range left {
			out, in := degrees(v)
			if out == 0 {
				bestAt, sink = i, true
				break
			}
			if in == 0 {
				out += len(uses) // a source goes first in any case
			}
			if out-in > best {
				best, bestAt = out-in, i
			}
		}
		v := left[bestAt]
		left = slices.Delete(left, bestAt, bestAt+1)
		if sink {
			bottom = append(bottom, v)
		} else {
			top = append(top, v)
		}
	}
	slices.Reverse(bottom)
	at := map[string]int{}
	for i, v := range append(top, bottom...) {
		at[v] = i
	}
	for v, targets := range uses {
		for w := range targets {
			if at[w] < at[v] {
				n++
			}
		}
	}
	return n
}
