package main

import (
	"strings"
	"testing"
)

func TestEveryShellIsHelpedToCompleteOurCommands(t *testing.T) {
	for shell, word := range map[string]string{"bash": "__start_henro", "zsh": "#compdef henro", "fish": "complete -c henro", "powershell": "Register-ArgumentCompleter"} {
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
	flags, err := command(t, "__complete", "trace", "--")
	if err != nil || !strings.Contains(flags, "--url") {
		t.Errorf("flags of trace are completed to %q, %v", flags, err)
	}
}
