// Package axe asks axe-core whether everybody can use the page that a browser shows.
package axe

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/chromedp/chromedp"

	"henro/.ci/lab/tab"
)

// Judge runs the script at path, an axe.min.js, in the page that do acts upon. The error names each rule that the page
// breaks, with its first place. An empty path judges nothing.
func Judge(path string, do func(...tab.Step) error) error {
	if path == "" {
		return nil
	}
	script, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var answer string
	if err := do(chromedp.Evaluate[chromedp.Void](string(script)+";0"),
		tab.Evaluate(`axe.run({preload: false}).then(r => JSON.stringify(r.violations))`, &answer,
			chromedp.EvalAwaitPromise)); err != nil {
		return fmt.Errorf("axe: %w", err)
	}
	var broken []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	if err := json.Unmarshal([]byte(answer), &broken); err != nil {
		return fmt.Errorf("axe: %w", err)
	}
	var all error
	for _, rule := range broken {
		all = errors.Join(all, fmt.Errorf("%s (%s), %d times: %.200s: %s", rule.Help, rule.ID, len(rule.Nodes),
			rule.Nodes[0].HTML, rule.Nodes[0].FailureSummary))
	}
	return all
}
