// Package fingerprint reduces URLs, host names and texts to eight bytes.
//
// Two kinds of digest live here. URL, Host and Main are exact: equal input gives equal output, and unequal input gives
// equal output about once in 2⁶⁴ pairs. Sim and Near are sketches: those of near-duplicates differ in few bits.
//
// All of them are kept on disk, so the functions never change; a better one gets a new name.
package fingerprint

import (
	"github.com/cespare/xxhash/v2"
)

// URL digests a canonical URL. The seen set keeps the upper 56 bits and compares them within one host only: at 100,000
// pages of a host the chance that any two of them meet is 7·10⁻⁸.
func URL(canonical string) uint64 { return xxhash.Sum64String(canonical) }

// Host digests a host as weburl.URL.Host writes it: "scheme://name[:port]".
func Host(host string) uint64 { return xxhash.Sum64String(host) }

// Main digests the main content of a page, to tell whether a visit found a change.
func Main(text []byte) uint64 { return xxhash.Sum64(text) }
