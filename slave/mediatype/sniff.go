package mediatype

import (
	"bytes"
	"encoding/binary"
)

// signature is a beginning by which a type is known; a dot in pattern stands for any byte where loose is set.
type signature struct {
	pattern, essence string
	loose            bool
}

// Tables of the MIME Sniffing Standard, chapters 6 and 7.1.
var (
	markup = []string{"<!DOCTYPE HTML", "<HTML", "<HEAD", "<SCRIPT", "<IFRAME", "<H1", "<DIV", "<FONT", "<TABLE", "<A",
		"<STYLE", "<TITLE", "<B", "<BODY", "<BR", "<P", "<!--"}

	documents = []signature{{"%PDF-", "application/pdf", false}, {"%!PS-Adobe-", "application/postscript", false},
		{"\xfe\xff..", "text/plain", true}, {"\xff\xfe..", "text/plain", true}, {"\xef\xbb\xbf.", "text/plain", true}}

	images = []signature{{"\x00\x00\x01\x00", "image/x-icon", false}, {"\x00\x00\x02\x00", "image/x-icon", false},
		{"BM", "image/bmp", false},
		{"GIF87a", "image/gif", false}, {"GIF89a", "image/gif", false}, {"RIFF....WEBPVP", "image/webp", true},
		{"\x89PNG\r\n\x1a\n", "image/png", false}, {"\xff\xd8\xff", "image/jpeg", false}}

	media = []signature{{"FORM....AIFF", "audio/aiff", true}, {"ID3", "audio/mpeg", false},
		{"OggS\x00", "application/ogg", false},
		{"MThd\x00\x00\x00\x06", "audio/midi", false}, {"RIFF....AVI ", "video/avi", true},
		{"RIFF....WAVE", "audio/wave", true}}

	archives = []signature{{"\x1f\x8b\x08", "application/x-gzip", false}, {"PK\x03\x04", "application/zip", false},
		{"Rar!\x1a\x07\x00", "application/x-rar-compressed", false}}
)

func (s *signature) begins(b []byte) bool {
	if len(b) < len(s.pattern) {
		return false
	}
	for i := range len(s.pattern) {
		if b[i] != s.pattern[i] && !(s.loose && s.pattern[i] == '.') {
			return false
		}
	}
	return true
}

func find(b []byte, tables ...[]signature) string {
	for _, table := range tables {
		for i := range table {
			if table[i].begins(b) {
				return table[i].essence
			}
		}
	}
	return ""
}

// unknown finds the type of bytes that were declared to be nothing. What a browser could run is looked for only if it
// may be.
func unknown(b []byte, scriptable bool) string {
	if scriptable {
		text := bytes.TrimLeft(b, "\t\n\f\r ")
		for _, tag := range markup {
			if len(text) > len(tag) && bytes.EqualFold(text[:len(tag)], []byte(tag)) &&
				(text[len(tag)] == ' ' || text[len(tag)] == '>') {
				return "text/html"
			}
		}
		if bytes.HasPrefix(text, []byte("<?xml")) {
			return "text/xml"
		}
		if documents[0].begins(b) {
			return documents[0].essence
		}
	}
	if essence := find(b, documents[1:], images, media); essence != "" {
		return essence
	}
	switch {
	case isMP4(b):
		return "video/mp4"
	case isWebM(b):
		return "video/webm"
	}
	if essence := find(b, archives); essence != "" {
		return essence
	}
	if isBinary(b) {
		return "application/octet-stream"
	}
	return "text/plain"
}

// isMP4 looks for a brand that begins with "mp4" in the first box (6.2.1).
func isMP4(b []byte) bool {
	if len(b) < 12 || string(b[4:8]) != "ftyp" {
		return false
	}
	size := int(binary.BigEndian.Uint32(b))
	if size%4 != 0 || size > len(b) {
		return false
	}
	for at := 8; at+3 <= size; at += 4 {
		if at != 12 && string(b[at:at+3]) == "mp4" { // 12: the version of the brand
			return true
		}
	}
	return false
}

// isWebM looks for the document type among the first bytes of an EBML header (6.2.2).
func isWebM(b []byte) bool {
	if !bytes.HasPrefix(b, []byte("\x1a\x45\xdf\xa3")) {
		return false
	}
	head := b[:min(len(b), 64)]
	i := bytes.Index(head, []byte("\x42\x82"))
	return i >= 0 && bytes.Contains(head[i:], []byte("webm"))
}
