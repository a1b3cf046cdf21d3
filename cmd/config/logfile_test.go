package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"henro/cmd/config"
)

const evil = "\x1b\u009b\u202e\nFORGED"

func TestTheFileKeepsWhatTheScreenDoesNotShow(t *testing.T) {
	var screen bytes.Buffer
	logger := logrus.New()
	logger.SetOutput(&screen)
	logger.SetLevel(logrus.WarnLevel)
	dir := t.TempDir()
	closer := config.KeepLog(logrus.NewEntry(logger), dir, "henro")
	logger.Info("rare fact")
	logger.Warn("surprise")
	logger.WithField("says", evil).Warn(evil)
	logger.Debug("decision")
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "logs", "henro.log"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(kept), "\x1b\u009b\u202e") ||
		strings.Count(string(kept), `\u001b\u009b\u202e\n`) != 2 {
		t.Errorf("the file steers who shows it: %q", kept)
	}
	for word, want := range map[string][2]bool{"rare fact": {false, true}, "surprise": {true, true},
		"decision": {false, false}} {
		if strings.Contains(screen.String(), word) != want[0] || strings.Contains(string(kept), word) != want[1] {
			t.Errorf("%q: on the screen %v, in the file %v", word, strings.Contains(screen.String(), word),
				strings.Contains(string(kept), word))
		}
	}
}

// Standard error of tests is no terminal: what is logged there is JSON for programs, or text where lines for people
// stand beside it.
func TestTheLogBesideLinesForPeopleIsText(t *testing.T) {
	for text, begin := range map[bool]string{true: "time=", false: "{"} {
		log, err := (&config.Log{Level: "warn", Text: text}).Logger()
		if err != nil {
			t.Fatal(err)
		}
		line, err := log.Logger.Formatter.Format(log)
		if err != nil || !strings.HasPrefix(string(line), begin) {
			t.Errorf("with text %v: %q, %v", text, line, err)
		}
	}
}
