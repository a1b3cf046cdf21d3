package botauth

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

// testKey is the Ed25519 key of RFC 9421 B.1.4, with which the draft's own vectors are signed.
func testKey(t *testing.T) []byte {
	t.Helper()
	seed, err := base64.RawURLEncoding.DecodeString("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU")
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// The signatures are those of the draft's appendix: Ed25519 gives the same bytes for the same base.
func TestSignaturesOfTheDraft(t *testing.T) {
	s, err := New(testKey(t), "https://signature-agent.test/")
	if err != nil {
		t.Fatal(err)
	}
	from, until := time.Unix(1735689600, 0), time.Unix(4889289600, 0)
	for _, c := range []struct {
		label     string
		parts     []part
		nonce     string
		signature string
	}{
		{"sig1", []part{{`"@authority"`, "example.com"}},
			"zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A==",
			"sig1=:QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg==:"},
		{"sig2", []part{{`"@authority"`, "example.com"},
			{`"signature-agent";key="agent2"`, `"https://signature-agent.test"`}},
			"n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==",
			"sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:"},
	} {
		input, signature := s.sign(c.label, c.parts, "web-bot-auth", from, until, c.nonce)
		if signature != c.signature {
			t.Errorf("%s\nsigned %s\nwant   %s", input, signature, c.signature)
		}
	}
}

func TestARequestIsSigned(t *testing.T) {
	s, err := New(testKey(t), "https://signature-agent.test/")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1735689600, 0)
	lines := string(s.Request("example.com:8443", at))
	for _, part := range []string{
		"Signature-Agent: sig1=\"https://signature-agent.test\"\r\n",
		`Signature-Input: sig1=("@authority" "signature-agent";key="sig1");created=1735689600;` +
			`keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=1735689900;nonce="`,
		"Signature: sig1=:",
	} {
		if !strings.Contains(lines, part) {
			t.Errorf("%s\nlacks %s", lines, part)
		}
	}
	if again := string(s.Request("example.com:8443", at)); again == lines {
		t.Error("two requests have the same nonce")
	}
	bare, err := New(testKey(t), "")
	if err != nil {
		t.Fatal(err)
	}
	if lines := string(bare.Request("example.com", at)); strings.Contains(lines, "gent") {
		t.Errorf("without an agent: %s", lines)
	}
}

func TestADirectoryHasThePublicKey(t *testing.T) {
	s, err := New(testKey(t), "")
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Keys []map[string]string }
	if err := json.Unmarshal(s.Directory(), &d); err != nil || len(d.Keys) != 1 {
		t.Fatalf("%v: %s", err, s.Directory())
	}
	k := d.Keys[0]
	if k["kid"] != "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U" || k["kty"] != "OKP" || k["crv"] != "Ed25519" ||
		k["x"] != "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs" {
		t.Errorf("%v", k)
	}
	if _, has := k["d"]; has {
		t.Error("the directory has the private half")
	}
}

func TestWhatIsNoKeyOrNoAgent(t *testing.T) {
	if _, err := New([]byte("henro"), ""); err != ErrKey {
		t.Errorf("text: %v", err)
	}
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(key, "https://bot.example.org"); err != nil {
		t.Error(err)
	}
	for _, agent := range []string{"bot.example.org", "http://bot.example.org", "https://", "https://a\"b/",
		"https://me:x@b/"} {
		if _, err := New(key, agent); err == nil {
			t.Errorf("%s is taken for an agent", agent)
		}
	}
}
