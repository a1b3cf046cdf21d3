package config

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestAFlagThatIsNotThereNamesTheOneThatWasMeant(t *testing.T) {
	for given, want := range map[string]string{
		"--dept": "did you mean --depth?", "--depht": "did you mean --depth?",
		"--max-bodies": "did you mean --max-body?",
		"--browser":    "give it to henro crawl or henro-master", "--browser-path": "give it to henro-slave",
		"--archive": "give it to henro-slave",
		"--colour":  "", "--x": "", "--depth=deep": "",
	} {
		cmd := &cobra.Command{Use: "crawl", SilenceErrors: true, SilenceUsage: true,
			RunE: func(*cobra.Command, []string) error { return nil }}
		cmd.Flags().Int("depth", 3, "")
		cmd.Flags().String("max-body", "", "")
		cmd.SetFlagErrorFunc(FlagError)
		cmd.SetArgs([]string{given})
		err := cmd.Execute()
		switch {
		case err == nil:
			t.Errorf("%s is taken", given)
		case Code(err) != ExitUsage:
			t.Errorf("%s: code %d", given, Code(err))
		case want == "" && strings.Contains(err.Error(), "did you mean"), !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", given, err, want)
		}
	}
}
