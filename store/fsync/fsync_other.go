//go:build !unix

package fsync

// Dir does nothing: directories cannot be flushed here, and renames are written through by the file system's journal.
func Dir(string) error { return nil }
