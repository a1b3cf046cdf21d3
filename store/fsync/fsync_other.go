//go:build !unix

package warc

// syncDir does nothing: directories cannot be synced here, and renames are written through by the file system's
// journal.
func syncDir(string) error { return nil }
