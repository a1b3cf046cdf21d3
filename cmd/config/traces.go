package config

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"henro/actors/spans"
)

// Traces is what the flags say of telling the visits of URLs to a collector of OpenTelemetry.
type Traces struct{ o spans.Options }

// Register adds the flags.
func (t *Traces) Register(f *pflag.FlagSet) {
	d := spans.DefaultOptions()
	f.StringVar(&t.o.Endpoint, "otlp-endpoint", d.Endpoint,
		"tell visits as traces to the OpenTelemetry collector at `URL`, OTLP over HTTP: http://127.0.0.1:4318; "+
			"empty: nowhere")
}

// Check says what makes no sense.
func (t *Traces) Check() error {
	if err := t.o.Validate(); err != nil {
		return Usage("--otlp-endpoint: %v", err)
	}
	return nil
}

// Export sends the visits of this node to a collector of OpenTelemetry, if one is configured, until end is called.
func (t *Telemetry) Export(ctx context.Context, traces *Traces, node string) (end func(), err error) {
	if traces.o.Endpoint == "" {
		return func() {}, nil
	}
	o := traces.o
	o.Node, o.Version = node, buildVersion
	exporter, err := spans.Start(ctx, o, t.Tracer, t.log)
	if err != nil {
		return nil, err
	}
	return func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := exporter.Close(last); err != nil {
			t.log.WithField("err", err).Warn("the last traces were not exported")
		}
	}, nil
}
