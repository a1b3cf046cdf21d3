package embedded_test

import (
	"context"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"henro/actors/actortest"
	"henro/actors/reading"
	"henro/cmd/config"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/store/consensus"
)

// TestEveryMetricIsInTheTable crawls a web with errors, so that every metric has a value, and compares what Prometheus
// is told with docs/metrics.md, and both with the Grafana dashboard.
func TestEveryMetricIsInTheTable(t *testing.T) {
	told := map[string]string{}
	family := regexp.MustCompile(`(?m)^# HELP (henro_\w+) (.*)\n# TYPE \w+ (\w+)$`)
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 3, Hosts: 2, Domains: 2, Pages: 20,
			Errors: fakeweb.Errors{NotFound: 0.3}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		e := crawltest.Of(t, t.TempDir(), w, -1, func(o *master.Options) { o.MaxPages = 15 })
		_, err = e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
			e.Telemetry.Metrics.Read(node.Figures)
			e.Telemetry.Metrics.Read(config.GroupFigures(func() consensus.Figures {
				return consensus.Figures{Role: consensus.RoleLeader, Members: []consensus.Member{{Name: "a"}}}
			}))
			for told["henro_errors_total"] == "" && ctx.Err() == nil {
				actortest.Pass(time.Second)
				// As the dashboard counts them now and then.
				if _, err := node.FindMissing("", func(*reading.PageMissing) error { return nil }); err != nil {
					return err
				}
				scrape := httptest.NewRecorder()
				e.Telemetry.Metrics.Routes(actortest.Log())[0].Serve(scrape,
					httptest.NewRequest("GET", "/metrics", nil))
				text := scrape.Body.String()
				problems, err := promlint.New(strings.NewReader(text)).Lint()
				if err != nil {
					return err
				}
				for _, p := range problems {
					t.Errorf("%s: %s", p.Metric, p.Text)
				}
				for _, f := range family.FindAllStringSubmatch(text, -1) {
					told[f[1]] = f[3] + ": " + f[2]
				}
			}
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	items := regexp.MustCompile("(?m)^- `(henro_\\w+)` \\((\\w+)[^)]*\\): (.*(?:\n  .*)*)")
	for _, item := range items.FindAllStringSubmatch(string(page), -1) {
		said[item[1]] = item[2] + ": " + strings.Join(strings.Fields(item[3]), " ")
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
