package config

import (
	"bytes"
	"fmt"
	"os"

	"henro/actors/topic"
	"henro/slave/charset"
	"henro/slave/links"
)

// readTopic makes a topic of files, each of which is a list of terms or an example page in HTML.
func readTopic(files []string) (*topic.Topic, error) {
	var terms []byte
	var examples []topic.Example
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(bytes.TrimLeft(text, "\ufeff \t\r\n"), []byte("<")) {
			terms = append(append(terms, text...), '\n')
			continue
		}
		encoding, _ := charset.Detect("text/html", text)
		if decoded, err := charset.Decode(text, encoding); err == nil {
			text = decoded
		}
		var d links.Document
		d.Scan(text, links.DefaultOptions())
		if len(d.Text) == 0 {
			return nil, fmt.Errorf("the page %s has no text", file)
		}
		examples = append(examples, topic.Example{Title: d.Title, Text: string(d.Text)})
	}
	return topic.Parse(terms, examples...)
}
