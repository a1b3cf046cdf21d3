// Command harvest says how many of the pages that a crawl had were of the sites that it looked for, by the access logs
// of topic.sh.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"henro/store/report/chart"
)

func main() {
	of := flag.String("of", "", "what the URLs that are looked for begin with behind http://, with commas")
	svg := flag.String("svg", "", "where the curves are drawn")
	at := flag.String("points", "100,500,1000,2000,3000", "pages after which the table says what was had")
	flag.Parse()
	if err := harvest(strings.Split(*of, ","), strings.Split(*at, ","), *svg, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "harvest:", err)
		os.Exit(1)
	}
}

func harvest(of, points []string, svg string, logs []string) error {
	figure := chart.Chart{Title: "Pages of the topic by pages visited", X: "pages visited", Y: "pages of the topic"}
	heads := strings.Join(points, " | ")
	fmt.Printf("| crawl | %s | all |\n|---|%s---|\n", heads, strings.Repeat("---|", len(points)))
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".tsv")
		line := chart.Series{Name: name, X: []float64{0}, Y: []float64{0}}
		pages, had, row := 0, 0, "| "+name+" |"
		for entry := range strings.Lines(string(text)) {
			fields := strings.Split(entry, "\t") // as docs.sh has nginx write them
			if len(fields) < 6 || fields[2] != "200" || fields[5] == "/robots.txt" {
				continue
			}
			pages++
			for _, begin := range of {
				if strings.HasPrefix(fields[4]+fields[5], "http://"+begin) {
					had++
				}
			}
			for _, point := range points {
				if strconv.Itoa(pages) == point {
					row += fmt.Sprintf(" %d |", had)
				}
			}
			if pages%20 == 0 {
				line.X, line.Y = append(line.X, float64(pages)), append(line.Y, float64(had))
			}
		}
		row += strings.Repeat(" |", len(points)+2-strings.Count(row, "|"))
		fmt.Printf("%s %d of %d |\n", row, had, pages)
		figure.Series = append(figure.Series, line)
	}
	var drawn bytes.Buffer
	if err := figure.WriteSVG(&drawn); err != nil {
		return err
	}
	return os.WriteFile(svg, drawn.Bytes(), 0o644)
}
