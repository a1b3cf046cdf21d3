// Package fingerprint reduces URLs, host names and texts to eight bytes.
//
// Two kinds of digest live here. URL, Host and Main are exact: equal input gives equal output, and unequal input gives
// equal output about once in 2⁶⁴ pairs. Sim and Near are sketches: those of near-duplicates differ in few bits.
//
// All of them are kept on disk, so the functions never change; a better one gets a new name.
package fingerprint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// URL digests a canonical URL. The seen set keeps the upper 56 bits and compares them within one host only: at 100,000
// pages of a host the chance that any two of them meet is 7·10⁻⁸.
func URL(canonical string) uint64 { return xxhash.Sum64String(canonical) }

// Host digests a host as weburl.URL.Host writes it: "scheme://name[:port]".
func Host(host string) uint64 { return xxhash.Sum64String(host) }

// Key digests the whole content of a file that may be a key of IndexNow: 8 to 128 letters, digits and dashes, and
// spaces around them. ok is false for anything else. It is the beginning of SHA-256, since others choose what is
// compared.
func Key(content []byte) (digest uint64, ok bool) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"
	content = bytes.TrimSpace(bytes.TrimPrefix(content[:min(len(content), 256)], []byte("\ufeff")))
	if len(content) < 8 || len(content) > 128 || len(bytes.Trim(content, letters)) > 0 {
		return 0, false
	}
	sum := sha256.Sum256(content)
	return binary.BigEndian.Uint64(sum[:]), true
}

// Main digests the main content of a page, to tell whether a visit found a change.
func Main(text []byte) uint64 { return xxhash.Sum64(text) }
