// Package tab has steps for a tab of Chromium: what a step finds is put where the caller says, so that steps of any
// kind stand in one list.
package tab

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// Step is something done in a tab.
type Step = chromedp.Action[chromedp.Void]

// Send makes a step of a command whose answer does not matter.
func Send[P, R any](c cdp.Command[P, R], params P) Step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// Into makes a step that puts what a finds where to points.
func Into[T any](to *T, a chromedp.Action[T]) Step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) (err error) {
		*to, err = a(ctx, t)
		return err
	})
}

// Evaluate puts the value of a script where to points.
func Evaluate[T any](script string, to *T, options ...chromedp.EvaluateOption) Step {
	return Into(to, chromedp.Evaluate[T](script, options...))
}
