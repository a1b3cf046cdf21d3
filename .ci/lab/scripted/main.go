// Command scripted says of which pages in folders henro holds that scripts make them.
//
//	scripted [-list] [-all] FOLDER…
//
// It prints the pages of each folder, and how many are made by scripts. Without -all no more than one of 1,000 over all
// folders may be; with -all every page of them must be.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"henro/slave/charset"
	"henro/slave/links"
)

func main() {
	list := flag.Bool("list", false, "name the pages that scripts make; with -all: those of which that is not seen")
	all := flag.Bool("all", false, "all pages are made by scripts, and must be found")
	flag.Parse()
	pages, scripted := 0, 0
	for _, folder := range flag.Args() {
		n, found := 0, 0
		if err := each(folder, func(name string, made bool) {
			n++
			if made {
				found++
			}
			if *list && made != *all {
				fmt.Println(name)
			}
		}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%6d of %6d  %s\n", found, n, folder)
		pages, scripted = pages+n, scripted+found
	}
	fmt.Printf("%6d of %6d pages are made by scripts\n", scripted, pages)
	if pages == 0 || *all && scripted < pages || !*all && scripted*1000 > pages {
		os.Exit(1)
	}
}

// each calls fn for all pages below a folder.
func each(folder string, fn func(name string, scripted bool)) error {
	var d links.Document
	return filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !strings.HasPrefix(filepath.Ext(name), ".htm") {
			return err
		}
		html, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		encoding, _ := charset.Detect("", html)
		if decoded, err := charset.Decode(html, encoding); err == nil {
			html = decoded
		}
		d.Scan(html, links.DefaultOptions())
		fn(name, d.Scripted)
		return nil
	})
}
