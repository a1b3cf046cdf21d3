package bucket

import (
	"errors"
	"fmt"
	"strings"

	"henro/store/archive/cdxj"
)

// SealSuffix ends the name of the object that comes behind a WARC file and its index, and says the SHA-256 of both, as
// sha256sum -c reads it. Where there is a seal, both are whole.
const SealSuffix = ".sha256"

// arriving reports that a WARC file was brought right now, and what comes behind it was not yet.
func (b *Bucket) arriving(objects map[string]Object, name string) bool {
	_, sealed := objects[name+SealSuffix]
	_, indexed := objects[cdxj.Path(name)]
	return !sealed && !indexed && b.isRecent(objects[name])
}

// isRecent reports an object that came right now, so that what belongs to it may not be there yet.
func (b *Bucket) isRecent(o Object) bool { return b.now().Sub(o.At).Abs() < keepAfter }

// Seal is a line of a seal.
func Seal(sum, name string) string { return sum + "  " + name + "\n" }

// ReadSeal returns the digests by name, in hexadecimal digits.
func ReadSeal(text []byte) (map[string]string, error) {
	said := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" {
			return nil, fmt.Errorf("%.80q is no digest and name", line)
		}
		said[name] = sum
	}
	if len(said) == 0 {
		return nil, errors.New("it is empty")
	}
	return said, nil
}
