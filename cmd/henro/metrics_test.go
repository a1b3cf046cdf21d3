package main

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"henro/actors/actortest"
	"henro/master"
	"henro/slave/fakeweb"
)

// TestEveryMetricIsInTheTable crawls a web with errors, so that every metric has a value, and compares what Prometheus
// is told with docs/metrics.md, and both with the Grafana dashboard.
func TestEveryMetricIsInTheTable(t *testing.T) {
	told := map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 3, Hosts: 2, Domains: 2, Pages: 20,
			Errors: fakeweb.Errors{NotFound: 0.3}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		e := crawlOf(t, t.TempDir(), w, -1, func(o *master.Options) { o.MaxPages = 15 })
		_, err = e.crawl(t.Context(), func(ctx context.Context, node *master.Node) error {
			e.telemetry.Metrics.Register(node.Collector())
			for told["henro_errors_total"] == "" && ctx.Err() == nil {
				actortest.Pass(time.Second)
				families, err := e.telemetry.Metrics.Gatherer().Gather()
				if err != nil {
					return err
				}
				problems, err := promlint.NewWithMetricFamilies(families).Lint()
				if err != nil {
					return err
				}
				for _, p := range problems {
					t.Errorf("%s: %s", p.Metric, p.Text)
				}
				for _, f := range families {
					if name := f.GetName(); strings.HasPrefix(name, "henro_") {
						told[name] = strings.ToLower(f.GetType().String()) + ": " + f.GetHelp()
					}
				}
			}
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	table, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\| [^|]* \\| [^|]* \\| (.*) \\|$")
	for _, row := range rows.FindAllStringSubmatch(string(table), -1) {
		said[row[1]] = row[2] + ": " + row[3]
	}
	if !maps.Equal(said, told) {
		for name := range told {
			if said[name] != told[name] {
				t.Errorf("docs/metrics.md says %q of %s, which says %q", said[name], name, told[name])
			}
		}
		for name := range said {
			if told[name] == "" {
				t.Errorf("docs/metrics.md has %s, which is not there", name)
			}
		}
	}
	dashboard, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	drawn := regexp.MustCompile(`henro_\w+`).FindAllString(string(dashboard), -1)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(drawn))) {
		if told[name] == "" && told[suffix.ReplaceAllString(name, "")] == "" {
			t.Errorf("docs/grafana.json asks for %s, which is not there", name)
		}
	}
}
