// Command results lists the titles of the pages that a crawl has archived.
//
//	go run ./docs/examples/results crawl
package main

import (
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"regexp"
	"strings"

	"henro"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// most is how much of a page is read: its title stands at the beginning.
const most = 64 << 10

func run(out io.Writer, arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("want the directory of a crawl")
	}
	results, err := henro.Open(arguments[0])
	if err != nil {
		return err
	}
	defer results.Close()
	for page, err := range results.Pages() {
		if err != nil {
			return err
		}
		if page.Status != 200 || page.Requisite {
			continue
		}
		body, err := results.Body(page.URL, most)
		if err != nil {
			return err
		}
		if found := title.FindSubmatch(body); found != nil {
			fmt.Fprintf(out, "%s\t%s\n", page.URL, html.UnescapeString(strings.TrimSpace(string(found[1]))))
		}
	}
	return nil
}
