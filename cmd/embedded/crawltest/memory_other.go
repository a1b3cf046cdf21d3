//go:build !linux

package crawltest

// memory is a folder in memory; empty: only Linux has one that can be counted on.
func memory() string { return "" }
