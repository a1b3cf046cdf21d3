//go:build race

package warc_test

func init() { losesPooled = true }
