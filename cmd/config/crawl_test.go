package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/cmd/config"
	"henro/master"
)

// crawlOptions are those that flags and a henro.yaml make.
func crawlOptions(t *testing.T, yaml string, flags ...string) (master.Options, error) {
	t.Helper()
	var c config.Crawl
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	c.Register(f)
	if err := f.Parse(append(flags, "--contact=test@example.org")); err != nil {
		return master.Options{}, config.Usage("%v", err)
	}
	if err := config.Load(f, write(t, yaml), nil); err != nil {
		return master.Options{}, err
	}
	return c.Options(f)
}

func TestEverySettingOfTheTimetableIsReachable(t *testing.T) {
	o, err := crawlOptions(t, "estimator: eq4-cumulative\n",
		"--aim=0.5", "--relief=age", "--revisit-min=1m", "--revisit-max=2w", "--revisit-first=90m-1d12h")
	if err != nil {
		t.Fatal(err)
	}
	want := revisit.DefaultOptions()
	want.Estimator, want.Forget, want.Aim = revisit.Equation4, 1, 0.5
	want.Objective = revisit.Age
	want.Min, want.Max = time.Minute, 14*24*time.Hour
	want.FirstMin, want.FirstMax = 90*time.Minute, 36*time.Hour
	want.PriorMean = 75 * time.Hour // four times the middle of these
	if o.Hosts.Revisit != want {
		t.Errorf("got %+v", o.Hosts.Revisit)
	}
	if o, err = crawlOptions(t, ""); err != nil || o.Hosts.Revisit != revisit.DefaultOptions() {
		t.Errorf("without settings: %+v, %v", o.Hosts.Revisit, err)
	}
	for relief, news := range map[string]bool{"news": true, "optimal": false} {
		if o, err = crawlOptions(t, "", "--relief="+relief); err != nil || o.Fetch.News != news ||
			o.Hosts.Revisit.Objective != revisit.Versions || o.Hosts.Relief != politeness.Optimal {
			t.Errorf("--relief %s: %v, %v, %v", relief, o.Fetch.News, o.Hosts.Relief, err)
		}
	}
	for flag, want := range map[string]string{
		"--revisit-min=30s":         "1m or more",
		"--revisit-max=5m":          "bounds in order",
		"--revisit-first=2d-1d":     "ends before it begins",
		"--revisit-first=1d-":       "no span",
		"--revisit-max=7 days":      "no span",
		"--revisit-max=-7d":         "no span",
		"--aim=0":                   "aim 0",
		"--aim=NaN":                 "aim NaN",
		"--relief=speed":            "freshness, age",
		"--estimator=eq5":           "want drift",
		"--revisit-max=99999999999": "no span",
	} {
		if _, err := crawlOptions(t, "", flag); config.Code(err) != config.ExitUsage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", flag, err)
		}
	}
}
