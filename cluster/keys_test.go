package cluster

import (
	"bytes"
	"encoding/pem"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestAKeyFileIsReadBack(t *testing.T) {
	k := NewKeys().With(NewKeys())
	text, err := k.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cluster.key")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := ReadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(read.IDs(), " "), strings.Join(k.IDs(), " "); got != want || len(read.IDs()) != 2 {
		t.Errorf("read %s, wrote %s", got, want)
	}
	if _, err := ReadKeys(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestKeysAreDerivedAsEver keeps the derivation: nodes of different versions must come to the same keys.
func TestKeysAreDerivedAsEver(t *testing.T) {
	var secret [secretSize]byte
	for i := range secret {
		secret[i] = byte(i)
	}
	k := &Keys{keys: []fileKey{{id: keyID(secret), secret: &secret}}}
	text, _ := k.MarshalText()
	ca, _, err := authority(secret)
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := authority(secret)
	if !bytes.Equal(ca.Raw, again.Raw) {
		t.Error("two nodes with one key have two authorities")
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})
	for name, made := range map[string][]byte{"counting.key": text, "counting.ca.pem": cert} {
		path := filepath.Join("testdata", name)
		if *update {
			os.MkdirAll("testdata", 0o755)
			if err := os.WriteFile(path, made, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(made, golden) {
			t.Errorf("%s is\n%s\nand not\n%s", name, made, golden)
		}
	}
}

func TestDamagedKeyFilesAreRefusedWithTheReason(t *testing.T) {
	whole, _ := NewKeys().MarshalText()
	lines := strings.Split(strings.TrimSpace(string(whole)), "\n")
	good := lines[len(lines)-1]
	word := strings.Fields(good)
	other := NewKeys()
	change := func(i int, to string) string {
		w := append([]string(nil), word...)
		w[i] = to
		return strings.Join(w, " ")
	}
	flipped := []byte(word[2])
	if flipped[7] == 'a' {
		flipped[7] = 'b'
	} else {
		flipped[7] = 'a'
	}
	for _, c := range []struct{ name, text, says string }{
		{"empty", "", "no key"},
		{"only comments", "# nothing\n\n", "no key"},
		{"another kind of file", "-----BEGIN CERTIFICATE-----\n", "not a henro key"},
		{"a newer version", change(0, "henro-key-9"), "henro-key-9"},
		{"a lost word", strings.Join(word[:3], " "), "3 words"},
		{"a letter changed", change(2, string(flipped)), "checksum"},
		{"a letter lost", change(2, word[2][1:]), "checksum"},
		{"a short secret under a right checksum", change(2, "aaaa")[:0] + keyVersion + " " + word[1] + " aaaa " +
			keyCheck(word[1], "aaaa"), "32 bytes"},
		{"the id of another key", keyVersion + " " + other.IDs()[0] + " " + word[2] + " " +
			keyCheck(other.IDs()[0], word[2]), "different keys"},
		{"the same key twice", good + "\n" + good, "twice"},
		{"too long", strings.Repeat("#", maxKeyFile+1), "longer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseKeys([]byte(c.text))
			if !errors.Is(err, ErrKeyDamaged) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one with %q", err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), word[2]) {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
	if _, err := ParseKeys([]byte("\ufeff" + good)); err == nil {
		t.Error("a byte order mark was not noticed")
	}
	if _, err := ParseKeys([]byte("\r\n  " + good + "  \r\n")); err != nil {
		t.Errorf("Windows line ends and blanks: %v", err)
	}
}

func TestAKeyFileThatEveryUserCanReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // where the bits say nothing
	}
	path := filepath.Join(t.TempDir(), "cluster.key")
	text, _ := NewKeys().MarshalText()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]error{0o600: nil, 0o640: nil, 0o644: ErrKeyOpen, 0o604: ErrKeyOpen} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKeys(path); !errors.Is(err, want) {
			t.Errorf("mode %04o: %v, want %v", mode, err, want)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	text, _ := NewKeys().MarshalText()
	f.Add(text)
	f.Add([]byte("henro-key-1 a b c"))
	f.Add([]byte("# x\n\nhenro-key-"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := ParseKeys(text)
		if err != nil {
			return
		}
		again, err := k.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseKeys(again); err != nil || strings.Join(back.IDs(), " ") != strings.Join(k.IDs(), " ") {
			t.Errorf("not read back: %v", err)
		}
	})
}
