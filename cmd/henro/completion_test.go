package main

import (
	"strings"
	"testing"
)

func TestEveryShellIsHelpedToCompleteOurCommands(t *testing.T) {
	for shell, word := range map[string]string{"bash": "__start_henro", "zsh": "#compdef henro",
		"fish": "complete -c henro", "powershell": "Register-ArgumentCompleter"} {
		script, err := command(t, "completion", shell)
		if err != nil || !strings.Contains(script, word) {
			t.Errorf("%s: %v; the script has no %q", shell, err, word)
		}
	}
	for typed, want := range map[string]string{"tra": "trace", "wh": "why", "st": "status"} {
		words, err := command(t, "__complete", typed)
		if err != nil || !strings.Contains(words, want+"\t") {
			t.Errorf("%s is completed to %q, %v; want %s among it", typed, words, err, want)
		}
	}
	for flag, want := range map[string]string{
		"scope": "host domain prefix any", "frontier": "host ranked thesis thesis-whole",
		"order": "breadth inlinks opic", "relief": "none stretch delay optimal news freshness age template",
		"mime": "all html", "politeness": "host ip domain", "profile": "polite archive",
		"log-level": "error warn info debug trace",
	} {
		said, err := command(t, "__complete", "crawl", "--"+flag, "")
		if words, _, _ := strings.Cut(said, "\n:"); err != nil || words != strings.ReplaceAll(want, " ", "\n") {
			t.Errorf("--%s is completed to %q, %v; want %s", flag, words, err, want)
		}
		for word := range strings.FieldsSeq(want) {
			// Without a seed and with a flag that is understood, the seed is what is missing.
			if _, err := command(t, "crawl", "--dir", t.TempDir(), "--allow-private", "--listen-http", "off", "--"+flag,
				word); err == nil || !strings.Contains(err.Error(), "seed") {
				t.Errorf("--%s %s: %v", flag, word, err)
			}
		}
	}
	flags, err := command(t, "__complete", "trace", "--")
	if err != nil || !strings.Contains(flags, "--url") {
		t.Errorf("flags of trace are completed to %q, %v", flags, err)
	}
}
